// Snippets: parts of a text that are stored on the server, inserted from the slash menu and saved from the
// selection.

import type { Editor } from "@tiptap/core";
import { Fragment, Node as DocumentNode } from "@tiptap/pm/model";
import type { Calls } from "./calls.ts";
import { blockEnd } from "./below.ts";
import type { Command } from "./commands.ts";
import { button, element } from "./elements.ts";
import { leave, show } from "./dialogs.ts";
import { tidied } from "./documents.ts";
import type { JsonNode } from "./documents.ts";
import { Picker, foundAt } from "./picker.ts";
import { _ } from "./words.ts";

export interface Snippets {
  url: string;
  /** This person may save some. */
  saves: boolean;
  calls: () => Calls;
}

export function snippetCommands(snippets: Snippets): Command[] {
  const insert: Command = {
    label: _("Snippet…"),
    icon: "copy",
    words: _("reuse part template"),
    run: (editor) => choose(editor, snippets),
  };
  const save: Command = {
    label: _("Save as a snippet…"),
    icon: "copy",
    words: _("reuse"),
    run: (editor) => askName(editor, snippets),
  };
  return snippets.saves ? [insert, save] : [insert];
}

function choose(editor: Editor, snippets: Snippets): void {
  const problem = element("p", { class: "hint hint-bad", role: "alert" });
  const picker = new Picker(
    _("Name"),
    {},
    (words) => foundAt(snippets.calls(), `${snippets.url}/found`, words),
    ({ id = "" }) => {
      void snippets
        .calls()
        .get(`${snippets.url}/document?id=${encodeURIComponent(id)}`)
        .then((body) => {
          const document = body?.content_json as JsonNode | undefined;
          if (!document) {
            problem.textContent = _("The snippet can’t be read now. Try again in a moment.");
            return;
          }
          leave(dialog);
          insertDocument(editor, document);
        });
    },
  );
  const manage = element("a", { class: "link", href: snippets.url, target: "_blank" }, _("All snippets"));
  const cancel = button(_("Cancel"), () => leave(dialog));
  const dialog = show(
    _("Insert a snippet"),
    [picker.row, problem, element("div", { class: "actions" }, manage, cancel)],
    () => editor.view.focus(),
  );
  void picker.ask();
}

/** In place of an empty paragraph, or below the block. One writes on after it. */
function insertDocument(editor: Editor, document: JsonNode): void {
  const { schema, selection, doc } = editor.state;
  const content = Fragment.from((document.content ?? []).map((each) => DocumentNode.fromJSON(schema, each)));
  const end = blockEnd(doc, selection.from);
  const before = doc.resolve(end).nodeBefore;
  const isEmpty = before?.type.name === "paragraph" && !before.content.size;
  const start = isEmpty ? end - before.nodeSize : end;
  const tr = editor.state.tr.replaceWith(start, end, content);
  const last = start + content.size;
  if (!tr.doc.resolve(last).nodeAfter?.isTextblock) tr.insert(last, schema.nodes.paragraph.create());
  editor.view.dispatch(tr);
  editor.commands.setTextSelection(last + 1);
  editor.view.focus();
}

/** The blocks that the selection touches; words of one block are a paragraph. */
function selected(editor: Editor): JsonNode[] {
  const { from, to, empty } = editor.state.selection;
  if (empty) return [];
  const found = tidied({ type: "doc", content: editor.state.doc.slice(from, to, true).content.toJSON() as JsonNode[] });
  const isWords = found.content?.every((each) => each.type === "text" || each.type === "hardBreak");
  return isWords ? [{ type: "paragraph", content: found.content }] : (found.content ?? []);
}

function askName(editor: Editor, snippets: Snippets): void {
  const content = selected(editor);
  const said = element("p", { class: "hint", role: "alert" });
  const input = element("input", { class: "input", id: "mh-snippet-name", type: "text", maxlength: "100", autocomplete: "off" });
  const save = element("button", { class: "btn btn-s btn-primary", type: "submit" }, _("Save"));
  const submit = async (event: SubmitEvent): Promise<void> => {
    event.preventDefault();
    const sent = JSON.stringify({ name: input.value, content_json: { type: "doc", content } });
    const { status, body } = await snippets.calls().post(`${snippets.url}/save`, sent);
    if (status === 200) {
      leave(dialog);
      return;
    }
    const problems = Object.values((body.problems ?? {}) as Record<string, string>);
    said.textContent = problems[0] ?? _("The snippet was not saved. Try again in a moment.");
    said.classList.add("hint-bad");
    input.focus();
  };
  const form = element(
    "form",
    { class: "stack", submit: (event: SubmitEvent) => void submit(event) },
    element("div", { class: "field" }, element("label", { for: input.id }, _("Name")), input),
    said,
    element("div", { class: "actions" }, button(_("Cancel"), () => leave(dialog)), save),
  );
  if (!content.length) {
    save.disabled = true;
    said.textContent = _("Select the part of the text first that you want to use again.");
  }
  const dialog = show(_("Save as a snippet"), [form], () => editor.view.focus());
  input.focus();
}
