// When to save, as a state machine without a clock, a network or a page.
//
//   clean ─typed→ dirty ─0.3 s→ kept ─1.5 s idle or 10 s→ saving ─ok→ clean
//
// `step` takes the machine and an event, and returns the next machine with the effects that the
// page carries out. One save is under way at a time. Nothing typed is ever dropped: every state
// but `clean` has its text on this device. Whatever another version is on the server, `version`
// stays the one that the text grew from until a person has chosen.

export const KEEP_AFTER = 300;
export const IDLE = 1_500;
export const LONGEST = 10_000;
const FIRST_RETRY = 2_000;
const LAST_RETRY = 30_000;

export type Phase =
  | "clean" // what is written is on the server
  | "dirty" // typed, not yet on this device
  | "kept" // on this device, not yet sent
  | "saving"
  | "waiting" // the server could not be reached; another try follows
  | "signed-out"
  | "refused" // the server does not take it as it is
  | "conflict"; // another version is on the server

export type Timer = "keep" | "idle" | "longest" | "retry";

export interface Theirs {
  version: string;
  title: string;
  content_json: unknown;
  content_html?: string;
  /** The settings, by the names of the form. */
  fields: Record<string, string>;
  /** The live text was changed after its working copy was begun. */
  is_live?: boolean;
  /** Its last change was its publication, such as that of its schedule. */
  is_published?: boolean;
  /** By the same account, in another tab or browser. */
  is_own?: boolean;
  by: string;
  at: string;
}

export type Event =
  | { type: "typed" }
  | { type: "timer"; timer: Timer }
  | { type: "save" } // Ctrl S, or before publishing
  | { type: "online" }
  | { type: "saved"; version: string; at: string }
  | { type: "unreachable"; reason: string; retryAfter?: number }
  | { type: "signed-out" }
  | { type: "signed-in" }
  | { type: "refused"; problems: Record<string, string> }
  | { type: "conflict"; theirs: Theirs }
  | { type: "outdated"; version: string } // an earlier save had worked, its answer was lost
  | { type: "keep-mine" }
  // What this browser had kept is in the page: the version that it grew from.
  | { type: "restored"; version: string; replaces: boolean }
  | { type: "hidden" } // another tab or program is in front; the page may not come back
  | { type: "leave" }; // the page goes

export type Effect =
  | { do: "start"; timer: Timer; after: number }
  | { do: "stop"; timer: Timer }
  | { do: "note" } // write the text into the browser's store, at once
  | { do: "keep" } // write it so that it is on the disk
  | { do: "forget" } // the server has all of it
  | { do: "send"; version: string; replaces: boolean }
  | { do: "send-last"; version: string; replaces: boolean } // keep and send, without an answer
  | { do: "ask-sign-in" }
  | { do: "show-conflict"; theirs: Theirs };

export interface Machine {
  readonly phase: Phase;
  /** The version on the server that the text grew from; sent with the next save. */
  readonly version: string;
  /** When the server last took the text; empty before the first time. */
  readonly savedAt: string;
  /** How often something was typed, and how much of that the save under way contains. */
  readonly typed: number;
  readonly sent: number;
  readonly failures: number;
  /** The author has seen a newer version and goes on without it. */
  readonly replaces: boolean;
  /** Why the last save did not work, by field; "" is the whole of it. */
  readonly problems: Readonly<Record<string, string>>;
  readonly theirs: Theirs | null;
}

export type Step = readonly [Machine, readonly Effect[]];

export function start(version: string): Machine {
  return {
    phase: "clean",
    version,
    savedAt: "",
    typed: 0,
    sent: 0,
    failures: 0,
    replaces: false,
    problems: {},
    theirs: null,
  };
}

