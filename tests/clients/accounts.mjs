// What PocketBase's own client does with accounts; nothing of the client is changed.
// Arguments: the server, the step, then the step's own values. Prints what the next step needs.
import assert from "node:assert/strict";
import PocketBase, { ClientResponseError } from "pocketbase";

const [url, step, ...values] = process.argv.slice(2);
const client = new PocketBase(url);
const members = client.collection("blog_members");
const staff = client.collection("_superusers");

async function refused(status, promise) {
  const error = await promise.then(() => assert.fail("was not refused"), (reason) => reason);
  assert.ok(error instanceof ClientResponseError, String(error));
  assert.equal(error.status, status, JSON.stringify(error.response));
  return error;
}

const steps = {
  async request(member, owner, password) {
    const made = await members.create({ email: "js@example.com", password, passwordConfirm: password });
    assert.equal(made.verified, false);
    await refused(400, members.authWithPassword("js@example.com", password));
    const { otpId } = await members.requestOTP(member);
    const { otpId: staffOtpId } = await staff.requestOTP(owner);
    assert.equal(await members.requestPasswordReset(member), true);
    await refused(400, staff.requestVerification(owner));
    await refused(401, members.requestEmailChange("js-new@example.com"));
    await refused(403, members.authWithOAuth2Code("google", "code", "verifier", "http://x.test"));
    const methods = await members.listAuthMethods();
    assert.deepEqual([methods.otp.enabled, methods.password.enabled, methods.oauth2.enabled], [true, true, false]);
    return { otpId, staffOtpId, id: made.id };
  },

  async confirm(otpId, code, staffOtpId, staffCode, token, password, id, memberPassword) {
    const signedIn = await members.authWithOTP(otpId, code);
    assert.ok(client.authStore.isValid);
    assert.equal(await members.requestEmailChange("js-new@example.com"), true);
    await refused(403, members.impersonate(signedIn.record.id));
    await refused(400, members.authWithOTP(otpId, code));
    await staff.authWithOTP(staffOtpId, staffCode);
    assert.ok(client.authStore.isSuperuser);
    assert.equal(await members.confirmVerification(token), true);
    await refused(400, staff.confirmEmailChange("x", "y"));
    const acting = await members.impersonate(signedIn.record.id, 100);
    assert.equal(acting.authStore.record.id, signedIn.record.id);
    const before = acting.authStore.token;
    await acting.collection("blog_members").authRefresh();
    assert.equal(acting.authStore.token, before);
    const joined = await members.authWithPassword("js@example.com", password);
    assert.equal(joined.record.id, id);
    assert.ok(memberPassword);
    return {};
  },

  async secondStep(owner, password, code, unused) {
    const needed = await refused(401, staff.authWithPassword(owner, password));
    const { mfaId } = needed.response;
    assert.ok(mfaId);
    assert.equal(client.authStore.isValid, false);
    await refused(400, staff.authWithOTP("totp", "000000", { mfaId }));
    const signedIn = await staff.authWithOTP("totp", code, { mfaId });
    assert.equal(signedIn.record.email, owner);
    assert.ok(client.authStore.isSuperuser);
    const used = await refused(400, staff.authWithOTP("totp", unused, { mfaId }));
    assert.equal(used.response.message, "Invalid or expired MFA session.");
    return {};
  },

  async change(token, password) {
    await refused(400, members.confirmEmailChange(token, "wrong password"));
    assert.equal(await members.confirmEmailChange(token, password), true);
    await members.authWithPassword("js-new@example.com", password);
    assert.equal(await members.requestVerification("js-new@example.com"), true);
    return {};
  },
};

console.log(JSON.stringify(await steps[step](...values)));
