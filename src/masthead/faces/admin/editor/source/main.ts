// `<mh-editor>`: turns a form with a textarea of HTML into the editor of a text.
//
// Attributes, all of them `data-`:
//   document     id of an element whose text is the document as JSON; empty: the HTML is read
//   save-url     where the text is saved; token-url: the form token after another sign-in
//   preview-url  the page that shows the stored text as readers see it
//   sign-in-url  the admin's sign-in; email: of the account, to sign in again; version: of the stored text
//   upload-url, ai-url, markdown-url: what is missing is not offered
//   owner: site and account that the page is made for, sent with every call
//   tenant-id: the site, on a host that does not name it; form-token, icons (the address of the sprite)
//   new-url, edit-url: of a new text, before and after its first save
//   library-alts: what the library says of the text's pictures, as JSON by their id
//   published: the text is on the site; site-name: for the window's title

import type { Editor } from "@tiptap/core";
import type { Machine, Theirs } from "./autosave.ts";
import { beginSaving } from "./browser_edges.ts";
import { Calls } from "./calls.ts";
import { restoreCaret, storeCaret } from "./caret.ts";
import { conflictView } from "./conflict.ts";
import "./form_editor.ts";
import { focusStart, openedContent, parsedHtml } from "./content.ts";
import { askSignIn } from "./dialogs.ts";
import { lengthSentence, tidied } from "./documents.ts";
import type { JsonNode } from "./documents.ts";
import { button, clock, element, useSprite } from "./elements.ts";
import { useLibrary } from "./figure.ts";
import { FormFields } from "./form_fields.ts";
import { NEW, textOf } from "./kept.ts";
import type { Snapshot } from "./kept.ts";
import { listenToKeys, openPanel } from "./keys.ts";
import { follow, watchTheEnd } from "./leaving.ts";
import { Notices, offerAside } from "./offers.ts";
import type { Saving } from "./saving.ts";
import type { Page, TabMessage } from "./saving_edges.ts";
import { Status } from "./status.ts";
import { Submitting } from "./submitting.ts";
import { Tools } from "./tools.ts";
import { _ } from "./words.ts";

const COUNT_AFTER = 400;
/** Characters up to which the text is stored with each key. */
const LONG = 20_000;
class TextEditor extends HTMLElement implements Page {
  private editor!: Editor;
  private form!: HTMLFormElement;
  private fields!: FormFields;
  private submitting!: Submitting;
  private saving!: Saving;
  private readonly notices = new Notices(() => this.editor?.view.focus());
  private calls!: Calls;
  private status!: Status;
  private conflict: HTMLElement | null = null;
  private isKept = true;
  private counting = 0;

  connectedCallback(): void {
    const form = this.closest("form");
    const textarea = this.querySelector("textarea");
    if (this.editor || !form || !textarea) return;
    useSprite(this.dataset.icons ?? "");
    useLibrary(JSON.parse(this.dataset.libraryAlts || "{}") as Record<string, string>);
    this.form = form;
    this.fields = new FormFields(form);
    const content = openedContent(this.dataset.document ?? "", textarea.value, this.notices);
    if (content === null) {
      this.prepend(this.notices.place);
      this.dataset.ready = "";
      return;
    }
    const tools = new Tools(this.dataset, () => this.calls);
    this.editor = tools.makeEditor(this.appendChild(element("div", { class: "prose" })), content);
    // The document is what counts now; the HTML is rendered from it.
    textarea.disabled = true;
    (textarea.closest<HTMLElement>(".field") ?? textarea).hidden = true;
    const { owner = "", formToken = "", tokenUrl = "" } = this.dataset;
    this.calls = new Calls(owner, formToken, tokenUrl, (token) => this.fields.setToken(token));
    this.status = new Status(form, this.dataset.siteName ?? "", this.dataset.published !== undefined);
    const { saveUrl: url = "", version = "" } = this.dataset;
    this.saving = beginSaving(this, this.calls, { text: this.text(), url }, version);
    this.showBars(tools.bars(this.editor));
    this.listen();
    this.submitting = new Submitting(form, this.saving, this.calls, this.notices, {
      previewUrl: this.dataset.previewUrl ?? "",
      before: () => storeCaret(this.editor),
    });
    watchTheEnd(this.saving);
    form.addEventListener("click", (event) => follow(event, this.saving, this.editor.view.dom));
    restoreCaret(this.editor);
    void this.recover();
    this.offerAside();
    this.dataset.ready = "";
  }

  // What the state machine needs of the page.

  snapshot(): Snapshot {
    return { fields: this.fields.values(), content_json: tidied(this.editor.getJSON() as JsonNode) };
  }

