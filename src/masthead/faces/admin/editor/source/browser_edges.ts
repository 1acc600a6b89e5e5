// Saving, with the edges of a browser: its stores, its other tabs and its clock.

import type { Calls } from "./calls.ts";
import { Saving } from "./saving.ts";
import type { Edges, Page } from "./saving_edges.ts";
import { browserStore } from "./store.ts";
import { newSession, Tabs } from "./tabs.ts";

export function beginSaving(page: Page, calls: Calls, of: { text: string; url: string }, version: string): Saving {
  const session = newSession();
  const tabs = new Tabs(session);
  const edges: Edges = {
    store: browserStore,
    post: (to, body, isLast) => calls.post(to, body, isLast),
    alive: () => tabs.alive(),
    tell: (message) => tabs.tell(message),
    later: (run, after) => window.setTimeout(run, after),
    cancel: (timer) => window.clearTimeout(timer),
    now: () => new Date().toISOString(),
    address: () => location.pathname + location.search,
  };
  const saving = new Saving(page, edges, { ...of, session }, version);
  tabs.heard = (message) => saving.heard(message);
  return saving;
}
