// One history: two editors of one text, and whatever happens to them. No word may be lost.

import { Browser, EditorPage } from "./browser.ts";
import type { World } from "./browser.ts";
import { Chance, Clock } from "./clock.ts";
import type { Server } from "./server.ts";
import { wordsOf } from "./server.ts";

/** After this time a word is on the disk, also where its browser or a page with a long text ends at
 * once: see KEEP_AFTER in autosave.ts. */
const ON_DISK = 350;

type Action =
  | "type" | "delete" | "pause" | "wait" | "reload" | "close" | "crash" | "kill" | "hide" | "thaw"
  | "network" | "sign" | "keep mine" | "take theirs" | "visit" | "publish" | "discard" | "outside";

const ACTIONS: readonly (readonly [Action, number])[] = [
  ["type", 40], ["delete", 2], ["pause", 20], ["wait", 9], ["reload", 7], ["close", 5], ["crash", 4],
  ["kill", 1.5], ["hide", 3], ["thaw", 6], ["network", 5], ["sign", 2], ["keep mine", 6],
  ["take theirs", 4], ["visit", 4], ["publish", 3], ["discard", 2], ["outside", 1],
];

interface Seat {
  browser: Browser;
  account: string;
  page: EditorPage | null;
}

export interface Told {
  lost: string[];
  typed: number;
  /** What was done, for a history that fails. */
  log: string[];
  seats: string;
}

export class History {
  private readonly world: World;
  private readonly seats: Seat[];
  private readonly isLong: boolean;
  private readonly prefix: number;
  private readonly log: string[] = [];
  private readonly words = new Set<string>();
  private readonly deleted = new Set<string>();
  /** Typed just before a page ended, and perhaps only in its browser's memory. */
  private atRisk: { word: string; browser: Browser; until: number }[] = [];
  private readonly checksSteps: boolean;

  static async begin(
    seed: number,
    makeServer: (chance: Chance) => Promise<Server>,
    checksSteps: boolean,
  ): Promise<History> {
    const chance = new Chance(seed);
    return new History(seed, { clock: new Clock(), chance, server: await makeServer(chance) }, checksSteps);
  }

  private constructor(seed: number, world: World, checksSteps: boolean) {
    const { chance } = world;
    this.world = world;
    this.isLong = chance.is(0.2);
    this.checksSteps = checksSteps;
    this.prefix = seed % 1_000_000;
    const one = new Browser(world);
    const isOneBrowser = chance.is(0.4);
    const other = isOneBrowser ? one : new Browser(world);
    const account = isOneBrowser || chance.is(0.5) ? "site/ann" : "site/bob";
    this.seats = [
      { browser: one, account: "site/ann", page: null },
      { browser: other, account, page: null },
    ];
  }

  async run(steps: number): Promise<Told> {
    const { chance, clock } = this.world;
    for (let at = 0; at < steps; at += 1) {
      const seat = chance.of(this.seats);
      if (!seat.page) await this.open(seat);
      else await this.act(seat, chance.weighted(ACTIONS));
      await clock.pass(chance.below(60));
      if (this.checksSteps && (await this.lost()).length) break;
    }
    const lost = await this.lost();
    if (!lost.length) await this.end();
    const kinds = this.seats.map((each) => each.account).join(" and ");
    return {
      lost: lost.length ? lost : await this.lost(false),
      typed: this.words.size,
      log: this.log,
      seats: this.seats[0].browser === this.seats[1].browser ? `${kinds} in one browser` : kinds,
    };
  }

  private async open(seat: Seat): Promise<void> {
    this.say(seat, "open");
    seat.page = await EditorPage.open(seat.browser, seat.account, this.isLong);
    if (this.world.chance.is(0.8)) await this.world.clock.pass(60);
  }

  private async act(seat: Seat, action: Action): Promise<void> {
    const { chance, clock, server } = this.world;
    const { browser } = seat;
    const page = seat.page!;
    if (page.own.isFrozen && !["thaw", "kill", "visit", "wait"].includes(action)) return;
    this.say(seat, action);
    switch (action) {
      case "type":
        if (!page.conflict) this.type(page);
        return;
      case "delete":
        if (!page.conflict) this.deleted.add(page.deleteOne());
        return;
      case "pause":
        return clock.pass(chance.below(450));
      case "wait":
        return clock.pass(chance.below(15_000));
      case "reload":
        this.leave(seat);
        return this.open(seat);
      case "close":
        return this.leave(seat);
      case "crash":
        return this.crash(seat);
      case "kill":
        return this.kill(browser);
      case "hide":
        return page.hide();
      case "thaw":
        return page.thaw();
      case "network":
        browser.isOnline = !browser.isOnline;
        return;
      case "sign":
        browser.isSignedIn = !browser.isSignedIn;
        if (browser.isSignedIn) page.signedIn();
        return;
      case "keep mine":
        if (page.conflict) page.keepMine();
        return;
      case "take theirs":
        if (page.conflict) await this.takeTheirs(seat);
        return;
      case "visit":
        void browser.visit(seat.account);
        return clock.pass(chance.below(2_000));
      case "publish":
        return this.press(seat, () => server.publish(seat.account, page.version));
      case "discard":
        return this.press(seat, () => server.discard(seat.account, page.version));
      case "outside":
        return server.outside([`x${this.words.size}`]);
    }
  }

