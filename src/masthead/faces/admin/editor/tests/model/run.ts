// node tests/model/run.ts [histories] [seed] [place]: plays random histories of two editors of one
// text against the model of the server, or against the real one at a place, as JSON.
//
// Ends with an error at the first word that is lost, and tells the history by which it was lost. The
// same seed plays the same histories.

import { readFileSync } from "node:fs";
import type { Chance } from "./clock.ts";
import { History } from "./history.ts";
import { HttpServer } from "./http_server.ts";
import type { Place } from "./http_server.ts";
import { ModelServer, snapshot } from "./server.ts";
import type { Server } from "./server.ts";

const STEPS = 60;

const [histories = "2000", given = "", file = ""] = process.argv.slice(2);
const seed = Number(given || Date.now() % 1_000_000_000);
const place = file ? (JSON.parse(readFileSync(file, "utf8")) as Place) : null;

async function server(chance: Chance, own: number): Promise<Server> {
  const isNew = chance.is(0.3);
  if (!place) return new ModelServer(isNew);
  const made = new HttpServer(place, own.toString(36).padStart(15, "a").slice(-15));
  if (!isNew) await made.save("site/bob", JSON.stringify({ ...snapshot([]), ...snapshot([]).fields, version: "new" }));
  return made;
}

console.log(`seed ${seed}`);
let typed = 0;
for (let at = 0; at < Number(histories); at += 1) {
  const history = await History.begin(seed + at, (chance) => server(chance, seed + at), !place);
  const told = await history.run(STEPS);
  typed += told.typed;
  if (told.lost.length) {
    console.log(`history ${at} (seed ${seed + at}), ${told.seats}: lost ${told.lost.join(" ")}`);
    console.log(told.log.join("\n"));
    process.exit(1);
  }
}
console.log(`${histories} histories, ${typed} words typed, none lost`);
