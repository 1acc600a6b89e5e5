// What the bar and the window's title say of a text: its state on the site, and that of its saving.

import type { Machine } from "./autosave.ts";
import { clock } from "./elements.ts";
import { NEW } from "./kept.ts";
import { _ } from "./words.ts";

/** The word for it, and whether somebody has to do something. */
export function sentenceOf(machine: Machine, label = ""): [string, boolean] {
  switch (machine.phase) {
    case "clean":
      return [machine.savedAt ? _("Saved %(time)s", { time: clock(machine.savedAt) }) : "", false];
    case "dirty":
    case "kept":
      return [_("Not saved yet"), false];
    case "saving":
      return [_("Saving…"), false];
    case "waiting":
      return [_("Not saved: %(reason)s. Kept on this device", { reason: inSentence(machine.problems[""] ?? "") }), true];
    case "signed-out":
      return [_("Not saved: signed out. Kept on this device"), true];
    case "refused":
      return [refusal(Object.values(machine.problems)[0] ?? _("something needs correcting"), label), true];
    case "conflict":
      return [_("Not saved: two versions"), true];
  }
}

/** With the name of the field, which may be out of sight. */
function refusal(problem: string, label: string): string {
  return label ? _("Not saved. %(field)s: %(problem)s", { field: label, problem }) : _("Not saved: %(problem)s", { problem });
}

function inSentence(reason: string): string {
  return reason.slice(0, 1).toLowerCase() + reason.slice(1).replace(/\.$/, "");
}

const CHANGED = _("Changed, not live");
const UNTITLED = _("Untitled");

interface State {
  kind: string;
  words: string;
}

/** The badge of the bar, the window's title, and what a text has only once it is stored. */
export class Status {
  private readonly form: HTMLElement;
  private readonly badge: HTMLElement | null;
  private readonly line: HTMLElement | null;
  private readonly site: string;
  private readonly isPublished: boolean;
  private stored: State;
  private title = "";

  constructor(form: HTMLElement, site: string, isPublished: boolean) {
    [this.form, this.site, this.isPublished] = [form, site, isPublished];
    this.badge = form.querySelector<HTMLElement>(".ed-bar .badge");
    this.line = document.querySelector<HTMLElement>("[data-save-status]");
    const kind = /badge-(\w+)/.exec(this.badge?.className ?? "")?.[1] ?? "draft";
    this.stored = { kind, words: this.badge?.textContent ?? "" };
  }

  /** As the server answers a save. */
  saved(answer: Record<string, unknown>): void {
    const { kind, words } = (answer.state ?? {}) as Partial<State>;
    if (kind && words) this.stored = { kind, words };
  }

  show(machine: Machine, title: string): void {
    const [sentence, isBad] = sentenceOf(machine, this.label(Object.keys(machine.problems)[0] ?? ""));
    const state = this.state(machine);
    if (this.line) {
      if (sentence && this.line.textContent !== sentence) {
        this.line.textContent = sentence;
        this.line.title = sentence;
      }
      this.place(isBad && machine.phase !== "conflict");
      this.line.classList.toggle("bad", isBad);
      this.line.dataset.saveStatus = machine.phase;
    }
    if (this.badge && this.badge.textContent !== state.words) {
      this.badge.textContent = state.words;
      this.badge.className = `badge badge-${state.kind}`;
    }
    this.name(isBad ? _("Not saved") : state.words, title.trim());
    if (machine.version !== NEW) {
      for (const each of document.querySelectorAll<HTMLTemplateElement>("[data-once=stored]")) each.replaceWith(each.content);
    }
    for (const each of document.querySelectorAll<HTMLElement>("[data-once=changed]")) each.hidden = state.words !== CHANGED;
  }

  /** A sentence is too long for its place beside the buttons: it has a line of its own below them. */
  private place(isLong: boolean): void {
    const home = this.form.querySelector(isLong ? ".ed-bar" : ".ed-state");
    if (home && this.line && this.line.parentElement !== home) home.append(this.line);
  }

  private label(name: string): string {
    const field = name && this.form.querySelector(`[name="${CSS.escape(name)}"]`);
    return (field && field.closest(".field")?.querySelector("legend, label")?.textContent?.trim()) || "";
  }

  private state(machine: Machine): State {
    // What is typed into a published text is not live, whether or not it is saved.
    const isChanged = this.isPublished && machine.phase !== "clean";
    return isChanged ? { kind: "warn", words: CHANGED } : this.stored;
  }

  private name(state: string, title: string): void {
    const named = [title || UNTITLED, state, this.site].join(" · ");
    if (named === this.title) return;
    this.title = document.title = named;
  }
}
