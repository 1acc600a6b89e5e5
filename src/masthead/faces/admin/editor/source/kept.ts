// What this browser has of a text and the server lacks, as plain values.
//
// Each open page keeps its own text, under its own session: two tabs with the same text never write
// over each other. What is kept names the version that it grew from until a person has chosen.

import { blocks, fingerprint } from "./documents.ts";
import type { JsonNode } from "./documents.ts";
import { _, serverAnswered } from "./words.ts";

export interface Snapshot {
  fields: Record<string, string>;
  content_json: JsonNode;
}

export interface Kept {
  /** The text and the session of the page that wrote it. */
  key: string;
  /** Which text, of which site and account. */
  text: string;
  /** Where it is saved. */
  url: string;
  /** The version on the server that it grew from. */
  version: string;
  /** A person has seen that version, and goes on without it. */
  replaces: boolean;
  /** The page that it was written on. */
  page: string;
  at: string;
  /** Grows with every change on its page. */
  count: number;
  mine: Snapshot;
  /** Fingerprints of its revisions that the server may have without this page's knowledge. */
  sent: string[];
}

export interface Aside {
  key: string;
  at: string;
  mine: Snapshot;
}

export interface Store {
  /** At once, also while the page goes; false if the browser can't. */
  note(kept: Kept): boolean;
  /** So that a crash of the whole browser leaves it. */
  keep(kept: Kept): Promise<void>;
  /** All whose text begins so, the newest first. */
  list(text: string): Promise<Kept[]>;
  /** What is newer than that count stays. */
  drop(key: string, count: number): Promise<void>;
  setAside(text: string, mine: Snapshot): Promise<void>;
  /** The server has answered that it has another text: sent again, this one would be refused again. */
  noteDiffers(kept: Kept): void;
  differs(kept: Kept): boolean;
}

export interface Answer {
  /** 0: the server can't be reached. */
  status: number;
  body: Record<string, unknown>;
  retryAfter: number;
}

/** `isLast`: the page goes, and nobody waits for the answer. */
export type Post = (url: string, body: string, isLast?: boolean) => Promise<Answer>;

/** The sessions of the pages that are open in this browser. */
export type Alive = () => Promise<ReadonlySet<string>>;

/** The version of a text that is not on the server yet. */
export const NEW = "new";
/** What the server calls a draft without a title (admin/pages/editor.py). */
const UNTITLED = _("Untitled");

/** A text is offered only to the account that wrote it, in the site that it was written for. */
export function textOf(owner: string, url: string): string {
  return `${owner} ${url}`;
}

export function keyOf(text: string, session: string): string {
  return `${text} ${session}`;
}

/** Which request it was: a choice of the person, or the next key, makes it another one. */
export function requestOf({ count, version, replaces }: Kept): string {
  return [count, version, replaces].join(" ");
}

export function sessionOf(kept: Kept): string {
  return kept.key.slice(kept.text.length + 1);
}

/** Of all that is saved: title, settings and text, as the server answers them. */
export function printOf(title: string, fields: Record<string, string>, document: unknown): string {
  return fingerprint([title.trim() || UNTITLED, { ...fields, title: "" }, document]);
}

export function print(mine: Snapshot): string {
  return printOf(mine.fields.title ?? "", mine.fields, mine.content_json);
}

export function bodyOf(mine: Snapshot, version: string, replaces: boolean): string {
  return JSON.stringify({ ...mine.fields, version, replaces, content_json: mine.content_json });
}

/** What a person calls it. */
export function nameOf(mine: Snapshot): string {
  return mine.fields.title || blocks(mine.content_json)[0]?.slice(0, 60) || UNTITLED;
}

export interface Stored {
  title: string;
  fields: Record<string, string>;
  content_json: unknown;
}

/** How what the server has is related to mine: the same, a revision of it, or another text. */
export function relation(stored: Stored, mine: Snapshot, sent: readonly string[]): "same" | "earlier" | "other" {
  const found = printOf(stored.title, stored.fields, stored.content_json);
  if (found === print(mine)) return "same";
  return sent.includes(found) ? "earlier" : "other";
}

export function problemsOf({ status, body }: Answer): Record<string, string> {
  const given = body.problems;
  if (given && typeof given === "object" && Object.keys(given).length) return given as Record<string, string>;
  if (typeof body.message === "string" && body.message) return { "": body.message };
  return { "": status === 413 ? _("The text is too large.") : serverAnswered(status) };
}