  private type(page: EditorPage): void {
    const word = `w${this.prefix}${String(this.words.size).padStart(3, "0")}`;
    this.words.add(word);
    page.type(word);
  }

  private leave(seat: Seat): void {
    const page = seat.page!;
    this.risk(page);
    page.leave();
    seat.page = null;
  }

  private risk(page: EditorPage): void {
    const { now } = this.world.clock;
    for (const [word, at] of page.typedAt) {
      if (now - at <= ON_DISK) this.atRisk.push({ word, browser: page.browser, until: now });
    }
  }

  private crash(seat: Seat): void {
    const page = seat.page!;
    if (this.isLong) this.exempt(page);
    this.risk(page);
    page.crash();
    seat.page = null;
  }

  private kill(browser: Browser): void {
    for (const seat of this.seats) {
      if (seat.browser !== browser || !seat.page) continue;
      this.exempt(seat.page);
      seat.page = null;
    }
    for (const { word, browser: of, until } of this.atRisk) {
      if (of === browser && until >= browser.lastFlush) this.deleted.add(word);
    }
    browser.kill();
  }

  private exempt(page: EditorPage): void {
    const { now } = this.world.clock;
    for (const [word, at] of page.typedAt) if (now - at <= ON_DISK) this.deleted.add(word);
  }

  private async takeTheirs(seat: Seat): Promise<void> {
    const page = seat.page!;
    void page.takeTheirs().then(() => this.world.clock.hold(this.reloaded(seat, page)));
    await this.world.clock.pass(1_000);
  }

  /** A button of the form: the text goes first, and another page comes after it. */
  private async press(seat: Seat, run: () => Promise<void>): Promise<void> {
    const page = seat.page!;
    if (page.conflict) return;
    const pressed = async (): Promise<void> => {
      await run();
      await this.reloaded(seat, page);
    };
    void page.flush().then((isSafe) => isSafe && this.world.clock.hold(pressed()));
    await this.world.clock.pass(1_000);
  }

  private async reloaded(seat: Seat, page: EditorPage): Promise<void> {
    if (seat.page !== page || page.own.isGone) return;
    this.leave(seat);
    this.say(seat, "open again");
    seat.page = await EditorPage.open(seat.browser, seat.account, this.isLong);
  }

  /** All come back, one after the other, and look at what is offered to them. */
  private async end(): Promise<void> {
    const { clock, chance } = this.world;
    for (const seat of this.seats) {
      seat.browser.isOnline = seat.browser.isSignedIn = true;
      if (seat.page) {
        seat.page.thaw();
        seat.page.signedIn();
      }
    }
    await clock.pass(60_000);
    for (const seat of this.seats) if (seat.page) this.leave(seat);
    await clock.pass(60_000);
    for (const seat of this.seats) {
      if (chance.is(0.5)) void seat.browser.visit(seat.account);
      await clock.pass(40_000);
      await this.open(seat);
      await clock.pass(1_000);
      for (let turns = 0; turns < 8 && seat.page!.phase !== "clean"; turns += 1) {
        if (seat.page!.conflict) {
          if (chance.is(0.5)) seat.page!.keepMine();
          else await this.takeTheirs(seat);
        }
        await clock.pass(70_000);
      }
      this.say(seat, `ends ${seat.page!.phase}`);
    }
  }

  /** Words that are nowhere: `anywhere` counts what a browser still holds, otherwise only what is
   * in the post, a revision, set aside, or shown. */
  private async lost(anywhere = true): Promise<string[]> {
    const found = await this.world.server.words();
    for (const { browser, page } of this.seats) {
      if (anywhere) for (const each of browser.kept()) for (const word of wordsOf(JSON.parse(each))) found.add(word);
      for (const all of browser.asides.values()) for (const word of wordsOf(all)) found.add(word);
      for (const word of page?.shown ?? []) found.add(word);
    }
    return [...this.words].filter((word) => !found.has(word) && !this.deleted.has(word));
  }

  private say(seat: Seat, what: string): void {
    const at = (this.world.clock.now / 1_000).toFixed(2);
    const page = seat.page ? ` (${seat.page.phase} ${seat.page.version}: ${seat.page.shown.join(" ")})` : "";
    this.log.push(`${at} s, editor ${this.seats.indexOf(seat) + 1}: ${what}${page}`);
  }
}

