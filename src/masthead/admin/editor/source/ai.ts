// Rewrite, translate, summarize and write with an AI provider.
//
// The answer streams into a decoration below the selection. The document changes only when the
// author takes the answer, in one step that one undo takes back.

import { Extension } from "@tiptap/core";
import type { Editor } from "@tiptap/core";
import { closeHistory } from "@tiptap/pm/history";
import { Fragment, Slice } from "@tiptap/pm/model";
import type { Node as DocumentNode } from "@tiptap/pm/model";
import { Plugin, PluginKey, TextSelection } from "@tiptap/pm/state";
import { Decoration, DecorationSet } from "@tiptap/pm/view";
import { button, element } from "./elements.ts";
import { countWords } from "./documents.ts";
import { generate } from "./event_stream.ts";
import type { Provider } from "./event_stream.ts";
import { openMenu } from "./menu.ts";

export type Action = "rewrite" | "summarize" | "translate" | "generate";

const TITLES: Record<Action, string> = {
  rewrite: "Rewrite",
  summarize: "Summary",
  translate: "Translation",
  generate: "Write",
};
const QUESTIONS: Partial<Record<Action, [string, string]>> = {
  translate: ["Into which language?", "English"],
  generate: ["What shall be written?", "Three sentences about…"],
};
const MAX_SELECTION = 32_000;

interface Asked {
  from: number;
  to: number;
  panel: HTMLElement;
  escape: () => void;
}

const KEY = new PluginKey<Asked | null>("ai");

export const Ai = Extension.create({
  name: "ai",
  addProseMirrorPlugins: () => [
    new Plugin<Asked | null>({
      key: KEY,
      state: {
        init: () => null,
        apply(transaction, asked) {
          const given = transaction.getMeta(KEY) as Asked | null | undefined;
          if (given !== undefined) return given;
          if (!asked) return null;
          const { mapping } = transaction;
          return { ...asked, from: mapping.map(asked.from, 1), to: mapping.map(asked.to, -1) };
        },
      },
      props: {
        // The focus may be in the text as well as in the panel.
        handleKeyDown: (view, event) => {
          const asked = KEY.getState(view.state);
          if (!asked || event.key !== "Escape") return false;
          asked.escape();
          return true;
        },
        decorations: (state) => {
          const asked = KEY.getState(state);
          if (!asked) return DecorationSet.empty;
          const { from, to, panel } = asked;
          const end = state.doc.resolve(Math.min(to, state.doc.content.size));
          const below = end.depth ? end.after(1) : end.pos;
          const shown = [Decoration.widget(below, panel, { side: -1, key: "ai", stopEvent: () => true })];
          if (to > from) shown.push(Decoration.inline(from, to, { class: "selected" }));
          return DecorationSet.create(state.doc, shown);
        },
      },
    }),
  ],
});

/** The menu of the ✦ button. */
export function aiMenu(editor: Editor, provider: Provider, opener: HTMLElement): void {
  const ask = (action: Action) => () => askAi(editor, provider, action);
  const items = [
    { label: "Rewrite", icon: "sparkles", run: ask("rewrite") },
    { label: "Summarize", icon: "list", run: ask("summarize") },
    { label: "Translate…", icon: "globe", run: ask("translate") },
    { label: "Write on…", icon: "plus", run: ask("generate") },
  ];
  openMenu(opener, "With AI", [{ label: "With AI", items }], () => editor.view.focus());
}

export function askAi(editor: Editor, provider: Provider, action: Action): void {
  const { from, to } = editor.state.selection;
  const selection = editor.state.doc.textBetween(from, to, "\n\n", "\n");
  new Panel(editor, provider, action, selection, from, to).open();
}

class Panel {
  private readonly text = element("div", { class: "ai-text" });
  private readonly said = element("span", { role: "status" });
  private readonly actions = element("span", { class: "actions" });
  private readonly box: HTMLElement;
  private answer = "";
  private running: AbortController | null = null;

  constructor(
    private readonly editor: Editor,
    private readonly provider: Provider,
    private readonly action: Action,
    private readonly selection: string,
    private readonly from: number,
    private readonly to: number,
  ) {
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
    this.set({ from: this.from, to: this.to, panel: this.box, escape: () => this.escape() });
    const question = QUESTIONS[this.action];
    if (this.selection.length > MAX_SELECTION) {
      this.finish(`The selection has more than ${MAX_SELECTION.toLocaleString("en-GB")} characters. Select less.`, false);
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
      button("Go", go),
    );
    this.said.textContent = TITLES[this.action];
    this.text.before(question);
    this.actions.replaceChildren(button("Discard", () => this.close(), "quiet"));
    input.focus();
  }

  private async run(body: Record<string, string>): Promise<void> {
    this.running = new AbortController();
    this.answer = "";
    this.text.textContent = "";
    this.said.textContent = "Writing…";
    this.text.setAttribute("aria-busy", "true");
    this.actions.replaceChildren(button("Stop", () => this.stop()));
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
      problem = isStopped ? "Stopped." : "The server can't be reached.";
      retryable = !isStopped;
    }
    this.running = null;
    this.text.removeAttribute("aria-busy");
    this.finish(problem, retryable ? () => void this.run(body) : false);
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
    this.said.textContent = problem || `${TITLES[this.action]}, ${countWords(this.answer)} words`;
    const found: HTMLElement[] = [];
    if (this.answer.trim()) {
      if (this.to > this.from) found.push(button("Replace", () => this.replace(), "primary"));
      found.push(button("Insert below", () => this.insert()));
    }
    if (retry) found.push(button("Try again", retry));
    found.push(button("Discard", () => this.close(), "quiet"));
    this.actions.replaceChildren(...found);
    if (this.box.contains(document.activeElement) || document.activeElement === document.body) found[0].focus();
  }

  private paragraphs(): DocumentNode[] {
    const { schema } = this.editor.state;
    return this.answer
      .trim()
      .split(/\n{2,}/)
      .map((text) => schema.nodes.paragraph.create(null, lines(text, schema)));
  }

  private replace(): void {
    const asked = KEY.getState(this.editor.state);
    if (!asked) return;
    const { state, view } = this.editor;
    // Open at both ends: the first and the last paragraph join the text around the selection.
    const answer = new Slice(Fragment.from(this.paragraphs()), 1, 1);
    const transaction = closeHistory(state.tr).replaceRange(asked.from, asked.to, answer);
    const end = transaction.mapping.map(asked.to);
    transaction.setSelection(TextSelection.near(transaction.doc.resolve(end), -1)).setMeta(KEY, null);
    view.dispatch(transaction);
    view.focus();
  }

  private insert(): void {
    const asked = KEY.getState(this.editor.state);
    if (!asked) return;
    const { state, view } = this.editor;
    const at = state.doc.resolve(asked.to);
    const below = at.depth ? at.after(1) : at.pos;
    view.dispatch(closeHistory(state.tr).insert(below, this.paragraphs()).setMeta(KEY, null));
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

function lines(text: string, schema: DocumentNode["type"]["schema"]): DocumentNode[] {
  return text.split("\n").flatMap((line, index) => [
    ...(index ? [schema.nodes.hardBreak.create()] : []),
    ...(line ? [schema.text(line)] : []),
  ]);
}
