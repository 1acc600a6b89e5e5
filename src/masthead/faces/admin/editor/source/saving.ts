// Carries out what the state machine decides, with the edges that it is given: the browser's, or
// those of a test.

import { start, step } from "./autosave.ts";
import type { Effect, Event, Machine, Theirs, Timer } from "./autosave.ts";
import { bodyOf, keyOf, print, problemsOf, relation, sessionOf } from "./kept.ts";
import type { Answer, Kept, Snapshot } from "./kept.ts";
import type { Edges, Page, TabMessage, Text } from "./saving_edges.ts";
import { _, serverAnswered } from "./words.ts";

/** Of a request that outlives its page; browsers take 64 KiB for all of them together. */
const MAX_LAST = 60_000;
const MAX_SENT = 50;

export class Saving {
  machine: Machine;
  private readonly page: Page;
  private readonly edges: Edges;
  private readonly of: Text;
  private readonly key: string;
  private readonly timers = new Map<Timer, number>();
  private sent: string[] = [];
  private count = 0;
  /** The count of what is certainly in the browser's store. */
  private onDevice = 0;
  private hasLeft = false;
  private waiting: ((isSafe: boolean) => void)[] = [];

  constructor(page: Page, edges: Edges, of: Text, version: string) {
    this.page = page;
    this.edges = edges;
    this.of = of;
    this.key = keyOf(of.text, of.session);
    this.machine = start(version);
    edges.tell({ type: "open", text: of.text });
  }

  heard(message: TabMessage): void {
    if (message.text !== this.of.text) return;
    if (message.type === "open") this.edges.tell({ type: "here", text: message.text });
    this.page.otherTab(message);
  }

  dispatch(event: Event): void {
    const [machine, effects] = step(this.machine, event);
    this.machine = machine;
    if (event.type === "typed") this.count += 1;
    this.page.changed(machine);
    for (const effect of effects) this.carryOut(effect);
    this.settle();
  }

  /** Before the page goes, for good or until the reader comes back to it. */
  leave(): void {
    this.hasLeft = true;
    this.dispatch({ type: "leave" });
  }

  hidden(): void {
    if (this.hasLeft) return;
    // A browser may stop a page that is not seen, and another page then sends this.
    if (this.machine.phase !== "clean") this.noteSent(this.page.snapshot());
    this.dispatch({ type: "hidden" });
  }

  back(): void {
    this.hasLeft = false;
    if (this.machine.phase !== "clean") this.dispatch({ type: "save" });
  }

  /** Whether a page that goes now leaves everything behind. */
  isOnDevice(): boolean {
    if (this.machine.phase === "clean") return true;
    void this.keepNow(true);
    return this.onDevice === this.count;
  }

  /** Saves what is not saved; true once the server has everything. */
  flush(): Promise<boolean> {
    if (this.machine.phase === "clean") return Promise.resolve(true);
    return new Promise((resolve) => {
      this.waiting.push(resolve);
      this.dispatch({ type: "save" });
    });
  }

  /** Sets the author's version aside; the page is opened anew with the other one. */
  async takeTheirs(): Promise<void> {
    const { theirs } = this.machine;
    await this.edges.store.setAside(this.of.text, this.page.snapshot());
    // Theirs is the live text: what was typed into a copy of it is discarded there too.
    if (theirs?.is_live) {
      await this.edges.post(this.of.url, JSON.stringify({ version: theirs.version, discards: true }));
    }
    this.machine = { ...this.machine, phase: "clean" };
    await this.edges.store.drop(this.key, this.count);
  }

  /** Goes on with what this browser has kept of the text, and the server lacks. `version` and
   * `opened` are what the page was opened with. */
  async recover(opened: Snapshot): Promise<void> {
    const { version } = this.machine;
    const found = await this.orphans(opened);
    const [first, ...others] = found;
    if (!first) return;
    // Typed on meanwhile: that is not mixed with what was before.
    const isFree = this.machine.phase === "clean" && this.count === 0;
    if (isFree) await this.adopt(first, opened, version);
    for (const each of isFree ? others : found) await this.lay(each);
    if (others.length || !isFree) this.page.offerAside();
  }

  /** What pages have left that are open no more, the newest first. */
  private async orphans(opened: Snapshot): Promise<Kept[]> {
    const { store } = this.edges;
    const all = await store.list(this.of.text);
    const others = all.filter((each) => each.text === this.of.text && each.key !== this.key);
    if (!others.length) return [];
    const alive = await this.edges.alive();
    const found: Kept[] = [];
    for (const each of others) {
      // The server has it.
      if (print(each.mine) === print(opened)) await store.drop(each.key, each.count);
      else if (!alive.has(sessionOf(each))) found.push(each);
    }
    return found;
  }

  private async adopt(kept: Kept, opened: Snapshot, version: string): Promise<void> {
    const isSame = kept.version === version;
    const isOurs = isSame || kept.sent.includes(print(opened));
    // Another page may be sending it at this moment.
    this.sent = [...kept.sent, print(kept.mine)].slice(-MAX_SENT);
    this.page.restore(kept.mine);
    this.count = kept.count;
    this.dispatch({
      type: "restored",
      version: isOurs ? version : kept.version,
      replaces: kept.replaces && (isSame || !isOurs),
    });
    if (isOurs) {
      this.page.restored(kept.at);
      this.dispatch({ type: "typed" });
    } else this.dispatch({ type: "conflict", theirs: asTheirs(opened, version) });
    if (await this.keepNow()) await this.edges.store.drop(kept.key, kept.count);
  }

