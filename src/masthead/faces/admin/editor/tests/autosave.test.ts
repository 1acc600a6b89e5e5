import assert from "node:assert/strict";
import { test } from "node:test";
import { isSafe, start, step } from "../source/autosave.ts";
import type { Effect, Event, Machine } from "../source/autosave.ts";

const THEIRS = { version: "9.0", title: "T", content_json: null, fields: {}, by: "Tobias", at: "2026-11-16T10:39:00Z" };
const SAVED: Event = { type: "saved", version: "2.0", at: "2026-11-16T10:42:00Z" };

/** The machine after the events, with the effects of the last one. */
function after(...events: Event[]): [Machine, readonly Effect[]] {
  let machine = start("1.0");
  let effects: readonly Effect[] = [];
  for (const event of events) [machine, effects] = step(machine, event);
  return [machine, effects];
}

const typed: Event = { type: "typed" };
const timer = (name: "keep" | "idle" | "longest" | "retry"): Event => ({ type: "timer", timer: name });
const unreachable: Event = { type: "unreachable", reason: "No network." };
const does = (effects: readonly Effect[]): string[] => effects.map((each) => each.do);
const starts = (effects: readonly Effect[], name: string): number[] =>
  effects.flatMap((each) => (each.do === "start" && each.timer === name ? [each.after] : []));

test("typing is kept on the device after 0.3 s, and sent after 1.5 s of rest or 10 s at the latest", () => {
  const [dirty, effects] = after(typed);
  assert.equal(dirty.phase, "dirty");
  assert.deepEqual(starts(effects, "keep"), [300]);
  assert.deepEqual(starts(effects, "idle"), [1_500]);
  assert.deepEqual(starts(effects, "longest"), [10_000]);
  const [kept, keeping] = after(typed, timer("keep"));
  assert.equal(kept.phase, "kept");
  assert.deepEqual(does(keeping), ["keep"]);
  for (const name of ["idle", "longest"] as const) {
    const [saving, sending] = after(typed, timer("keep"), timer(name));
    assert.equal(saving.phase, "saving");
    assert.deepEqual(sending.at(-1), { do: "send", version: "1.0", replaces: false });
  }
});

test("typing on moves the rest forward, but not the latest moment", () => {
  const [, effects] = after(typed, typed);
  assert.deepEqual(starts(effects, "idle"), [1_500]);
  assert.deepEqual(starts(effects, "longest"), []);
});

test("an answer makes it clean, forgets the copy and gives the version of the next save", () => {
  const [clean, effects] = after(typed, timer("idle"), SAVED);
  assert.equal(clean.phase, "clean");
  assert.ok(isSafe(clean));
  assert.ok(does(effects).includes("forget"));
  const [, sending] = after(typed, timer("idle"), SAVED, typed, timer("idle"));
  assert.deepEqual(sending.at(-1), { do: "send", version: "2.0", replaces: false });
});

test("one save is under way at a time, and what is typed meanwhile is sent after it", () => {
  const [saving, effects] = after(typed, timer("idle"), typed, timer("idle"), timer("longest"), { type: "save" });
  assert.equal(saving.phase, "saving");
  assert.deepEqual(effects, []);
  const [dirty, next] = after(typed, timer("idle"), typed, SAVED);
  assert.equal(dirty.phase, "dirty");
  assert.ok(!isSafe(dirty));
  assert.ok(!does(next).includes("forget"));
  assert.deepEqual(starts(next, "idle"), [1_500]);
});

test("what could not be sent is kept and tried after 2, 4, 8, 16, 30 and 30 s", () => {
  let machine = after(typed, timer("idle"))[0];
  const waits: number[] = [];
  for (let attempt = 0; attempt < 6; attempt += 1) {
    let effects: readonly Effect[];
    [machine, effects] = step(machine, unreachable);
    assert.equal(machine.phase, "waiting");
    assert.ok(does(effects).includes("keep"));
    waits.push(...starts(effects, "retry"));
    [machine] = step(machine, timer("retry"));
    assert.equal(machine.phase, "saving");
  }
  assert.deepEqual(waits, [2_000, 4_000, 8_000, 16_000, 30_000, 30_000]);
  const [, again] = step(step(machine, SAVED)[0], typed);
  assert.deepEqual(starts(again, "idle"), [1_500]);
});

