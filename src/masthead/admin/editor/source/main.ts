// `<mh-editor>`: turns a form with a textarea of HTML into the editor of a text.
//
// Attributes, all of them `data-`:
//   document     id of an element whose text is the document as JSON; empty: the HTML is read
//   save-url     where the text is saved; token-url: the form token after another sign-in
//   preview-url  the page that shows the stored text as readers see it
//   sign-in-url  the admin's sign-in; version: of the stored text
//   upload-url, ai-url, markdown-url: what is missing is not offered
//   owner: site and account that the page is made for, sent with every call
//   tenant-id: the site, on a host that does not name it; form-token, icons (the address of the sprite)
//   new-url, edit-url: of a new text, before and after its first save
//   library-alts: what the library says of the text's pictures, as JSON by their id
//   published: the text is on the site; site-name: for the window's title

import { Editor, getSchema } from "@tiptap/core";
import type { Command as EditorCommand } from "@tiptap/core";
import { closeHistory } from "@tiptap/pm/history";
import { Node as DocumentNode, Fragment, Slice } from "@tiptap/pm/model";
import { Selection } from "@tiptap/pm/state";
import type { EditorView } from "@tiptap/pm/view";
import { Ai, aiMenu, askAi } from "./ai.ts";
import type { Assistant } from "./ai.ts";
import type { Machine, Theirs } from "./autosave.ts";
import { restoreCaret, storeCaret } from "./caret.ts";
import { BLOCKS, LINK } from "./commands.ts";
import type { Command } from "./commands.ts";
import { conflictView } from "./conflict.ts";
import type { Setting } from "./conflict.ts";
import { Calls } from "./calls.ts";
import { askSignIn } from "./dialogs.ts";
import { lengthSentence, looksLikeMarkdown, tidied } from "./documents.ts";
import type { JsonNode } from "./documents.ts";
import { useLibrary } from "./figure.ts";
import { button, clock, element, useSprite } from "./elements.ts";
import { NEW, textOf } from "./kept.ts";
import type { Snapshot } from "./kept.ts";
import { lost } from "./losses.ts";
import { Notices, offerAside } from "./offers.ts";
import { cleanPaste, isPlainPaste } from "./paste.ts";
import { Saving } from "./saving.ts";
import type { Page, TabMessage } from "./saving.ts";
import { extensions } from "./schema.ts";
import { Slash } from "./slash.ts";
import { Status } from "./status.ts";
import { browserStore } from "./store.ts";
import { newSession, Tabs } from "./tabs.ts";
import { toolbars } from "./toolbars.ts";
import { chooseFromLibrary, Uploads, choosePictures, uploadLocalPictures } from "./uploads.ts";
import type { UploadTarget } from "./uploads.ts";

/** Fields of the form that are no part of the text. */
const NOT_SAVED = new Set(["form_token", "version", "action", "content_html"]);
const COUNT_AFTER = 400;
/** Characters up to which the text is stored with each key. */
const LONG = 20_000;
/** How long a link waits for the text to be saved. */
const LINK_WAITS = 1_000;

/** What has not happened, by the button that was pressed. */
const DONE: Record<string, string> = {
  review: "Not published",
  preview: "No preview",
  discard: "Not discarded",
};

class TextEditor extends HTMLElement implements Page {
  private editor!: Editor;
  private form!: HTMLFormElement;
  private saving!: Saving;
  private textarea!: HTMLTextAreaElement;
  private readonly notices = new Notices();
  private calls!: Calls;
  private status!: Status;
  private conflict: HTMLElement | null = null;
  private isKept = true;
  /** The text is saved and the server is there: the form may go. */
  private isReady = false;
  private counting = 0;

  connectedCallback(): void {
    const form = this.closest("form");
    const textarea = this.querySelector("textarea");
    if (this.editor || !form || !textarea) return;
    useSprite(this.dataset.icons ?? "");
    useLibrary(JSON.parse(this.dataset.libraryAlts || "{}") as Record<string, string>);
    this.form = form;
    this.textarea = textarea;
    const content = this.content();
    if (content === null) {
      this.prepend(this.notices.place);
      this.dataset.ready = "";
      return;
    }
    this.editor = this.make(content);
    // The document is what counts now; the HTML is rendered from it.
    textarea.disabled = true;
    (textarea.closest<HTMLElement>(".field") ?? textarea).hidden = true;
    const { owner = "", formToken = "", tokenUrl = "" } = this.dataset;
    this.calls = new Calls(owner, formToken, tokenUrl, (token) => this.setToken(token));
    this.status = new Status(form, this.dataset.siteName ?? "", this.dataset.published !== undefined);
    this.saving = this.begin();
    this.controls();
    this.listen();
    this.watchTheEnd();
    restoreCaret(this.editor);
    void this.recover();
    this.offerAside();
    this.dataset.ready = "";
  }

