// The tabs of one browser: which texts are open in it, and what was saved in another one.

import type { TabMessage } from "./saving_edges.ts";

const ANSWERED_WITHIN = 200;

type Signal = TabMessage | { type: "who" } | { type: "alive"; session: string };

export class Tabs {
  heard: (message: TabMessage) => void = () => undefined;
  private readonly channel = new BroadcastChannel("masthead-editor");
  private readonly found = new Set<string>();

  /** `session` of a page that edits a text. */
  constructor(session = "") {
    this.channel.addEventListener("message", ({ data }: MessageEvent<Signal>) => {
      if (data.type === "who") {
        if (session) this.say({ type: "alive", session });
      } else if (data.type === "alive") this.found.add(data.session);
      else this.heard(data);
    });
  }

  tell(message: TabMessage): void {
    this.say(message);
  }

  /** The sessions that answer. A page that is stopped does not, and loses nothing by it. */
  async alive(): Promise<ReadonlySet<string>> {
    this.found.clear();
    this.say({ type: "who" });
    await new Promise((resolve) => setTimeout(resolve, ANSWERED_WITHIN));
    return this.found;
  }

  private say(signal: Signal): void {
    this.channel.postMessage(signal);
  }
}

/** In a page without TLS, too, where browsers have no `randomUUID`. */
export function newSession(): string {
  return [...crypto.getRandomValues(new Uint8Array(12))].map((each) => each.toString(36).padStart(2, "0")).join("");
}
