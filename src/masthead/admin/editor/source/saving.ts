// Carries out what the state machine decides: timers, the browser's store, the network.

import { start, step } from "./autosave.ts";
import type { Effect, Event, Machine, Theirs, Timer } from "./autosave.ts";
import { fingerprint } from "./documents.ts";
import { findKept, forget, keep, printOf, setAside } from "./store.ts";
import type { Snapshot } from "./store.ts";

const ANSWER_WITHIN = 30_000;

export interface Page {
  snapshot(): Snapshot;
  changed(machine: Machine): void;
  askSignIn(): void;
  showConflict(mine: Snapshot, theirs: Theirs): void;
  /** The browser can't store anything: only the server holds the text. */
  notKept(reason: string): void;
  /** The token of the page's forms, after another sign-in. */
  setToken(token: string): void;
  /** With every call to the admin: the page's token, and the site and account that it is made for. */
  headers(): Record<string, string>;
  token(): string;
  /** The address that the server has made from the title of a draft; empty where one is chosen. */
  addressMade(slug: string): void;
  otherTab(message: TabMessage): void;
}

export type TabMessage = { type: "open" } | { type: "here" } | { type: "saved"; version: string; at: string };

interface Answer {
  status: number;
  body: Record<string, unknown>;
  retryAfter: number;
}

export class Saving {
  machine: Machine;
  private readonly timers = new Map<Timer, number>();
  private readonly tabs: BroadcastChannel;
  private sent: string[] = [];
  private storing: Promise<void> = Promise.resolve();
  private waiting: ((isSafe: boolean) => void)[] = [];

  constructor(
    private readonly page: Page,
    /** Under which the text is in the browser's store. */
    private readonly key: string,
    private readonly saveUrl: string,
    private readonly tokenUrl: string,
    version: string,
  ) {
    this.machine = start(version);
    this.tabs = new BroadcastChannel(`masthead-editor:${saveUrl}`);
    this.tabs.addEventListener("message", (event: MessageEvent<TabMessage>) => {
      if (event.data.type === "open") this.tabs.postMessage({ type: "here" } satisfies TabMessage);
      page.otherTab(event.data);
    });
    this.tabs.postMessage({ type: "open" } satisfies TabMessage);
    addEventListener("online", () => this.dispatch({ type: "online" }));
    // What the timers have not stored yet is stored when the page goes.
    addEventListener("pagehide", () => this.keepNow());
    document.addEventListener("visibilitychange", () => {
      if (document.visibilityState === "hidden") this.keepNow();
    });
  }

  /** What this browser still has of the text from before, if the server lacks it. */
  async unsent(opened: Snapshot): Promise<{ mine: Snapshot; at: string; isOlder: boolean } | null> {
    const kept = await findKept(this.key).catch(() => undefined);
    if (!kept || fingerprint(kept.mine) === fingerprint(opened)) return null;
    const isOlder = kept.version !== this.machine.version && !kept.sent.includes(print(opened));
    return { mine: kept.mine, at: kept.at, isOlder };
  }

  dispatch(event: Event): void {
    const [machine, effects] = step(this.machine, event);
    this.machine = machine;
    this.page.changed(machine);
    for (const effect of effects) this.carryOut(effect);
    this.settle();
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
    await setAside(this.key, this.page.snapshot());
    // Theirs is the live text: what was typed into a copy of it is discarded there too.
    if (theirs?.is_live) await this.call({ version: theirs.version, discards: true });
    this.machine = { ...this.machine, phase: "clean" };
    await this.storing;
    await forget(this.key);
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
      case "keep":
        return this.keepNow();
      case "forget":
        this.storing = this.storing.then(() => forget(this.key)).catch(() => undefined);
        return;
      case "send":
        return void this.send(effect.version, effect.replaces);
      case "ask-sign-in":
        return this.page.askSignIn();
      case "show-conflict":
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
    this.timers.set(timer, window.setTimeout(run, after));
  }

  private stopTimer(timer: Timer): void {
    window.clearTimeout(this.timers.get(timer));
    this.timers.delete(timer);
  }

