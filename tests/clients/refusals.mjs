// Refusals that come before the body is sent reach clients in Node as what they are.
// Arguments: the server, then a member's token.
import assert from "node:assert/strict";
import http from "node:http";
import PocketBase, { ClientResponseError } from "pocketbase";

const [url, token] = process.argv.slice(2);
const ROUNDS = 5;
const SIZES = [100, 20_000, 250_000];
const guest = new PocketBase(url);
const member = new PocketBase(url);
member.authStore.save(token, null);

function form(size) {
  const made = new FormData();
  made.append("file", new Blob(["x".repeat(size)]), "words.txt");
  return made;
}

function slowly(size) {
  const quarter = new Uint8Array(size / 4).fill(120);
  return new ReadableStream({
    async start(controller) {
      for (let sent = 0; sent < 4; sent += 1) {
        await new Promise((resolve) => setTimeout(resolve, 2));
        controller.enqueue(quarter);
      }
      controller.close();
    },
  });
}

async function fetched(status, path, options) {
  const answer = await fetch(url + path, options);
  await answer.text();
  assert.equal(answer.status, status, path);
}

async function refused(status, promise) {
  const error = await promise.then(() => assert.fail("was not refused"), (reason) => reason);
  assert.ok(error instanceof ClientResponseError, String(error));
  assert.equal(error.status, status, JSON.stringify(error.originalError ?? error.response));
}

function sentOver(agent, size) {
  return new Promise((resolve, reject) => {
    const options = { method: "POST", agent, headers: { "content-length": size } };
    const request = http.request(`${url}/api/v1/posts`, options, (answer) => {
      answer.resume().on("end", () => resolve([answer.statusCode, request.reusedSocket]));
    });
    request.on("error", reject);
    request.flushHeaders();
    // The answer could be here before the body is sent.
    setTimeout(() => request.end("x".repeat(size)), 5);
  });
}

const records = "/api/collections/media/records";
const steps = {
  async "fetch sees who must sign in"() {
    for (const size of SIZES) {
      for (let round = 0; round < ROUNDS; round += 1) {
        await fetched(401, records, { method: "POST", body: form(size) });
        await fetched(401, "/api/v1/posts", { method: "POST", body: slowly(size), duplex: "half" });
        await fetched(404, "/api/nothing/here", { method: "POST", body: form(size) });
      }
    }
  },

  async "fetch sees that several at once are refused"() {
    for (const size of SIZES) {
      const sent = () => fetched(401, records, { method: "POST", body: form(size) });
      await Promise.all(Array.from({ length: 8 }, sent));
    }
  },

  async "fetch sees what is too long"() {
    const login = "/api/collections/blog_members/auth-with-password";
    for (let round = 0; round < ROUNDS; round += 1) {
      const body = JSON.stringify({ identity: "x".repeat(100_000), password: "" });
      const headers = { "content-type": "application/json" };
      await fetched(413, login, { method: "POST", headers, body });
    }
  },

  async "the client library sees each refusal"() {
    for (const size of SIZES) {
      for (let round = 0; round < ROUNDS; round += 1) {
        await refused(401, guest.collection("media").create(form(size)));
        await refused(403, member.collection("media").create(form(size)));
        await refused(404, guest.collection("blog_members").update("abcdefghij01234", form(size)));
        await refused(404, guest.collection("nothing").create(form(size)));
        await refused(413, guest.collection("blog_members").authWithPassword("x".repeat(50_000), "y"));
      }
    }
  },

  async "the connection is used again"() {
    const agent = new http.Agent({ keepAlive: true, maxSockets: 1 });
    const seen = [];
    for (const size of [100, 250_000, 100]) seen.push(await sentOver(agent, size));
    agent.destroy();
    assert.deepEqual(seen, [[401, false], [401, true], [401, true]]);
  },
};

for (const [name, step] of Object.entries(steps)) {
  await step();
  console.log(`ok ${name}`);
}
