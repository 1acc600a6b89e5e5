// PocketBase's own client and its realtime service; nothing of the client is changed. Node.js has an
// EventSource of its own behind a flag.
// Arguments: the server, then e-mail addresses of an owner and a member, their password.
import assert from "node:assert/strict";
import PocketBase from "pocketbase";

const [url, ownerEmail, memberEmail, password] = process.argv.slice(2);
const owner = new PocketBase(url);
const member = new PocketBase(url);
const guest = new PocketBase(url);

const heard = { owner: [], member: [], guest: [], one: [], filtered: [] };
const into = (list) => (event) => list.push([event.action, event.record.title ?? event.record.name]);

async function until(list, count) {
  const ends = Date.now() + 20_000;
  while (list.length < count && Date.now() < ends) await new Promise((done) => setTimeout(done, 10));
  assert.equal(list.length, count, JSON.stringify(list));
}

await owner.collection("_superusers").authWithPassword(ownerEmail, password);
await member.collection("blog_members").authWithPassword(memberEmail, password);
const posts = owner.collection("posts");

await posts.subscribe("*", into(heard.owner));
await guest.collection("posts").subscribe("*", into(heard.guest));
await member.collection("blog_members").subscribe("*", into(heard.member));
await guest.collection("posts").subscribe("*", into(heard.filtered), {
  filter: "title ~ 'wanted'",
  fields: "title",
});
assert.ok(guest.realtime.isConnected);

const post = await posts.create({ title: "Draft" });
await posts.update(post.id, { title: "The wanted", status: "published" });
await guest.collection("posts").subscribe(post.id, into(heard.one));
await posts.update(post.id, { title: "Changed" });
await posts.update(post.id, { status: "draft" });
await posts.delete(post.id);
const own = member.authStore.record.id;
await member.collection("blog_members").update(own, { name: "New name" });

await until(heard.owner, 5);
await until(heard.guest, 3);
await until(heard.one, 2);
await until(heard.member, 1);
await until(heard.filtered, 1);
assert.deepEqual(heard.owner, [
  ["create", "Draft"],
  ["update", "The wanted"],
  ["update", "Changed"],
  ["update", "Changed"],
  ["delete", "Changed"],
]);
assert.deepEqual(heard.guest, [
  ["update", "The wanted"],
  ["update", "Changed"],
  ["delete", "Changed"],
]);
assert.deepEqual(heard.one, [
  ["update", "Changed"],
  ["delete", "Changed"],
]);
assert.deepEqual(heard.member, [["update", "New name"]]);
assert.deepEqual(heard.filtered, [["update", "The wanted"]]);

await guest.collection("posts").unsubscribe();
assert.equal(guest.realtime.isConnected, false);
await posts.create({ title: "Unheard", status: "published" });
await until(heard.owner, 6);
assert.equal(heard.guest.length, 3);
await posts.unsubscribe();
await member.collection("blog_members").unsubscribe();
console.log("ok");