  private keepNow(): void {
    if (this.machine.phase === "clean") return;
    const kept = {
      key: this.key,
      version: this.machine.version,
      page: location.pathname + location.search,
      at: new Date().toISOString(),
      mine: this.page.snapshot(),
      sent: this.sent,
    };
    this.storing = this.storing.then(() => keep(kept)).catch((error: Error) => this.page.notKept(error.message));
  }

  private async send(version: string, replaces: boolean): Promise<void> {
    const mine = this.page.snapshot();
    if (!this.sent.includes(print(mine))) {
      this.sent.push(print(mine));
      this.keepNow();
    }
    const answer = await this.post({ version, replaces }, mine);
    if (answer.status === 403 && (await this.renewToken())) {
      return this.received(await this.post({ version, replaces }, mine), mine);
    }
    this.received(answer, mine);
  }

  private post(basis: { version: string; replaces: boolean }, mine: Snapshot): Promise<Answer> {
    return this.call({ ...mine.fields, ...basis, content_json: mine.content_json });
  }

  private async call(content: Record<string, unknown>): Promise<Answer> {
    try {
      const answer = await fetch(this.saveUrl, {
        method: "POST",
        headers: { "content-type": "application/json", ...this.page.headers() },
        body: JSON.stringify(content),
        signal: AbortSignal.timeout(ANSWER_WITHIN),
      });
      const body = (await answer.json().catch(() => ({}))) as Record<string, unknown>;
      return { status: answer.status, body, retryAfter: (Number(answer.headers.get("retry-after")) || 0) * 1_000 };
    } catch {
      return { status: 0, body: {}, retryAfter: 0 };
    }
  }

  /** After a sign-in in another tab the page's token is no longer valid. */
  async renewToken(): Promise<boolean> {
    try {
      const answer = await fetch(this.tokenUrl, { headers: this.page.headers() });
      const { form_token: token } = (await answer.json()) as { form_token?: string };
      if (!answer.ok || !token || token === this.page.token()) return false;
      this.page.setToken(token);
      return true;
    } catch {
      return false;
    }
  }

  private received({ status, body, retryAfter }: Answer, mine: Snapshot): void {
    if (status === 200) {
      this.sent = [];
      const [version, at] = [String(body.version), String(body.saved_at)];
      this.dispatch({ type: "saved", version, at });
      this.page.addressMade(String(body.made_slug ?? ""));
      this.tabs.postMessage({ type: "saved", version, at } satisfies TabMessage);
    } else if (status === 401) this.dispatch({ type: "signed-out" });
    else if (status === 409 && typeof body.version === "string") this.differs(body as unknown as Theirs, mine);
    else if (status === 0) this.dispatch({ type: "unreachable", reason: "The server can't be reached." });
    else if (status === 429 || status >= 500) {
      this.dispatch({ type: "unreachable", reason: `The server answered ${status}.`, retryAfter });
    } else this.dispatch({ type: "refused", problems: problems(status, body) });
  }

  /** An earlier save may have worked while its answer was lost: that is no conflict. */
  private differs(theirs: Theirs, mine: Snapshot): void {
    const found = printOf(theirs.title, theirs.fields, theirs.content_json);
    if (found === print(mine)) this.dispatch({ type: "saved", version: theirs.version, at: theirs.at });
    else if (this.sent.includes(found)) this.dispatch({ type: "outdated", version: theirs.version });
    else this.dispatch({ type: "conflict", theirs });
  }
}

function print(snapshot: Snapshot): string {
  return printOf(snapshot.fields.title ?? "", snapshot.fields, snapshot.content_json);
}

function problems(status: number, body: Record<string, unknown>): Record<string, string> {
  const given = body.problems;
  if (given && typeof given === "object" && Object.keys(given).length) return given as Record<string, string>;
  if (typeof body.message === "string" && body.message) return { "": body.message };
  return { "": status === 413 ? "The text is too large." : `The server answered ${status}.` };
}