  private begin(): Saving {
    const { saveUrl: url = "", version = "" } = this.dataset;
    const session = newSession();
    const tabs = new Tabs(session);
    const edges = {
      store: browserStore,
      post: (to: string, body: string, isLast?: boolean) => this.calls.post(to, body, isLast),
      alive: () => tabs.alive(),
      tell: (message: TabMessage) => tabs.tell(message),
      later: (run: () => void, after: number) => window.setTimeout(run, after),
      cancel: (timer: number) => window.clearTimeout(timer),
      now: () => new Date().toISOString(),
      address: () => location.pathname + location.search,
    };
    const saving = new Saving(this, edges, { text: this.text(), url, session }, version);
    tabs.heard = (message) => saving.heard(message);
    return saving;
  }

  /** A page may go at any moment: what is not sent yet is written and sent before. */
  private watchTheEnd(): void {
    addEventListener("online", () => this.saving.dispatch({ type: "online" }));
    addEventListener("pagehide", () => this.saving.leave());
    addEventListener("pageshow", (event) => {
      if (event.persisted) this.saving.back();
    });
    document.addEventListener("visibilitychange", () => {
      if (document.visibilityState === "hidden") this.saving.hidden();
    });
    addEventListener("beforeunload", (event) => {
      if (!this.saving.isOnDevice()) event.preventDefault();
    });
    this.form.addEventListener("click", (event) => this.followed(event));
  }

  /** The page behind a link shows what was typed before it. */
  private followed(event: MouseEvent): void {
    const link = (event.target as Element).closest<HTMLAnchorElement>("a[href]");
    const isPlain = event.button === 0 && !(event.ctrlKey || event.metaKey || event.shiftKey || event.altKey);
    const isWithin = this.editor.view.dom.contains(link);
    if (!link || !isPlain || isWithin || link.target || link.origin !== location.origin) return;
    if (event.defaultPrevented || ["clean", "conflict"].includes(this.saving.machine.phase)) return;
    event.preventDefault();
    const late = new Promise((resolve) => setTimeout(resolve, LINK_WAITS));
    void Promise.race([this.saving.flush(), late]).then(() => location.assign(link.href));
  }

  // What the state machine needs of the page.

  snapshot(): Snapshot {
    return { fields: this.fields(), content_json: tidied(this.editor.getJSON() as JsonNode) };
  }

  private fields(): Record<string, string> {
    const found: Record<string, string> = {};
    for (const [name, value] of new FormData(this.form)) {
      if (typeof value === "string" && !NOT_SAVED.has(name)) found[name] = value;
    }
    return found;
  }

  isLong(): boolean {
    return this.editor.state.doc.content.size > LONG;
  }

  private setToken(token: string): void {
    const field = this.form.querySelector<HTMLInputElement>("input[name=form_token]");
    if (field) field.value = token;
  }

  changed(machine: Machine): void {
    const version = this.form.querySelector<HTMLInputElement>("input[name=version]");
    if (version) version.value = machine.version;
    this.nameAddress(machine);
    this.status.show(machine, this.titleField()?.value ?? "");
    this.showProblems(machine.phase === "refused" ? machine.problems : {});
    for (const each of this.form.querySelectorAll<HTMLButtonElement>("button[name=action]")) {
      each.disabled = machine.phase === "conflict";
    }
    if (machine.phase !== "conflict" && this.conflict) this.closeConflict();
  }

  private text(): string {
    return textOf(this.dataset.owner ?? "", this.dataset.saveUrl ?? "");
  }

  private titleField(): HTMLTextAreaElement | null {
    return this.form.querySelector<HTMLTextAreaElement>("textarea[name=title]");
  }

  /** A new text has its own address from the first key on, so that a reload finds it. */
  private nameAddress(machine: Machine): void {
    const { newUrl, editUrl } = this.dataset;
    if (!newUrl || !editUrl || (machine.phase === "clean" && machine.version === NEW)) return;
    const address = machine.version === NEW ? newUrl : editUrl;
    if (machine.version !== NEW) this.form.action = editUrl;
    if (location.pathname + location.search !== address) history.replaceState(null, "", address);
  }

