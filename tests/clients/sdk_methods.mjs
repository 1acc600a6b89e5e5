// Every public method of the services of PocketBase's own client, one on each line.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import PocketBase from "pocketbase";

const types = createRequire(import.meta.url).resolve("pocketbase").replace(/[^/]*$/, "pocketbase.es.d.ts");
const hidden = new Set(
  [...readFileSync(types, "utf8").matchAll(/(?:private|protected) (?:async )?(\w+)/g)].map((each) => each[1]),
);
const client = new PocketBase("http://127.0.0.1");
const services = { "collection()": client.collection("posts"), "createBatch()": client.createBatch() };
for (const [name, value] of Object.entries(client)) {
  if (value && typeof value === "object" && value.client === client) services[name] = value;
}
services["createBatch().collection()"] = services["createBatch()"].collection("posts");

const found = new Set();
for (const [name, service] of Object.entries(services)) {
  for (let at = service; at && at !== Object.prototype; at = Object.getPrototypeOf(at)) {
    for (const [method, property] of Object.entries(Object.getOwnPropertyDescriptors(at))) {
      const isPublic = method !== "constructor" && !method.startsWith("_") && !hidden.has(method);
      if (isPublic && typeof property.value === "function") found.add(`${name}.${method}`);
    }
  }
}
console.log([...found].sort().join("\n"));
