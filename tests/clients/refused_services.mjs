// The methods of PocketBase's own client that Masthead refuses, called by an owner.
// Arguments: the server, the owner's token. Prints a line for each method: its name and the status.
import PocketBase from "pocketbase";

const [url, token] = process.argv.slice(2);
const client = new PocketBase(url);
client.autoCancellation(false);
client.authStore.save(token, null);
const { settings, logs, crons, backups, sql, collections } = client;
const members = client.collection("blog_members");
const file = new Blob(["x"]);

const calls = {
  "settings.getAll": () => settings.getAll(),
  "settings.update": () => settings.update({}),
  "settings.testS3": () => settings.testS3(),
  "settings.testEmail": () => settings.testEmail("users", "a@example.com", "verification"),
  "settings.generateAppleClientSecret": () => settings.generateAppleClientSecret("a", "b", "c", "d", 1),
  "logs.getList": () => logs.getList(),
  "logs.getOne": () => logs.getOne("x"),
  "logs.getStats": () => logs.getStats(),
  "logs.truncate": () => logs.truncate(),
  "crons.getFullList": () => crons.getFullList(),
  "crons.run": () => crons.run("x"),
  "backups.getFullList": () => backups.getFullList(),
  "backups.create": () => backups.create("x"),
  "backups.upload": () => backups.upload({ file }),
  "backups.delete": () => backups.delete("x"),
  "backups.restore": () => backups.restore("x"),
  "backups.getDownloadURL": () => client.send(backups.getDownloadURL("t", "x").slice(url.length), {}),
  "backups.getDownloadUrl": () => client.send(backups.getDownloadUrl("t", "x").slice(url.length), {}),
  "sql.run": () => sql.run("select 1"),
  "collections.create": () => collections.create({ name: "x" }),
  "collections.update": () => collections.update("posts", {}),
  "collections.delete": () => collections.delete("posts"),
  "collections.import": () => collections.import([]),
  "collections.truncate": () => collections.truncate("posts"),
  "collections.getScaffolds": () => collections.getScaffolds(),
  "collections.dryRunViewQuery": () => collections.dryRunViewQuery("select 1"),
  "collections.getAllOAuth2Providers": () => collections.getAllOAuth2Providers(),
  "collection().authWithOAuth2Code": () => members.authWithOAuth2Code("x", "c", "v", "http://x.test"),
  "collection().listExternalAuths": () => members.listExternalAuths("abcdefghij00001"),
  "collection().unlinkExternalAuth": () => members.unlinkExternalAuth("abcdefghij00001", "google"),
};

for (const [name, call] of Object.entries(calls)) {
  const status = await call().then(() => 200, (error) => error.status);
  console.log(`${name} ${status}`);
}
