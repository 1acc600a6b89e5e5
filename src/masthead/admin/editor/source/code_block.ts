// A block of code with a field for its language. Colours come from the site, not from here.

import { CodeBlock as Base } from "@tiptap/extension-code-block";
import { element } from "./elements.ts";

const LANGUAGE = /^[\w.+#-]{1,40}$/;

export const CodeBlock = Base.extend({
  addNodeView() {
    return ({ node, editor, getPos }) => {
      const field: HTMLInputElement = element("input", {
        class: "code-language",
        type: "text",
        "aria-label": "Language of the code",
        placeholder: "language",
        maxlength: "40",
        spellcheck: "false",
        autocomplete: "off",
        change: () => setLanguage(field.value.trim()),
        keydown: (event: KeyboardEvent) => {
          if (event.key !== "Enter") return;
          event.preventDefault();
          setLanguage(field.value.trim());
          editor.view.focus();
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
