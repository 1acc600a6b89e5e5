// The browser's own stores: what is written and not sent yet, and versions that were set aside.
//
// A page that goes can only write to localStorage, whose few megabytes reach the disk seconds later;
// IndexedDB takes any size and is on the disk when it answers, but not before the page is gone. So
// what is kept is in both, and the newer one counts.

import { print, requestOf } from "./kept.ts";
import type { Aside, Kept, Store } from "./kept.ts";
import { _ } from "./words.ts";

const NAME = "masthead-editor";
const KEPT = "kept";
const ASIDE = "aside";
const NOTED = "masthead-kept ";
const DIFFERS = "masthead-differs ";
const DAYS_ASIDE = 30;

let opened: Promise<IDBDatabase> | null = null;
let database: IDBDatabase | null = null;

function open(): Promise<IDBDatabase> {
  opened ??= new Promise((resolve, reject) => {
    const request = indexedDB.open(NAME, 1);
    request.onupgradeneeded = () => {
      request.result.createObjectStore(KEPT, { keyPath: "key" });
      request.result.createObjectStore(ASIDE, { autoIncrement: true }).createIndex("key", "key");
    };
    request.onsuccess = () => resolve((database = request.result));
    request.onerror = () => reject(request.error ?? new Error(_("IndexedDB can’t be opened.")));
  });
  return opened;
}

type Work<T> = (store: IDBObjectStore) => IDBRequest<T> | void;

async function run<T>(store: string, mode: IDBTransactionMode, work: Work<T>): Promise<T | undefined> {
  // Without waiting where it is open already: a page that goes may not get another turn.
  return begun(database ?? (await open()), store, mode, work);
}

function begun<T>(from: IDBDatabase, store: string, mode: IDBTransactionMode, work: Work<T>): Promise<T | undefined> {
  return new Promise((resolve, reject) => {
    // Strict: an answer means that it is on the disk.
    const transaction = from.transaction(store, mode, { durability: "strict" });
    const request = work(transaction.objectStore(store));
    transaction.oncomplete = () => resolve(request ? request.result : undefined);
    transaction.onerror = transaction.onabort = () =>
      reject(transaction.error ?? new Error(_("IndexedDB did not store the text.")));
  });
}

function noted(name: string): Kept | null {
  try {
    return JSON.parse(localStorage.getItem(name) ?? "null") as Kept | null;
  } catch {
    return null;
  }
}

function* allNoted(text: string): Generator<Kept> {
  let names: string[] = [];
  try {
    names = Object.keys(localStorage);
  } catch {
    // The browser has none, such as in some private windows.
  }
  for (const name of names.filter((each) => each.startsWith(NOTED + text))) {
    const found = noted(name);
    if (found) yield found;
  }
}

/** As earlier releases have stored it: one for all pages of a text. */
function completed(kept: Kept): Kept {
  const url = kept.key.slice(kept.key.indexOf(" ") + 1);
  return kept.text ? kept : { ...kept, text: kept.key, url, replaces: false, count: 0 };
}

export const browserStore: Store = {
  note(kept) {
    try {
      localStorage.setItem(NOTED + kept.key, JSON.stringify(kept));
      return true;
    } catch {
      // It is full, or there is none.
      return false;
    }
  },

  async keep(kept) {
    await run(KEPT, "readwrite", (store) => {
      store.put(kept);
      // Otherwise it would be undone where the page goes before it is told of its success.
      store.transaction.commit();
    });
  },

  async list(text) {
    const range = IDBKeyRange.bound(text, `${text}\uffff`);
    const stored = await run<Kept[]>(KEPT, "readonly", (store) => store.getAll(range) as IDBRequest<Kept[]>).catch(() => []);
    const found = new Map<string, Kept>();
    for (const each of [...(stored ?? []).map(completed), ...allNoted(text)]) {
      if (each.count >= (found.get(each.key)?.count ?? 0)) found.set(each.key, each);
    }
    return [...found.values()].sort((one, other) => other.at.localeCompare(one.at));
  },

  async drop(key, count) {
    const last = noted(NOTED + key);
    if (last && last.count <= count) localStorage.removeItem(NOTED + key);
    forgetDiffers(key);
    await run(KEPT, "readwrite", (store) => {
      store.get(key).onsuccess = (event) => {
        const stored = (event.target as IDBRequest<Kept | undefined>).result;
        if (stored && (stored.count ?? 0) <= count) store.delete(key);
      };
    });
  },

  async setAside(text, mine) {
    const same = print(mine);
    await run(ASIDE, "readwrite", (store) => {
      const made = { key: text, mine, at: new Date().toISOString() } satisfies Aside;
      store.index("key").getAll(text).onsuccess = (event) => {
        const all = (event.target as IDBRequest<Aside[]>).result;
        if (!all.some((each) => print(each.mine) === same)) store.add(made);
      };
    });
  },

  noteDiffers(kept) {
    try {
      localStorage.setItem(DIFFERS + kept.key, requestOf(kept));
    } catch {
      // The next page asks the server again.
    }
  },

  differs(kept) {
    try {
      return localStorage.getItem(DIFFERS + kept.key) === requestOf(kept);
    } catch {
      return false;
    }
  },
};

function forgetDiffers(key: string): void {
  try {
    localStorage.removeItem(DIFFERS + key);
  } catch {
    // There is none.
  }
}

/** The versions of a text that were set aside, newest first. Those of more than 30 days ago go. */
export async function listAside(text: string): Promise<Aside[]> {
  const oldest = new Date(Date.now() - DAYS_ASIDE * 86_400_000).toISOString();
  const found: Aside[] = [];
  await run(ASIDE, "readwrite", (store) => {
    store.openCursor().onsuccess = (event) => {
      const cursor = (event.target as IDBRequest<IDBCursorWithValue | null>).result;
      if (!cursor) return;
      const value = cursor.value as Aside;
      if (value.at < oldest) cursor.delete();
      else if (value.key === text) found.push(value);
      cursor.continue();
    };
  });
  return found.sort((one, other) => other.at.localeCompare(one.at));
}

