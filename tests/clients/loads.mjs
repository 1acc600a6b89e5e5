// Shows that PocketBase's client loads and talks to the server it was given.
import PocketBase from "pocketbase";

const client = new PocketBase(process.argv[2]);
console.log(client.buildURL("/api/health"));
