// A browser with its stores, and a page in it. Everything takes its time, and may be cut off.

import type { Machine, Theirs } from "../../source/autosave.ts";
import type { Alive, Answer, Aside, Kept, Post, Snapshot, Store } from "../../source/kept.ts";
import { requestOf, textOf } from "../../source/kept.ts";
import { Saving } from "../../source/saving.ts";
import type { Page } from "../../source/saving_edges.ts";
import { sendUnsent } from "../../source/unsent.ts";
import type { Chance, Clock } from "./clock.ts";
import type { Server } from "./server.ts";
import { snapshot, wordsOf } from "./server.ts";

/** A browser writes localStorage to the disk now and then. */
const FLUSHED_EVERY = 5_000;
const LATENCY = 10;

export interface World {
  clock: Clock;
  chance: Chance;
  server: Server;
}

/** Whatever runs in a page ends with it, and waits while the page is frozen. */
interface Life {
  isGone: boolean;
  isFrozen: boolean;
  held: (() => void)[];
}

function life(): Life {
  return { isGone: false, isFrozen: false, held: [] };
}

function inside(of: Life, run: () => void): void {
  if (of.isGone) return;
  if (of.isFrozen) of.held.push(run);
  else run();
}

export class Browser {
  readonly world: World;
  isOnline = true;
  isSignedIn = true;
  readonly pages: EditorPage[] = [];
  readonly asides = new Map<string, Aside[]>();
  private readonly differing = new Map<string, string>();
  private local = new Map<string, string>();
  private flushed = new Map<string, string>();
  private readonly disk = new Map<string, string>();
  lastFlush = 0;

  constructor(world: World) {
    this.world = world;
    const flush = (): void => {
      this.flushed = new Map(this.local);
      this.lastFlush = world.clock.now;
      world.clock.later(flush, FLUSHED_EVERY);
    };
    flush();
  }

  /** Without a word to its pages; what only its memory had is gone. */
  kill(): void {
    for (const each of [...this.pages]) each.crash();
    this.local = new Map(this.flushed);
  }

  /** Every text that is kept here, whatever page wrote it. */
  kept(): string[] {
    return [...this.local.values(), ...this.disk.values()];
  }

  async visit(account: string): Promise<void> {
    const own = life();
    const { server } = this.world;
    await sendUnsent(this.store(own), this.post(own, account), this.alive(), account, "").catch(() => server);
  }

  alive(): Alive {
    return async () => new Set(this.pages.filter((each) => !each.own.isFrozen).map((each) => each.session));
  }

  store(own: Life): Store {
    const { clock } = this.world;
    const after = <T>(run: () => T): Promise<T> =>
      new Promise((resolve) => {
        clock.later(() => {
          // What a page has begun ends with it, or not.
          if (own.isGone && this.world.chance.is(0.5)) return;
          const found = run();
          inside(own, () => resolve(found));
        }, LATENCY);
      });
    return {
      note: (kept) => {
        this.local.set(kept.key, JSON.stringify(kept));
        return true;
      },
      keep: (kept) => {
        const text = JSON.stringify(kept);
        return after(() => void this.disk.set(kept.key, text));
      },
      list: (text) =>
        after(() => {
          const found = new Map<string, Kept>();
          for (const each of this.kept().map((value) => JSON.parse(value) as Kept)) {
            if (!each.text.startsWith(text.trimEnd())) continue;
            if (each.count >= (found.get(each.key)?.count ?? 0)) found.set(each.key, each);
          }
          return [...found.values()].sort((one, other) => other.at.localeCompare(one.at));
        }),
      drop: (key, count) => {
        const dropped = (from: Map<string, string>): void => {
          const found = from.get(key);
          if (found && (JSON.parse(found) as Kept).count <= count) from.delete(key);
        };
        dropped(this.local);
        return after(() => dropped(this.disk));
      },
      setAside: (text, mine) => {
        const made: Aside = { key: text, at: "", mine: JSON.parse(JSON.stringify(mine)) as Snapshot };
        return after(() => void this.asides.set(text, [...(this.asides.get(text) ?? []), made]));
      },
      noteDiffers: (kept) => void this.differing.set(kept.key, requestOf(kept)),
      differs: (kept) => this.differing.get(kept.key) === requestOf(kept),
    };
  }

