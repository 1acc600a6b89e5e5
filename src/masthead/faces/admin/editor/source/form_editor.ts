// `<mh-form-editor>`: the editor as one field of a form, which a button saves. The document is sent as
// `content_json`, in place of the textarea of HTML that the element contains.
//
// Its attributes are those of `<mh-editor>` that are not about saving: see main.ts.

import type { Editor } from "@tiptap/core";
import { Calls } from "./calls.ts";
import { openedContent } from "./content.ts";
import { tidied } from "./documents.ts";
import type { JsonNode } from "./documents.ts";
import { element, useSprite } from "./elements.ts";
import { useLibrary } from "./figure.ts";
import { FormFields } from "./form_fields.ts";
import { Notices } from "./offers.ts";
import { Tools } from "./tools.ts";

class FormEditor extends HTMLElement {
  private editor?: Editor;
  private isChanged = false;

  connectedCallback(): void {
    const form = this.closest("form");
    const textarea = this.querySelector("textarea");
    if (this.editor || !form || !textarea) return;
    useSprite(this.dataset.icons ?? "");
    useLibrary({});
    const notices = new Notices();
    const content = openedContent(this.dataset.document ?? "", textarea.value, notices);
    this.prepend(notices.place);
    if (content === null) {
      this.dataset.ready = "html";
      return;
    }
    const { owner = "", formToken = "", tokenUrl = "" } = this.dataset;
    const fields = new FormFields(form);
    const calls = new Calls(owner, formToken, tokenUrl, (token) => fields.setToken(token));
    const tools = new Tools(this.dataset, () => calls);
    const editor = tools.makeEditor(this.appendChild(element("div", { class: "prose" })), content);
    this.editor = editor;
    const bars = tools.bars(editor);
    this.prepend(bars.fixed);
    this.append(bars.bubble, bars.keys);
    textarea.disabled = true;
    textarea.hidden = true;
    this.send(form, editor);
    form.querySelector("label[for=content_html]")?.addEventListener("click", () => editor.view.focus());
    this.dataset.ready = "";
  }

  private send(form: HTMLFormElement, editor: Editor): void {
    editor.on("update", () => {
      this.isChanged = true;
    });
    form.addEventListener("formdata", ({ formData }) => {
      formData.set("content_json", JSON.stringify(tidied(editor.getJSON() as JsonNode)));
    });
    form.addEventListener("submit", () => {
      this.isChanged = false;
    });
    addEventListener("beforeunload", (event) => {
      if (this.isChanged) event.preventDefault();
    });
  }
}

customElements.define("mh-form-editor", FormEditor);