test("a server that says when to come again is obeyed", () => {
  const [, effects] = after(typed, timer("idle"), { ...unreachable, retryAfter: 45_000 });
  assert.deepEqual(starts(effects, "retry"), [45_000]);
});

test("the network's return sends at once, and only then", () => {
  const [, effects] = after(typed, timer("idle"), unreachable, { type: "online" });
  assert.ok(does(effects).includes("send"));
  assert.deepEqual(after(typed, { type: "online" })[1], []);
});

test("typing without a network keeps the text and leaves the next attempt where it is", () => {
  const [waiting, effects] = after(typed, timer("idle"), unreachable, typed);
  assert.equal(waiting.phase, "waiting");
  assert.deepEqual(does(effects), ["note", "start"]);
  assert.deepEqual(starts(effects, "keep"), [300]);
  assert.deepEqual(does(after(typed, timer("idle"), unreachable, typed, timer("keep"))[1]), ["keep"]);
});

test("a sign-out asks for the sign-in and saves after it", () => {
  const [out, asking] = after(typed, timer("idle"), { type: "signed-out" });
  assert.equal(out.phase, "signed-out");
  assert.deepEqual(does(asking), ["keep", "ask-sign-in"]);
  assert.equal(after(typed, timer("idle"), { type: "signed-out" }, timer("idle"))[0].phase, "signed-out");
  assert.deepEqual(does(after(typed, timer("idle"), { type: "signed-out" }, { type: "save" })[1]), ["ask-sign-in"]);
  const [saving, effects] = after(typed, timer("idle"), { type: "signed-out" }, typed, { type: "signed-in" });
  assert.equal(saving.phase, "saving");
  assert.ok(does(effects).includes("send"));
});

test("a refusal stays beside its field until something is typed", () => {
  const refused: Event = { type: "refused", problems: { slug: "It is taken." } };
  const [machine, effects] = after(typed, timer("idle"), refused);
  assert.equal(machine.phase, "refused");
  assert.deepEqual(machine.problems, { slug: "It is taken." });
  assert.deepEqual(does(effects), ["keep"]);
  const [dirty, again] = after(typed, timer("idle"), refused, typed);
  assert.equal(dirty.phase, "dirty");
  assert.deepEqual(dirty.problems, {});
  assert.deepEqual(starts(again, "idle"), [1_500]);
});

test("a conflict stops saving until the author chooses", () => {
  const conflict: Event = { type: "conflict", theirs: THEIRS };
  const [machine, effects] = after(typed, timer("idle"), conflict);
  assert.equal(machine.phase, "conflict");
  assert.ok(!isSafe(machine));
  assert.deepEqual(effects.at(-1), { do: "show-conflict", theirs: THEIRS });
  for (const event of [timer("idle"), timer("retry"), { type: "save" }, { type: "online" }] as Event[]) {
    const [still, none] = after(typed, timer("idle"), conflict, event);
    assert.equal(still.phase, "conflict");
    assert.deepEqual(none, []);
  }
  const [, sending] = after(typed, timer("idle"), conflict, { type: "keep-mine" });
  assert.deepEqual(sending.at(-1), { do: "send", version: "9.0", replaces: true });
});

test("a save whose answer was lost is followed by one on top of it", () => {
  const [saving, effects] = after(typed, timer("idle"), unreachable, timer("retry"), { type: "outdated", version: "2.0" });
  assert.equal(saving.phase, "saving");
  assert.deepEqual(effects.at(-1), { do: "send", version: "2.0", replaces: false });
});
