// The browser's own store: what is written and not sent yet, and versions that were set aside.

import { fingerprint } from "./documents.ts";
import type { JsonNode } from "./documents.ts";

export interface Snapshot {
  fields: Record<string, string>;
  content_json: JsonNode;
}

/** What the server calls a draft without a title (admin/pages/editor.py). */
const UNTITLED = "Untitled";

/** Of all that is saved: title, settings and text, as the server answers them. */
export function printOf(title: string, fields: Record<string, string>, document: unknown): string {
  return fingerprint([title.trim() || UNTITLED, { ...fields, title: "" }, document]);
}

export interface Kept {
  /** Which text, of which site and account. */
  key: string;
  /** The version on the server that it grew from. */
  version: string;
  /** The page that it was written on. */
  page: string;
  at: string;
  mine: Snapshot;
  /** Fingerprints of what was sent without an answer: the server may have one of them. */
  sent: string[];
}

export interface Aside {
  key: string;
  at: string;
  mine: Snapshot;
}

const NAME = "masthead-editor";
const KEPT = "kept";
const ASIDE = "aside";
const DAYS_ASIDE = 30;
/** The version of a text that is not on the server yet. */
export const NEW = "new";

let opened: Promise<IDBDatabase> | null = null;

function database(): Promise<IDBDatabase> {
  opened ??= new Promise((resolve, reject) => {
    const request = indexedDB.open(NAME, 1);
    request.onupgradeneeded = () => {
      request.result.createObjectStore(KEPT, { keyPath: "key" });
      request.result.createObjectStore(ASIDE, { autoIncrement: true }).createIndex("key", "key");
    };
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error ?? new Error("IndexedDB can't be opened."));
  });
  return opened;
}

async function run<T>(
  store: string,
  mode: IDBTransactionMode,
  work: (store: IDBObjectStore) => IDBRequest<T> | void,
): Promise<T | undefined> {
  const open = await database();
  return new Promise((resolve, reject) => {
    // Strict: an answer means that it is on the disk.
    const transaction = open.transaction(store, mode, { durability: "strict" });
    const request = work(transaction.objectStore(store));
    transaction.oncomplete = () => resolve(request ? request.result : undefined);
    transaction.onerror = transaction.onabort = () =>
      reject(transaction.error ?? new Error("IndexedDB did not store the text."));
  });
}

export async function keep(kept: Kept): Promise<void> {
  await run(KEPT, "readwrite", (store) => store.put(kept));
}

export async function findKept(key: string): Promise<Kept | undefined> {
  return run<Kept>(KEPT, "readonly", (store) => store.get(key) as IDBRequest<Kept>);
}

/** A text is offered only to the account that wrote it, in the site that it was written for. */
export function keyOf(owner: string, saveUrl: string): string {
  return `${owner} ${saveUrl}`;
}

/** The owner's texts that never reached a server. */
export async function listNew(owner: string): Promise<Kept[]> {
  const all = await run<Kept[]>(KEPT, "readonly", (store) => store.getAll() as IDBRequest<Kept[]>);
  return (all ?? []).filter((each) => each.version === NEW && each.key.startsWith(keyOf(owner, "")));
}

export async function forget(key: string): Promise<void> {
  await run(KEPT, "readwrite", (store) => void store.delete(key));
}

export async function setAside(key: string, mine: Snapshot): Promise<void> {
  await run(ASIDE, "readwrite", (store) => void store.add({ key, mine, at: new Date().toISOString() } satisfies Aside));
}

/** The versions of a text that were set aside, newest first. Those of more than 30 days ago go. */
export async function listAside(key: string): Promise<Aside[]> {
  const oldest = new Date(Date.now() - DAYS_ASIDE * 86_400_000).toISOString();
  const found: Aside[] = [];
  await run(ASIDE, "readwrite", (store) => {
    store.openCursor().onsuccess = (event) => {
      const cursor = (event.target as IDBRequest<IDBCursorWithValue | null>).result;
      if (!cursor) return;
      const value = cursor.value as Aside;
      if (value.at < oldest) cursor.delete();
      else if (value.key === key) found.push(value);
      cursor.continue();
    };
  });
  return found.sort((one, other) => other.at.localeCompare(one.at));
}
