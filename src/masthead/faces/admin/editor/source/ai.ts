// Rewrite, translate, summarize and write with an AI provider.
//
// The answer streams into a decoration below the selection. The document changes only when the
// author takes the answer, in one step that one undo takes back.

import type { Editor } from "@tiptap/core";
import { closeHistory } from "@tiptap/pm/history";
import { DOMSerializer, Fragment, Slice } from "@tiptap/pm/model";
import type { Node as DocumentNode } from "@tiptap/pm/model";
import { TextSelection } from "@tiptap/pm/state";
import type { Transaction } from "@tiptap/pm/state";
import { KEY } from "./ai_plugin.ts";
import type { Asked } from "./ai_plugin.ts";
import { selected } from "./ai_selection.ts";
import type { Action, Selected } from "./ai_selection.ts";
import { codeAnswer, formattedAnswer, plainAnswer } from "./ai_answer.ts";
import type { Answer } from "./ai_answer.ts";
import { button, element } from "./elements.ts";
import { countWords } from "./documents.ts";
import { generate } from "./event_stream.ts";
import type { Provider } from "./event_stream.ts";
import { openMenu } from "./menu.ts";
import { _, counted, numberText } from "./words.ts";

const TITLES: Record<Action, string> = {
  rewrite: _("Rewrite"),
  summarize: _("Summary"),
  translate: _("Translation"),
  generate: _("Write"),
};
const QUESTIONS: Partial<Record<Action, [string, string]>> = {
  translate: [_("Into which language?"), _("English")],
  generate: [_("What should it write?"), _("Three sentences about…")],
};
const MAX_SELECTION = 32_000;

export interface Assistant extends Provider {
  /** The HTML of a Markdown text, or null where the server can't be asked. */
  convert: (markdown: string) => Promise<string | null>;
}

/** The menu of the ✦ button. */
export function aiMenu(editor: Editor, provider: Assistant, opener: HTMLElement): void {
  const ask = (action: Action) => () => askAi(editor, provider, action);
  const items = [
    { label: _("Rewrite"), icon: "sparkles", run: ask("rewrite") },
    { label: _("Summarize"), icon: "list", run: ask("summarize") },
    { label: _("Translate…"), icon: "globe", run: ask("translate") },
    { label: _("Write on…"), icon: "plus", run: ask("generate") },
  ];
  openMenu(opener, _("With AI"), [{ label: _("With AI"), items }], () => editor.view.focus());
}

export function askAi(editor: Editor, provider: Assistant, action: Action): void {
  new Panel(editor, provider, action, selected(editor, action)).open();
}

class Panel {
  private readonly text = element("div", { class: "ai-text" });
  private readonly said = element("span", { role: "status" });
  private readonly actions = element("span", { class: "actions" });
  private readonly box: HTMLElement;
  private answer = "";
  private asked = "";
  private taken: Answer = { content: Fragment.empty, notes: [] };
  private running: AbortController | null = null;

  constructor(
    private readonly editor: Editor,
    private readonly provider: Assistant,
    private readonly action: Action,
    private readonly selected: Selected,
  ) {
    // A look at the answer must not lead away from the text.
    this.text.addEventListener("click", (event) => event.preventDefault());
    this.box = element(
      "div",
      {
        class: "ai",
        contenteditable: "false",
        role: "group",
        "aria-label": TITLES[action],
        tabindex: "-1",
        keydown: (event: KeyboardEvent) => {
          if (event.key !== "Escape") return;
          event.preventDefault();
          event.stopPropagation();
          this.escape();
        },
      },
      this.text,
      element("div", { class: "ai-foot" }, this.said, this.actions),
    );
  }

  open(): void {
    const { from, to } = this.selected;
    this.set({ from, to, panel: this.box, escape: () => this.escape() });
    const question = QUESTIONS[this.action];
    if (this.selection.length > MAX_SELECTION) {
      this.finish(_("The selection has more than %(number)s characters. Select less.", { number: numberText(MAX_SELECTION) }), false);
    } else if (question) this.ask(...question);
    else void this.run({ action: this.action, selection: this.selection });
  }

  private ask(label: string, placeholder: string): void {
    const input = element("input", { class: "input", type: "text", placeholder, maxlength: "2000" });
    const go = (): void => {
      const value = input.value.trim();
      if (!value) return;
      question.remove();
      void this.run(
        this.action === "translate"
          ? { action: this.action, selection: this.selection, language: value.slice(0, 100) }
          : { action: this.action, prompt: this.selection ? `${value}\n\n${this.selection}`.slice(0, 8_000) : value },
      );
    };
    // No form of its own: it stands inside that of the post.
    input.addEventListener("keydown", (event) => {
      if (event.key !== "Enter") return;
      event.preventDefault();
      go();
    });
    const question = element(
      "div",
      { class: "ai-ask" },
      element("label", {}, element("span", {}, label), input),
      button(_("Go"), go),
    );
    this.said.textContent = TITLES[this.action];
    this.text.before(question);
    this.actions.replaceChildren(button(_("Discard"), () => this.close(), "quiet"));
    input.focus();
  }