  /** To be offered, not to be sent. */
  private async lay(kept: Kept): Promise<void> {
    const { store } = this.edges;
    await store.setAside(kept.text, kept.mine);
    await store.drop(kept.key, kept.count);
  }

  private settle(): void {
    const { phase } = this.machine;
    if (phase === "dirty" || phase === "kept") {
      if (this.waiting.length) this.dispatch({ type: "save" });
      return;
    }
    if (phase === "saving") return;
    const waiting = this.waiting.splice(0);
    for (const resolve of waiting) resolve(phase === "clean");
  }

  private carryOut(effect: Effect): void {
    switch (effect.do) {
      case "start":
        return this.startTimer(effect.timer, effect.after);
      case "stop":
        return this.stopTimer(effect.timer);
      case "note":
        if (!this.page.isLong()) this.note(this.kept());
        return;
      case "keep":
        return void this.keepNow(this.hasLeft);
      case "forget":
        return void this.edges.store.drop(this.key, this.count).catch(() => undefined);
      case "send":
        return void this.send(effect.version, effect.replaces);
      case "send-last":
        return this.sendLast(effect.version, effect.replaces);
      case "ask-sign-in":
        return this.page.askSignIn();
      case "show-conflict":
        this.edges.store.noteDiffers(this.kept());
        return this.page.showConflict(this.page.snapshot(), effect.theirs);
    }
  }

  private startTimer(timer: Timer, after: number): void {
    // The first key of a burst decides when the text is kept at the latest.
    if (timer === "keep" && this.timers.has("keep")) return;
    this.stopTimer(timer);
    const run = (): void => {
      this.timers.delete(timer);
      this.dispatch({ type: "timer", timer });
    };
    this.timers.set(timer, this.edges.later(run, after));
  }

  private stopTimer(timer: Timer): void {
    const running = this.timers.get(timer);
    if (running !== undefined) this.edges.cancel(running);
    this.timers.delete(timer);
  }

  private kept(): Kept {
    return {
      key: this.key,
      text: this.of.text,
      url: this.of.url,
      version: this.machine.version,
      replaces: this.machine.replaces,
      page: this.edges.address(),
      at: this.edges.now(),
      count: this.count,
      mine: this.page.snapshot(),
      sent: this.sent,
    };
  }

  private note(kept: Kept): boolean {
    const isNoted = this.edges.store.note(kept);
    if (isNoted) this.onDevice = Math.max(this.onDevice, kept.count);
    return isNoted;
  }

  /** True once it is stored. `isGoing`: whatever its length, it is written before this returns. */
  private async keepNow(isGoing = false): Promise<boolean> {
    if (this.machine.phase === "clean") return true;
    const kept = this.kept();
    const isNoted = (isGoing || !this.page.isLong()) && this.note(kept);
    try {
      await this.edges.store.keep(kept);
      this.onDevice = Math.max(this.onDevice, kept.count);
      return true;
    } catch (error) {
      if (!isNoted) this.page.notKept((error as Error).message);
      return isNoted;
    }
  }

  /** The server may have this state from now on, whether or not its answer comes. */
  private noteSent(mine: Snapshot): void {
    const made = print(mine);
    if (this.sent.includes(made)) return;
    this.sent = [...this.sent, made].slice(-MAX_SENT);
  }

  private async send(version: string, replaces: boolean): Promise<void> {
    const mine = this.page.snapshot();
    this.noteSent(mine);
    void this.keepNow();
    this.received(await this.edges.post(this.of.url, bodyOf(mine, version, replaces)), mine);
  }

  private sendLast(version: string, replaces: boolean): void {
    const mine = this.page.snapshot();
    this.noteSent(mine);
    void this.keepNow(true);
    const body = bodyOf(mine, version, replaces);
    // A longer one is sent by the next page of the admin: see unsent.ts.
    if (new TextEncoder().encode(body).length <= MAX_LAST) void this.edges.post(this.of.url, body, true);
  }

  private received(answer: Answer, mine: Snapshot): void {
    const { status, body, retryAfter } = answer;
    if (status === 200) {
      this.sent = [];
      const [version, at] = [String(body.version), String(body.saved_at)];
      this.page.saved(body);
      this.dispatch({ type: "saved", version, at });
      this.edges.tell({ type: "saved", text: this.of.text, version, at });
    } else if (status === 401) this.dispatch({ type: "signed-out" });
    else if (status === 409 && typeof body.version === "string") this.differs(body as unknown as Theirs, mine);
    else if (status === 0) this.dispatch({ type: "unreachable", reason: _("The server can’t be reached.") });
    else if (status === 429 || status >= 500) {
      this.dispatch({ type: "unreachable", reason: serverAnswered(status), retryAfter });
    } else this.dispatch({ type: "refused", problems: problemsOf(answer) });
  }

  /** An earlier save may have worked while its answer was lost: that is no conflict. */
  private differs(theirs: Theirs, mine: Snapshot): void {
    const { version, at } = theirs;
    const found = relation(theirs, mine, this.sent);
    if (found === "same") {
      this.page.saved(theirs as unknown as Record<string, unknown>);
      this.dispatch({ type: "saved", version, at });
    }
    else if (found === "earlier") this.dispatch({ type: "outdated", version });
    else this.dispatch({ type: "conflict", theirs });
  }
}

function asTheirs(opened: Snapshot, version: string): Theirs {
  const { fields, content_json } = opened;
  return { version, title: fields.title ?? "", content_json, fields, by: "", at: "" };
}