  saved(answer: Record<string, unknown>): void {
    this.status.saved(answer);
    // The address that the server has made from the title of a draft; empty where one is chosen.
    const field = this.field("slug");
    if (field instanceof HTMLInputElement) field.placeholder = String(answer.made_slug ?? "");
  }

  askSignIn(): void {
    // For those who close the dialog.
    this.notices.add("warn", "You are signed out. What you write is kept on this device.", "signed-out", [
      button("Sign in", () => this.askSignIn()),
    ]);
    const back = document.activeElement === this.editor.view.dom;
    askSignIn(
      this.dataset.signInUrl ?? "",
      () => {
        this.notices.remove("signed-out");
        void this.calls.renewToken().then(() => this.saving.dispatch({ type: "signed-in" }));
      },
      () => {
        if (back) this.editor.view.focus();
      },
    );
  }

  showConflict(mine: Snapshot, theirs: Theirs): void {
    const document_ = theirs.content_json ?? this.parsed(theirs.content_html ?? "");
    this.conflict?.remove();
    this.conflict = conflictView(
      mine,
      { ...theirs, content_json: document_ },
      this.differing(mine.fields, theirs.fields),
      {
        keepMine: () => this.saving.dispatch({ type: "keep-mine" }),
        takeTheirs: () => {
          void this.saving.takeTheirs().then(() => location.reload());
        },
      },
    );
    this.form.classList.add("is-in-conflict");
    this.form.after(this.conflict);
    scrollTo(0, 0);
    this.conflict.focus({ preventScroll: true });
  }

  /** The settings of the form that are not the same in both, in the form's own words. */
  private differing(mine: Snapshot["fields"], theirs: Snapshot["fields"]): Setting[] {
    const names = Object.keys({ ...mine, ...theirs }).filter((name) => name !== "title" && mine[name] !== theirs[name]);
    return names.map((name) => {
      const label = this.field(name)?.closest(".field")?.querySelector("legend, label")?.textContent ?? name;
      return { label, mine: this.words(name, mine[name]), theirs: this.words(name, theirs[name]) };
    });
  }

  private words(name: string, value = ""): string {
    const [one] = [...this.form.querySelectorAll<HTMLInputElement>(`[name="${CSS.escape(name)}"]`)].filter(
      (each) => (each.type === "radio" || each.type === "checkbox") && each.value === value,
    );
    return one?.closest("label")?.textContent?.trim() ?? value;
  }

  notKept(reason: string): void {
    if (!this.isKept) return;
    this.isKept = false;
    this.notices.add("warn", `This browser does not keep the text (${reason}). Leave the page only after it says Saved.`);
  }

  otherTab(message: TabMessage): void {
    if (message.type === "saved") {
      this.notices.add("warn", `Saved in another tab at ${clock(message.at)}. Reopen it to go on from there.`, "tab", [
        button("Reopen", () => location.reload()),
      ]);
    } else {
      this.notices.add("warn", "This text is also open in another tab. Write in one of them.", "tab");
    }
  }

  restored(at: string): void {
    this.notices.add("info", `Restored what you wrote until ${clock(at)} and what was not sent yet.`, "restored");
  }

  offerAside(): void {
    void offerAside(this.notices, this.text());
  }

  // The parts of the page.

  private make(content: JsonNode | string): Editor {
    const uploads = this.uploads();
    return new Editor({
      element: { mount: this.appendChild(element("div", { class: "prose" })) },
      extensions: [
        ...extensions("Write, or press / for more"),
        Uploads.configure({ target: uploads }),
        ...(this.ai() ? [Ai] : []),
        Slash.configure({ commands: this.slashCommands(uploads) }),
      ],
      content,
      injectCSS: false,
      editorProps: {
        attributes: {
          class: "prose",
          id: "text",
          role: "textbox",
          "aria-label": "Text",
          "aria-multiline": "true",
          spellcheck: "true",
        },
        handleDOMEvents: { click: (view, event) => belowTheText(view, event) },
        transformPastedHTML: cleanPaste,
        handlePaste: (view, event) => !isPlainPaste(view) && this.pasted(event),
      },
    });
  }

