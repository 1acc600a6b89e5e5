// A block of code with a field for its language. Colours come from the site, not from here.

import { CodeBlock as Base } from "@tiptap/extension-code-block";
import { TextSelection } from "@tiptap/pm/state";
import { element } from "./elements.ts";
import { _ } from "./words.ts";

const LANGUAGE = /^[\w.+#-]{1,40}$/;

export const CodeBlock = Base.extend({
  addNodeView() {
    return ({ node, editor, getPos }) => {
      const field: HTMLInputElement = element("input", {
        class: "code-language",
        type: "text",
        "aria-label": _("Language of the code"),
        placeholder: _("Language"),
        maxlength: "40",
        spellcheck: "false",
        autocomplete: "off",
        change: () => setLanguage(field.value.trim()),
        keydown: (event: KeyboardEvent) => {
          if (event.key !== "Enter" && event.key !== "Escape") return;
          event.preventDefault();
          setLanguage(field.value.trim());
          writeOn();
        },
      });
      field.value = (node.attrs.language as string | null) ?? "";
      const contentDOM = element("code");
      const dom = element(
        "div",
        { class: "code-block" },
        element("span", { contenteditable: "false", class: "code-bar" }, field),
        element("pre", { spellcheck: "false" }, contentDOM),
      );
      const setLanguage = (value: string): void => {
        const at = getPos();
        if (at === undefined) return;
        const language = LANGUAGE.test(value) ? value : null;
        field.value = language ?? "";
        editor.view.dispatch(editor.state.tr.setNodeAttribute(at, "language", language));
      };
      /** In the code, wherever the caret was before. */
      const writeOn = (): void => {
        const { selection, tr } = editor.state;
        const inside = dom.contains(editor.view.domAtPos(selection.head).node);
        const end = editor.view.posAtDOM(contentDOM, contentDOM.childNodes.length);
        if (!inside) editor.view.dispatch(tr.setSelection(TextSelection.create(tr.doc, end)));
        editor.view.focus();
      };
      return {
        dom,
        contentDOM,
        stopEvent: (event) => event.target === field,
        ignoreMutation: (mutation) => !contentDOM.contains(mutation.target),
        update: (updated) => {
          if (updated.type.name !== "codeBlock") return false;
          if (document.activeElement !== field) field.value = (updated.attrs.language as string | null) ?? "";
          return true;
        },
      };
    };
  },
});