  /** Requests and answers are late, and any of them may be lost. */
  post(own: Life, account: string): Post {
    const { clock, chance, server } = this.world;
    return (url, body, isLast = false) =>
      new Promise((resolve) => {
        const answered = (answer: Answer, after: number): void => {
          clock.later(() => inside(own, () => resolve(answer)), after);
        };
        const none: Answer = { status: 0, body: {}, retryAfter: 0 };
        const isCut = (): boolean => own.isGone && !isLast && chance.is(0.5);
        if (url !== server.url) throw new Error(url);
        clock.later(async () => {
          if (!this.isOnline || isCut()) return answered(none, chance.below(200));
          if (!this.isSignedIn) return answered({ ...none, status: 401 }, chance.below(200));
          if (chance.is(0.03)) return answered({ ...none, status: 503 }, chance.below(200));
          const answer = await server.save(account, body);
          const isLost = !this.isOnline || chance.is(0.08);
          answered(isLost ? none : answer, isLost ? 30_000 : chance.below(300));
        }, chance.is(0.1) ? chance.below(4_000) : chance.below(150));
      });
  }
}

let sessions = 0;

export class EditorPage implements Page {
  readonly browser: Browser;
  readonly account: string;
  readonly session: string;
  readonly own = life();
  readonly typedAt = new Map<string, number>();
  private readonly long: boolean;
  private words: string[] = [];
  private saving!: Saving;
  conflict: { mine: string[]; theirs: Theirs } | null = null;

  private constructor(browser: Browser, account: string, isLong: boolean) {
    sessions += 1;
    [this.browser, this.account, this.long, this.session] = [browser, account, isLong, `s${sessions}`];
  }

  static async open(browser: Browser, account: string, isLong: boolean): Promise<EditorPage> {
    const page = new EditorPage(browser, account, isLong);
    const { server, clock } = browser.world;
    const opened = await server.open(account);
    page.words = wordsOf(opened.mine.content_json);
    page.saving = new Saving(
      page,
      {
        store: browser.store(page.own),
        post: browser.post(page.own, account),
        alive: browser.alive(),
        tell: () => undefined,
        later: (run, after) => clock.later(() => inside(page.own, run), after),
        cancel: (timer) => clock.cancel(timer),
        now: () => String(clock.now).padStart(12, "0"),
        address: () => "/admin/posts/p",
      },
      { text: textOf(account, server.url), url: server.url, session: page.session },
      opened.version,
    );
    browser.pages.push(page);
    void page.saving.recover(opened.mine);
    return page;
  }

  // What a person does.

  type(word: string): void {
    const { chance, clock } = this.browser.world;
    this.words.splice(chance.below(this.words.length + 1), 0, word);
    this.typedAt.set(word, clock.now);
    this.saving.dispatch({ type: "typed" });
  }

  /** The word that is deleted. */
  deleteOne(): string {
    const [gone] = this.words.splice(this.browser.world.chance.below(this.words.length), 1);
    if (gone) this.saving.dispatch({ type: "typed" });
    return gone ?? "";
  }

  leave(): void {
    this.thaw();
    this.saving.leave();
    this.crash();
  }

  crash(): void {
    this.own.isGone = true;
    this.browser.pages.splice(this.browser.pages.indexOf(this), 1);
  }

  hide(): void {
    this.saving.hidden();
    this.own.isFrozen = this.browser.world.chance.is(0.5);
  }

  thaw(): void {
    this.own.isFrozen = false;
    for (const each of this.own.held.splice(0)) inside(this.own, each);
  }

  keepMine(): void {
    this.saving.dispatch({ type: "keep-mine" });
  }

  takeTheirs(): Promise<void> {
    return this.saving.takeTheirs();
  }

  flush(): Promise<boolean> {
    return this.saving.flush();
  }

  signedIn(): void {
    this.saving.dispatch({ type: "signed-in" });
  }

  get version(): string {
    return this.saving.machine.version;
  }

  get phase(): string {
    return this.saving.machine.phase;
  }

  get shown(): readonly string[] {
    return this.words;
  }

  // What the saving asks of a page.

  snapshot(): Snapshot {
    return snapshot(this.words);
  }

  isLong(): boolean {
    return this.long;
  }

  changed(machine: Machine): void {
    if (machine.phase !== "conflict") this.conflict = null;
  }

  showConflict(mine: Snapshot, theirs: Theirs): void {
    this.conflict = { mine: wordsOf(mine), theirs };
  }

  restore(mine: Snapshot): void {
    this.words = wordsOf(mine.content_json);
  }

  askSignIn(): void {}
  notKept(): void {}
  saved(): void {}
  restored(): void {}
  offerAside(): void {}
  otherTab(): void {}
}