  /** Null for a document that the editor would change by opening it. */
  private content(): JsonNode | string | null {
    const data = document.getElementById(this.dataset.document ?? "")?.textContent;
    const stored = data?.trim() ? (JSON.parse(data) as JsonNode | null) : null;
    if (stored && isValid(stored)) return stored;
    if (stored) {
      this.notices.add("warn", "The document of this text can’t be opened in the editor. Here is its HTML.");
      return null;
    }
    const html = this.textarea.value;
    const losses = lost(html);
    if (losses.length) {
      this.notices.add("warn", `Saved from here, the text loses what the editor lacks: ${losses.join(", ")}.`, "losses");
    }
    return cleanPaste(html);
  }

  private parsed(html: string): JsonNode {
    const probe = new Editor({ element: null, extensions: extensions(""), content: cleanPaste(html), injectCSS: false });
    const found = probe.getJSON() as JsonNode;
    probe.destroy();
    return found;
  }

  private uploads(): UploadTarget | null {
    const url = this.dataset.uploadUrl;
    return url ? { url, headers: () => this.calls.headers() } : null;
  }

  private ai(): Assistant | null {
    const { aiUrl: url, tenantId, markdownUrl } = this.dataset;
    const convert = async (text: string): Promise<string | null> =>
      markdownUrl ? await this.converted(markdownUrl, { text, exactly: true }) : null;
    return url ? { url, tenantId, convert } : null;
  }

  private slashCommands(uploads: UploadTarget | null): Command[] {
    const found = [...BLOCKS];
    if (uploads) {
      const run = (editor: Editor): void => choosePictures(editor, uploads);
      found.push({ label: "Picture", icon: "image", words: "image photo upload", run });
      found.push({ label: "Picture from the library", icon: "image", words: "image media", run: chooseFromLibrary });
    }
    const provider = this.ai();
    if (provider) {
      const run = (editor: Editor): void => askAi(editor, provider, "generate");
      found.push({ label: "Write with AI…", icon: "sparkles", words: "generate ai", run });
    }
    return found;
  }

  private controls(): void {
    const uploads = this.uploads();
    const provider = this.ai();
    const { bars } = toolbars(
      this.editor,
      uploads && (() => choosePictures(this.editor, uploads)),
      provider && ((opener) => aiMenu(this.editor, provider, opener)),
    );
    const place = document.querySelector("[data-editor-tools]");
    if (place) place.replaceWith(bars.fixed);
    else this.before(bars.fixed);
    this.prepend(this.notices.place);
    this.append(bars.bubble, bars.keys);
    this.count();
  }

  private listen(): void {
    this.editor.on("update", () => {
      this.saving.dispatch({ type: "typed" });
      window.clearTimeout(this.counting);
      this.counting = window.setTimeout(() => this.count(), COUNT_AFTER);
    });
    let last = JSON.stringify(this.fields());
    const typed = (event: Event): void => {
      const field = event.target as HTMLInputElement;
      if (!field.name || NOT_SAVED.has(field.name)) return;
      // A field that is left tells of its change once more.
      const fields = JSON.stringify(this.fields());
      if (event.type === "change" && fields === last) return;
      last = fields;
      this.saving.dispatch({ type: "typed" });
    };
    this.form.addEventListener("input", typed);
    this.form.addEventListener("change", typed);
    this.form.addEventListener("submit", (event) => this.submitted(event), true);
    document.addEventListener(
      "keydown",
      (event) => {
        if (!(event.ctrlKey || event.metaKey) || event.altKey || event.shiftKey || event.isComposing) return;
        const actions: Record<string, () => void> = {
          s: () => void this.saving.flush(),
          enter: () => this.publish(event),
          // Elsewhere on the page the same keys search.
          ...(this.editor.view.hasFocus() && { k: () => this.link() }),
        };
        const action = actions[event.key.toLowerCase()];
        if (!action) return;
        event.preventDefault();
        event.stopPropagation();
        action();
      },
      true,
    );
    this.titleField()?.addEventListener("keydown", (event) => {
      if (event.key !== "Enter" || event.isComposing) return;
      event.preventDefault();
      this.focusStart();
    });
    const opener = this.form.querySelector<HTMLElement>("[data-panel-toggle]");
    const panel = document.getElementById(opener?.getAttribute("aria-controls") ?? "");
    if (!opener || !panel) return;
    // Whether it is open at first depends on the width of the window.
    const isShown = (): boolean => getComputedStyle(panel).display !== "none";
    opener.hidden = false;
    opener.setAttribute("aria-expanded", String(isShown()));
    opener.addEventListener("click", () => {
      panel.dataset.shown = isShown() ? "no" : "yes";
      opener.setAttribute("aria-expanded", String(isShown()));
    });
  }