  private get selection(): string {
    return this.selected.sent.markdown;
  }

  private async run(body: Record<string, string>): Promise<void> {
    this.running = new AbortController();
    this.asked = Object.values(body).join("\n");
    this.answer = "";
    this.taken = { content: Fragment.empty, notes: [] };
    this.text.textContent = "";
    const { blocks } = this.selected.sent;
    this.said.textContent = blocks.length ? _("Writing… Pictures, tables and embeds stay as they are.") : _("Writing…");
    this.text.setAttribute("aria-busy", "true");
    this.actions.replaceChildren(button(_("Stop"), () => this.stop()));
    this.box.focus();
    let problem = "";
    let retryable = false;
    try {
      for await (const piece of generate(this.provider, body, this.running.signal)) {
        if ("text" in piece) {
          this.answer += piece.text;
          this.text.textContent = this.answer;
        } else {
          problem = piece.error;
          retryable = piece.retryable;
        }
      }
    } catch {
      const isStopped = this.running.signal.aborted;
      problem = isStopped ? _("Stopped.") : _("The server can’t be reached.");
      retryable = !isStopped;
    }
    this.running = null;
    await this.take();
    this.text.removeAttribute("aria-busy");
    this.finish(problem, retryable ? () => void this.run(body) : false);
  }

  /** What has come is shown as it would stand in the text. */
  private async take(): Promise<void> {
    const { schema } = this.editor.state;
    const text = this.answer.trim();
    if (!text) return;
    if (this.selected.isCode) this.taken = codeAnswer(text, schema);
    else {
      const html = await this.provider.convert(text);
      this.taken = html === null ? plainAnswer(text, schema) : formattedAnswer(html, this.selected.sent, this.asked, schema);
    }
    this.text.replaceChildren(DOMSerializer.fromSchema(schema).serializeFragment(this.taken.content));
  }

  /** Stops the answer, or drops it when it has ended. */
  private escape(): void {
    if (this.running) this.stop();
    else this.close();
  }

  private stop(): void {
    this.running?.abort();
  }

  private finish(problem: string, retry: false | (() => void)): void {
    const { content, notes } = this.taken;
    const words = countWords(content.textBetween(0, content.size, " ", " "));
    const length = `${TITLES[this.action]}, ${counted("%(number)s word", "%(number)s words", words)}`;
    const said = problem || (notes.length ? `${length}.` : length);
    this.said.textContent = [said, ...notes].join(" ");
    const found: HTMLElement[] = [];
    if (this.taken.content.size) {
      if (this.selected.to > this.selected.from) found.push(button(_("Replace"), () => this.replace(), "primary"));
      found.push(button(_("Insert below"), () => this.insert()));
    }
    if (retry) found.push(button(_("Try again"), retry));
    found.push(button(_("Discard"), () => this.close(), "quiet"));
    this.actions.replaceChildren(...found);
    if (this.box.contains(document.activeElement) || document.activeElement === document.body) found[0].focus();
  }

  private replace(): void {
    const asked = KEY.getState(this.editor.state);
    if (!asked) return;
    const { view } = this.editor;
    const transaction = this.separately().replaceRange(asked.from, asked.to, this.slice(asked));
    const end = transaction.mapping.map(asked.to);
    transaction.setSelection(TextSelection.near(transaction.doc.resolve(end), -1)).setMeta(KEY, null);
    view.dispatch(transaction);
    view.focus();
  }

  /** The first and the last block join the text around the selection, as far as both are open. */
  private slice({ from, to }: Asked): Slice {
    const { content } = this.taken;
    const only = content.childCount === 1 ? (content.firstChild as DocumentNode) : null;
    if (this.selected.isInline && only?.isTextblock) {
      return new Slice(only.content, 0, 0);
    }
    const around = this.editor.state.doc.slice(from, to);
    const open = Slice.maxOpen(content);
    const least = this.selected.isInline ? 1 : 0;
    return new Slice(
      content,
      Math.min(open.openStart, Math.max(around.openStart, least)),
      Math.min(open.openEnd, Math.max(around.openEnd, least)),
    );
  }

  /** One undo takes it back, and what was an address is no link by itself. */
  private separately(): Transaction {
    return closeHistory(this.editor.state.tr).setMeta("preventAutolink", true);
  }

  private insert(): void {
    const asked = KEY.getState(this.editor.state);
    if (!asked) return;
    const { state, view } = this.editor;
    const at = state.doc.resolve(asked.to);
    const below = at.depth ? at.after(1) : at.pos;
    const transaction = this.separately().insert(below, this.taken.content).setMeta(KEY, null);
    const end = transaction.doc.resolve(below + this.taken.content.size);
    view.dispatch(transaction.setSelection(TextSelection.near(end, -1)).scrollIntoView());
    view.focus();
  }

  private close(): void {
    this.stop();
    this.set(null);
    this.editor.view.focus();
  }

  private set(asked: Asked | null): void {
    const { state, view } = this.editor;
    view.dispatch(state.tr.setMeta(KEY, asked));
  }
}