export function step(machine: Machine, event: Event): Step {
  switch (event.type) {
    case "typed":
      return typed({ ...machine, typed: machine.typed + 1 });
    case "timer":
      return timer(machine, event.timer);
    case "save":
      if (machine.phase === "signed-out") return [machine, [{ do: "ask-sign-in" }]];
      return canSend(machine) && machine.phase !== "clean" ? send(machine) : [machine, []];
    case "online":
      return machine.phase === "waiting" ? send(machine) : [machine, []];
    case "saved":
      return saved(machine, event.version, event.at);
    case "unreachable":
      return unreachable(machine, event.reason, event.retryAfter);
    case "signed-out":
      return [{ ...machine, phase: "signed-out" }, [{ do: "keep" }, { do: "ask-sign-in" }]];
    case "signed-in":
      return machine.phase === "signed-out" ? send(machine) : [machine, []];
    case "refused":
      return [{ ...machine, phase: "refused", problems: event.problems }, [{ do: "keep" }]];
    case "conflict":
      return [
        { ...machine, phase: "conflict", theirs: event.theirs },
        [...stopAll(), { do: "keep" }, { do: "show-conflict", theirs: event.theirs }],
      ];
    case "outdated":
      return send({ ...machine, version: event.version, replaces: false });
    case "keep-mine":
      if (!machine.theirs) return [machine, []];
      return send({ ...machine, version: machine.theirs.version, theirs: null, replaces: true });
    case "restored":
      return [{ ...machine, version: event.version, replaces: event.replaces }, []];
    case "hidden":
      if (machine.phase === "dirty" || machine.phase === "kept") return send(machine);
      return [machine, machine.phase === "clean" ? [] : [{ do: "keep" }]];
    case "leave":
      return [machine, leaving(machine)];
  }
}

/** Whether the server has everything, so that a page may be left or published. */
export function isSafe(machine: Machine): boolean {
  return machine.phase === "clean";
}

const TYPED_WHILE: Partial<Record<Phase, Phase>> = { clean: "dirty", kept: "dirty", refused: "dirty" };

function typed(machine: Machine): Step {
  const phase = TYPED_WHILE[machine.phase] ?? machine.phase;
  const keep: Effect[] = [{ do: "note" }, { do: "start", timer: "keep", after: KEEP_AFTER }];
  // While a save waits for the network, for a sign-in or for a decision, the text is only kept.
  if (phase !== "dirty" && phase !== "saving") return [{ ...machine, phase }, keep];
  const effects: Effect[] = [...keep, { do: "start", timer: "idle", after: IDLE }];
  if (machine.phase !== "dirty" && machine.typed - machine.sent === 1) {
    effects.push({ do: "start", timer: "longest", after: LONGEST });
  }
  return [{ ...machine, phase, problems: {} }, effects];
}

function timer(machine: Machine, name: Timer): Step {
  if (name === "keep") {
    const phase = machine.phase === "dirty" ? "kept" : machine.phase;
    return [{ ...machine, phase }, machine.phase === "clean" ? [] : [{ do: "keep" }]];
  }
  if (name === "retry") return machine.phase === "waiting" ? send(machine) : [machine, []];
  return canSend(machine) ? send(machine) : [machine, []];
}

function canSend(machine: Machine): boolean {
  return ["dirty", "kept", "waiting", "refused"].includes(machine.phase);
}

function send(machine: Machine): Step {
  return [
    { ...machine, phase: "saving", sent: machine.typed },
    [...stopAll(), { do: "keep" }, { do: "send", version: machine.version, replaces: machine.replaces }],
  ];
}

function leaving(machine: Machine): Effect[] {
  const { phase, version, replaces } = machine;
  if (phase === "clean") return [];
  // A save under way ends with the page, perhaps before it has reached the server.
  const isSent = ["dirty", "kept", "saving", "waiting"].includes(phase);
  return isSent ? [{ do: "send-last", version, replaces }] : [{ do: "keep" }];
}

function saved(machine: Machine, version: string, at: string): Step {
  const next: Machine = {
    ...machine,
    version,
    savedAt: at,
    failures: 0,
    replaces: false,
    problems: {},
    theirs: null,
  };
  if (machine.typed === machine.sent) return [{ ...next, phase: "clean" }, [...stopAll(), { do: "forget" }]];
  // Typed meanwhile. The timers of that typing may have run out during the save.
  return [
    { ...next, phase: "dirty" },
    [
      { do: "keep" },
      { do: "start", timer: "idle", after: IDLE },
      { do: "start", timer: "longest", after: LONGEST },
    ],
  ];
}

function unreachable(machine: Machine, reason: string, retryAfter = 0): Step {
  const failures = machine.failures + 1;
  const usual = Math.min(FIRST_RETRY * 2 ** (failures - 1), LAST_RETRY);
  return [
    { ...machine, phase: "waiting", failures, problems: { "": reason } },
    [...stopAll(), { do: "keep" }, { do: "start", timer: "retry", after: Math.max(usual, retryAfter) }],
  ];
}

function stopAll(): Effect[] {
  return [
    { do: "stop", timer: "idle" },
    { do: "stop", timer: "longest" },
    { do: "stop", timer: "retry" },
  ];
}