  private link(): void {
    // What was selected by the key before this one: the browser tells of it only afterwards.
    (this.editor.view as unknown as { domObserver: { flush: () => void } }).domObserver.flush();
    LINK.run(this.editor);
  }

  /** As its button does. Not from a dialog, whose keys are its own. */
  private publish(event: KeyboardEvent): void {
    const own = this.form.querySelector<HTMLButtonElement>("button[name=action][value=review]");
    if (own && !own.disabled && this.form.contains(event.target as Node)) this.form.requestSubmit(own);
  }

  /** A form goes only after the text: what is published is what was written. */
  private submitted(event: SubmitEvent): void {
    if (event.target !== this.form) return;
    const { submitter } = event;
    const { previewUrl } = this.dataset;
    const isPreview = submitter instanceof HTMLButtonElement && submitter.value === "preview" && previewUrl;
    if (this.isReady) {
      this.isReady = false;
      storeCaret(this.editor);
      return;
    }
    if (this.saving.machine.version === NEW) this.saving.dispatch({ type: "typed" });
    event.preventDefault();
    event.stopImmediatePropagation();
    void this.submitAfterSaving(submitter, isPreview ? previewUrl : "");
  }

  private async submitAfterSaving(submitter: HTMLElement | null, previewUrl: string): Promise<void> {
    this.notices.remove("stopped");
    const isSafe = (await this.saving.flush()) && (await this.calls.isReachable());
    if (!isSafe) return this.sayWhyNot(submitter);
    if (previewUrl) return location.assign(previewUrl);
    this.isReady = true;
    this.form.requestSubmit(submitter);
  }

  /** A button that was pressed and does nothing says so, and why. */
  private sayWhyNot(submitter: HTMLElement | null): void {
    const { phase, problems } = this.saving.machine;
    if (phase === "conflict" || phase === "signed-out") return;
    const done = DONE[(submitter as HTMLButtonElement | null)?.value ?? ""] ?? "Not saved";
    const reason = Object.values(problems)[0] ?? "The server can’t be reached.";
    const kept = phase === "clean" ? "The text is saved." : "The text is kept on this device.";
    this.notices.add("warn", `${done}: ${reason} ${phase === "refused" ? "" : kept}`.trim(), "stopped");
  }

  private pasted(event: ClipboardEvent): boolean {
    const uploads = this.uploads();
    const html = event.clipboardData?.getData("text/html") ?? "";
    if (html) {
      if (uploads && html.includes("data:")) setTimeout(() => void uploadLocalPictures(this.editor, uploads));
      return false;
    }
    const text = event.clipboardData?.getData("text/plain") ?? "";
    const { markdownUrl } = this.dataset;
    if (!markdownUrl || this.editor.isActive("codeBlock") || !looksLikeMarkdown(text)) return false;
    void this.pasteMarkdown(markdownUrl, text);
    return true;
  }

  /** The text stands there at once; what the server makes of it replaces it, and one undo restores it. */
  private async pasteMarkdown(address: string, text: string): Promise<void> {
    const { from } = this.editor.state.selection;
    this.insertPlain(text);
    const pasted = this.editor.state.doc;
    const to = this.editor.state.selection.to;
    const html = await this.converted(address, { text });
    // Typed on meanwhile: the text stays as it is. Without the server as well, which is true, too.
    if (!html || !this.editor.state.doc.eq(pasted)) return;
    const separately: EditorCommand = ({ tr }) => Boolean(closeHistory(tr));
    this.editor.chain().command(separately).focus().insertContentAt({ from, to }, cleanPaste(html)).run();
  }

  private async converted(address: string, asked: { text: string; exactly?: boolean }): Promise<string | null> {
    const { status, body } = await this.calls.post(address, JSON.stringify(asked));
    return status === 200 && typeof body.html === "string" ? body.html : null;
  }

  /** Not as a paste, which would already turn some of the marks into formatting. */
  private insertPlain(text: string): void {
    const { view } = this.editor;
    const { schema, tr } = view.state;
    const paragraphs = text
      .split(/[\r\n]+/)
      .filter(Boolean)
      .map((line) => schema.nodes.paragraph.create(null, schema.text(line)));
    view.dispatch(tr.replaceSelection(new Slice(Fragment.from(paragraphs), 1, 1)).scrollIntoView());
  }