  isLong(): boolean {
    return this.editor.state.doc.content.size > LONG;
  }

  changed(machine: Machine): void {
    this.fields.setVersion(machine.version);
    this.nameAddress(machine);
    this.status.show(machine, this.fields.title()?.value ?? "");
    this.fields.showProblems(machine.phase === "refused" ? machine.problems : {});
    for (const each of this.form.querySelectorAll<HTMLButtonElement>("button[name=action]")) {
      each.disabled = machine.phase === "conflict";
    }
    if (machine.phase !== "conflict" && this.conflict) this.closeConflict();
  }

  private text(): string {
    return textOf(this.dataset.owner ?? "", this.dataset.saveUrl ?? "");
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
    const field = this.fields.field("slug");
    if (field instanceof HTMLInputElement) field.placeholder = String(answer.made_slug ?? "");
  }

  askSignIn(): void {
    // For those who close the dialog.
    this.notices.add("warn", _("You are signed out. What you write is kept on this device."), "signed-out", [
      button(_("Sign in"), () => this.askSignIn()),
    ]);
    const isInField = document.activeElement?.matches("input, textarea, select");
    askSignIn(
      this.dataset.signInUrl ?? "",
      this.dataset.email ?? "",
      () => {
        this.notices.remove("signed-out");
        void this.calls.renewToken().then(() => this.saving.dispatch({ type: "signed-in" }));
      },
      () => {
        // Not on the button of the notice, which may be gone.
        if (!isInField) this.editor.view.focus();
      },
    );
  }

  showConflict(mine: Snapshot, theirs: Theirs): void {
    const document_ = theirs.content_json ?? parsedHtml(theirs.content_html ?? "");
    this.conflict?.remove();
    this.conflict = conflictView(
      mine,
      { ...theirs, content_json: document_ },
      this.fields.differing(mine.fields, theirs.fields),
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

  notKept(reason: string): void {
    if (!this.isKept) return;
    this.isKept = false;
    this.notices.add("warn", _("This browser does not keep the text (%(reason)s). Leave the page only after it says Saved.", { reason }));
  }

  otherTab(message: TabMessage): void {
    if (message.type === "saved") {
      this.notices.add("warn", _("Saved in another tab at %(time)s. Reopen it to continue from there.", { time: clock(message.at) }), "tab", [
        button(_("Reopen"), () => location.reload()),
      ]);
    } else {
      this.notices.add("warn", _("This text is also open in another tab. Write in one of them."), "tab");
    }
  }

  restored(at: string): void {
    this.notices.add("info", _("Restored your text of %(time)s, which had not been saved.", { time: clock(at) }), "restored");
  }

  offerAside(): void {
    void offerAside(this.notices, this.text());
  }

  // The parts of the page.

  private showBars(bars: ReturnType<Tools["bars"]>): void {
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
    let last = JSON.stringify(this.fields.values());
    const typed = (event: Event): void => {
      const field = event.target as HTMLInputElement;
      if (!this.fields.isSaved(field.name)) return;
      // A field that is left tells of its change once more.
      const fields = JSON.stringify(this.fields.values());
      if (event.type === "change" && fields === last) return;
      last = fields;
      this.saving.dispatch({ type: "typed" });
    };
    this.form.addEventListener("input", typed);
    this.form.addEventListener("change", typed);
    listenToKeys(
      this.editor,
      () => void this.saving.flush(),
      (event) => this.submitting.publish(event),
    );
    this.fields.title()?.addEventListener("keydown", (event) => {
      if (event.key !== "Enter" || event.isComposing) return;
      event.preventDefault();
      focusStart(this.editor.view);
    });
    openPanel(this.form);
  }

  private count(): void {
    const place = document.querySelector("[data-word-count]");
    if (place) place.textContent = lengthSentence(this.editor.getText({ blockSeparator: " " }));
  }

  // Texts of before.

  private async recover(): Promise<void> {
    const opened = this.snapshot();
    const isChanged = this.fields.isChangedAlready();
    if (isChanged) this.saving.dispatch({ type: "typed" });
    await this.saving.recover(opened);
  }

  restore(snapshot: Snapshot): void {
    this.editor.commands.setContent(snapshot.content_json, { emitUpdate: false });
    this.fields.restore(snapshot.fields);
    this.count();
  }

  private closeConflict(): void {
    this.conflict?.remove();
    this.conflict = null;
    this.form.classList.remove("is-in-conflict");
    this.editor.view.focus();
  }
}

customElements.define("mh-editor", TextEditor);
