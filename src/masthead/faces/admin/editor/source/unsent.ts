// What an editor has kept and could not send: any page of the admin that comes next sends it.

import { bodyOf, problemsOf, relation, sessionOf } from "./kept.ts";
import type { Alive, Kept, Post, Store, Stored } from "./kept.ts";

export type Outcome =
  | "sent"
  | "differs" // the server has another text: a person chooses between the two
  | "refused"
  | "waiting"; // the server can't be reached, or nobody is signed in

export interface Unsent {
  kept: Kept;
  outcome: Outcome;
  /** Why it is refused. */
  reason: string;
}

/** A save that had worked while its answer was lost, and one that follows it. */
const MAX_TRIES = 3;

/** Sends what pages have left that are open no more. `except` is the text that this page opens. */
export async function sendUnsent(
  store: Store,
  post: Post,
  alive: Alive,
  owner: string,
  except = "",
): Promise<Unsent[]> {
  const all = (await store.list(`${owner} `)).filter((each) => each.text !== except);
  if (!all.length) return [];
  const open = await alive();
  const found: Unsent[] = [];
  for (const kept of all.filter((each) => !open.has(sessionOf(each)))) {
    const [outcome, reason]: [Outcome, string] = store.differs(kept) ? ["differs", ""] : await send(post, kept);
    if (outcome === "sent") await store.drop(kept.key, kept.count);
    // Once: it waits for a person.
    if (outcome === "differs") store.noteDiffers(kept);
    found.push({ kept, outcome, reason });
  }
  return found;
}

/** On the version that it grew from: another text there is never replaced. */
async function send(post: Post, kept: Kept): Promise<[Outcome, string]> {
  let { version, replaces } = kept;
  for (let attempt = 0; attempt < MAX_TRIES; attempt += 1) {
    const answer = await post(kept.url, bodyOf(kept.mine, version, replaces));
    const { status, body } = answer;
    if (status === 200) return ["sent", ""];
    if (status === 409 && typeof body.version === "string") {
      const found = relation(body as unknown as Stored, kept.mine, kept.sent);
      if (found === "same") return ["sent", ""];
      if (found === "other") return ["differs", ""];
      [version, replaces] = [body.version, false];
    } else if ([0, 401, 429].includes(status) || status >= 500) return ["waiting", ""];
    else return ["refused", Object.values(problemsOf(answer))[0] ?? ""];
  }
  return ["differs", ""];
}
