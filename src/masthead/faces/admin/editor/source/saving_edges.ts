// What saving needs of the page and of the browser. A test gives its own.

import type { Machine, Theirs } from "./autosave.ts";
import type { Alive, Post, Snapshot, Store } from "./kept.ts";

export interface Page {
  snapshot(): Snapshot;
  /** Too long to be stored with each key. */
  isLong(): boolean;
  changed(machine: Machine): void;
  askSignIn(): void;
  showConflict(mine: Snapshot, theirs: Theirs): void;
  /** The browser can't store anything: only the server holds the text. */
  notKept(reason: string): void;
  /** What the server answered to a save that worked. */
  saved(answer: Record<string, unknown>): void;
  /** Shows what this browser had kept. */
  restore(mine: Snapshot): void;
  /** It goes on from there: what was kept until then was not sent yet. */
  restored(at: string): void;
  /** Versions were set aside. */
  offerAside(): void;
  otherTab(message: TabMessage): void;
}

export type TabMessage =
  | { type: "open" | "here"; text: string }
  | { type: "saved"; text: string; version: string; at: string };

export interface Edges {
  readonly store: Store;
  readonly post: Post;
  readonly alive: Alive;
  tell(message: TabMessage): void;
  later(run: () => void, after: number): number;
  cancel(timer: number): void;
  now(): string;
  /** The address of the page that shows the text. */
  address(): string;
}

export interface Text {
  /** Which text, of which site and account. */
  text: string;
  url: string;
  session: string;
}
