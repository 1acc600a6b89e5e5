// What PocketBase's own client does with the record store; nothing of the client is changed.
// Arguments: the server, then e-mail addresses of an owner and a member, their password.
import assert from "node:assert/strict";
import { openAsBlob } from "node:fs";
import PocketBase, { ClientResponseError } from "pocketbase";

const [url, ownerEmail, memberEmail, password, picturePath] = process.argv.slice(2);
const owner = new PocketBase(url);
const member = new PocketBase(url);
const guest = new PocketBase(url);

async function refused(status, promise) {
  const error = await promise.then(() => assert.fail("was not refused"), (reason) => reason);
  assert.ok(error instanceof ClientResponseError, String(error));
  assert.equal(error.status, status, JSON.stringify(error.response));
  return error;
}

const steps = {
  async "both logins"() {
    const signedIn = await owner.collection("_superusers").authWithPassword(ownerEmail, password);
    assert.equal(signedIn.record.email, ownerEmail);
    assert.ok(owner.authStore.isValid);
    assert.ok(owner.authStore.isSuperuser);
    await member.collection("blog_members").authWithPassword(memberEmail, password);
    assert.ok(member.authStore.isValid);
    assert.equal(member.authStore.isSuperuser, false);
    const error = await refused(
      400,
      guest.collection("blog_members").authWithPassword(memberEmail, "wrong password"),
    );
    assert.equal(error.response.code, "validation_invalid_data");
    assert.deepEqual(error.response.data, {});
  },

  async "refresh"() {
    const before = owner.authStore.token;
    const refreshed = await owner.collection("_superusers").authRefresh();
    assert.equal(refreshed.record.email, ownerEmail);
    assert.ok(owner.authStore.token);
    assert.equal(typeof before, "string");
    await refused(401, guest.collection("blog_members").authRefresh());
    const methods = await guest.collection("blog_members").listAuthMethods();
    assert.ok(methods.password.enabled);
  },

  async "create, view, update, delete"() {
    const posts = owner.collection("posts");
    const post = await posts.create({
      title: "Made by the client",
      content_html: "<p>Some <b>bold</b> words that go on</p>",
      content_json: { type: "doc", content: [] },
      tags: ["one", "two"],
      status: "published",
    });
    assert.equal(post.slug, "made-by-the-client");
    assert.deepEqual(post.tags, ["one", "two"]);
    assert.deepEqual(post.content_json, { type: "doc", content: [] });
    assert.equal((await guest.collection("posts").getOne(post.id)).title, post.title);
    const changed = await posts.update(post.id, { "tags+": "three", title: "Changed" });
    assert.deepEqual(changed.tags, ["one", "two", "three"]);
    assert.equal(changed.slug, post.slug);
    assert.equal(await posts.delete(post.id), true);
    const error = await refused(404, posts.getOne(post.id));
    assert.equal(error.response.code, "not_found");
  },

  async "errors"() {
    const posts = owner.collection("posts");
    const blank = await refused(400, posts.create({ status: "nope" }));
    assert.deepEqual(Object.keys(blank.response.data).sort(), ["status", "title"]);
    assert.equal(blank.response.data.title.code, "validation_required");
    assert.deepEqual([blank.response.status, blank.response.code], [400, "validation_invalid_data"]);
    await refused(401, guest.collection("posts").create({ title: "x" }));
    await refused(403, member.collection("posts").create({ title: "x" }));
    await refused(401, guest.collection("orders").getList());
    await refused(403, member.collection("orders").getList());
    await refused(404, guest.collection("nope").getList());
    await refused(400, guest.collection("posts").getList(1, 30, { filter: "nope = 1" }));
    await refused(404, guest.collection("posts").getFirstListItem("title = 'nothing'"));
  },

  async "lists"() {
    const posts = owner.collection("posts");
    for (const n of [1, 2, 3, 4, 5]) {
      await posts.create({ title: `Post ${n}`, status: "published", excerpt: `it's ${n}` });
    }
    const page = await guest.collection("posts").getList(2, 2, { sort: "-title" });
    assert.deepEqual([page.page, page.perPage, page.totalItems, page.totalPages], [2, 2, 5, 3]);
    assert.deepEqual(page.items.map((item) => item.title), ["Post 3", "Post 2"]);
    const all = await guest.collection("posts").getFullList({ sort: "title", batch: 2 });
    assert.equal(all.length, 5);
    assert.equal(all[0].collectionName, "posts");
    const filter = guest.filter("excerpt = {:said} && created <= {:now} && title ~ {:part}", {
      said: "it's 4",
      now: new Date(Date.now() + 1000 * 3600),
      part: "post",
    });
    assert.equal((await guest.collection("posts").getFirstListItem(filter)).title, "Post 4");
    const skipped = await guest.collection("posts").getList(1, 1, { skipTotal: true });
    assert.equal(skipped.totalItems, -1);
  },

  async "fields and expand"() {
    const post = await owner.collection("posts").create({
      title: "Expanded",
      content_html: "<p>Some <b>bold</b> words that go on</p>",
    });
    const parent = await owner.collection("comments").create({
      post_id: post.id,
      author_name: "Ann",
      body: "First",
    });
    const reply = await owner.collection("comments").create(
      { post_id: post.id, author_name: "Bob", body: "Second", parent_id: parent.id },
      { expand: "parent_id.post_id" },
    );
    assert.equal(reply.expand.parent_id.expand.post_id.title, "Expanded");
    const back = await owner.collection("posts").getOne(post.id, {
      expand: "comments_via_post_id.parent_id",
      fields: "title,content_html:excerpt(9,true),expand.comments_via_post_id.body",
    });
    assert.equal(back.content_html, "Some bold...");
    assert.deepEqual(
      back.expand.comments_via_post_id.map((comment) => comment.body),
      ["First", "Second"],
    );
    assert.equal("id" in back, false);
  },

  async "a member's own record"() {
    const members = member.collection("blog_members");
    const own = await members.getOne(member.authStore.record.id);
    assert.equal(own.email, memberEmail);
    assert.equal((await members.getList()).totalItems, 1);
    assert.equal((await members.update(own.id, { name: "New name" })).name, "New name");
    await refused(403, members.update(own.id, { tier: "paid" }));
  },

  async "uploads and thumbs"() {
    const blob = await openAsBlob(picturePath, { type: "image/png" });
    const form = new FormData();
    form.append("file", new File([blob], "picture.png", { type: "image/png" }));
    form.append("alt", "By form");
    const byForm = await owner.collection("media").create(form);
    const byObject = await owner.collection("media").create({
      file: new File([blob], "picture.png", { type: "image/png" }),
      alt: "By object",
    });
    for (const [item, alt] of [[byForm, "By form"], [byObject, "By object"]]) {
      assert.equal(item.alt, alt);
      assert.deepEqual([item.width, item.height, item.mime_type], [400, 200, "image/png"]);
    }
    const whole = await fetch(owner.files.getURL(byForm, byForm.file));
    assert.equal(whole.status, 200);
    assert.equal((await whole.arrayBuffer()).byteLength, blob.size);
    const thumb = await fetch(owner.files.getURL(byForm, byForm.file, { thumb: "100x100" }));
    assert.equal(thumb.headers.get("content-type"), "image/png");
    const view = new DataView(await thumb.arrayBuffer());
    assert.deepEqual([view.getUint32(16), view.getUint32(20)], [100, 100]);
    const hidden = await owner.collection("media").create({
      file: new File([blob], "hidden.png", { type: "image/png" }),
      private: true,
    });
    assert.equal((await fetch(owner.files.getURL(hidden, hidden.file))).status, 404);
    const token = await owner.files.getToken();
    for (const query of [{ token }, { token, thumb: "100x100" }]) {
      const opened = await fetch(owner.files.getURL(hidden, hidden.file, query));
      assert.equal(opened.status, 200);
      assert.equal(opened.headers.get("cache-control"), "private, no-cache");
    }
    const others = await member.files.getToken();
    const closed = await fetch(owner.files.getURL(hidden, hidden.file, { token: others }));
    assert.equal(closed.status, 404);
    assert.equal((await closed.json()).message, "The requested resource wasn't found.");
    assert.equal(await owner.collection("media").delete(byForm.id), true);
    assert.equal((await fetch(owner.files.getURL(byForm, byForm.file))).status, 404);
  },

  async "a batch"() {
    const batch = owner.createBatch();
    const id = "batchbatch00001";
    batch.collection("posts").create({ title: "Batched" }, { fields: "title" });
    batch.collection("posts").upsert({ id, title: "New" });
    batch.collection("posts").upsert({ id, title: "Known" });
    const file = new File([await openAsBlob(picturePath)], "picture.png", { type: "image/png" });
    batch.collection("media").create({ file, alt: "batched" });
    batch.collection("posts").delete(id);
    const answers = await batch.send();
    assert.deepEqual(answers.map((each) => each.status), [200, 200, 200, 200, 204]);
    assert.deepEqual(answers[0].body, { title: "Batched" });
    assert.equal(answers[2].body.title, "Known");
    assert.equal(answers[3].body.width, 400);
    const failing = owner.createBatch();
    failing.collection("posts").create({ title: "Not kept" });
    failing.collection("posts").create({ title: "" });
    const error = await refused(400, failing.send());
    const { response } = error.response.data.requests["1"];
    assert.deepEqual(
      [response.status, response.data.title.code],
      [400, "validation_required"],
    );
    await refused(404, owner.collection("posts").getFirstListItem("title = 'Not kept'"));
  },

  async "health"() {
    const health = await guest.send("/api/health", {});
    assert.equal(health.status, "ok");
  },
};

for (const [name, step] of Object.entries(steps)) {
  try {
    await step();
    console.log(`ok ${name}`);
  } catch (error) {
    console.error(`failed ${name}`, error);
    process.exitCode = 1;
    break;
  }
}