  private count(): void {
    const place = document.querySelector("[data-word-count]");
    if (place) place.textContent = lengthSentence(this.editor.getText({ blockSeparator: " " }));
  }

  // Texts of before.

  private async recover(): Promise<void> {
    const opened = this.snapshot();
    const isChanged = this.isChangedAlready();
    if (isChanged) this.saving.dispatch({ type: "typed" });
    await this.saving.recover(opened);
  }

  /** The fields of the form that a person fills in and that are saved. */
  private *savedFields(): Generator<HTMLInputElement | HTMLTextAreaElement | HTMLSelectElement> {
    for (const each of this.form.elements) {
      const isField =
        each instanceof HTMLInputElement || each instanceof HTMLTextAreaElement || each instanceof HTMLSelectElement;
      if (isField && each.name && !NOT_SAVED.has(each.name) && each.type !== "hidden") yield each;
    }
  }

  /** Whether a person typed or chose something while this script was on its way. */
  private isChangedAlready(): boolean {
    return [...this.savedFields()].some((each) => {
      if (each instanceof HTMLSelectElement) return false;
      if (each.type === "checkbox" || each.type === "radio") {
        return each instanceof HTMLInputElement && each.checked !== each.defaultChecked;
      }
      return each.value !== each.defaultValue;
    });
  }

  restore(snapshot: Snapshot): void {
    this.editor.commands.setContent(snapshot.content_json, { emitUpdate: false });
    for (const each of this.savedFields()) {
      const value = snapshot.fields[each.name];
      if (each instanceof HTMLInputElement && (each.type === "checkbox" || each.type === "radio")) {
        each.checked = each.type === "radio" ? each.value === value : value !== undefined;
      } else if (value !== undefined) each.value = value;
      // For what shows the value in another way, such as tags and counters.
      each.dispatchEvent(new Event("restored"));
    }
    this.count();
  }

  private closeConflict(): void {
    this.conflict?.remove();
    this.conflict = null;
    this.form.classList.remove("is-in-conflict");
    this.editor.view.focus();
  }

  /** At once, unlike the editor's own command, which waits for the next frame: the first keys that
   * are typed after it would be lost. */
  private focusStart(): void {
    const { view } = this.editor;
    view.dispatch(view.state.tr.setSelection(Selection.atStart(view.state.doc)).scrollIntoView());
    view.focus();
  }

  private showProblems(problems: Readonly<Record<string, string>>): void {
    for (const each of this.form.querySelectorAll("[data-save-problem]")) {
      if (!((each as HTMLElement).dataset.saveProblem! in problems)) {
        each.remove();
        this.field((each as HTMLElement).dataset.saveProblem!)?.removeAttribute("aria-invalid");
      }
    }
    for (const [name, sentence] of Object.entries(problems)) {
      const field = this.field(name);
      if (!field) continue;
      field.setAttribute("aria-invalid", "true");
      const shown = this.form.querySelector(`[data-save-problem="${CSS.escape(name)}"]`);
      const note = shown ?? element("p", { class: "hint hint-bad", "data-save-problem": name, role: "alert" });
      note.textContent = sentence;
      if (!shown) (field.closest(".field") ?? field).append(note);
    }
  }

  private field(name: string): HTMLElement | null {
    return name ? this.form.querySelector<HTMLElement>(`[name="${CSS.escape(name)}"]`) : null;
  }
}

/** A click below a last block that is no text, such as a table, makes a paragraph there. */
function belowTheText(view: EditorView, event: MouseEvent): boolean {
  const last = view.dom.lastElementChild;
  const { doc, schema, tr } = view.state;
  if (!last || !doc.lastChild || doc.lastChild.type === schema.nodes.paragraph) return false;
  if (event.target !== view.dom || event.clientY < last.getBoundingClientRect().bottom) return false;
  tr.insert(doc.content.size, schema.nodes.paragraph.create());
  view.dispatch(tr.setSelection(Selection.atEnd(tr.doc)));
  view.focus();
  return true;
}

function isValid(document: JsonNode): boolean {
  try {
    DocumentNode.fromJSON(getSchema(extensions("")), document).check();
    return true;
  } catch {
    return false;
  }
}

customElements.define("mh-editor", TextEditor);
