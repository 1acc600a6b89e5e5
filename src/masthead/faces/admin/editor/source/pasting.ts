// What is pasted: pictures of the clipboard are uploaded, Markdown becomes what it means.

import type { Command as EditorCommand, Editor } from "@tiptap/core";
import { closeHistory } from "@tiptap/pm/history";
import { Fragment, Slice } from "@tiptap/pm/model";
import { looksLikeMarkdown } from "./documents.ts";
import { cleanPaste } from "./paste.ts";
import { uploadLocalPictures } from "./uploads.ts";
import type { UploadTarget } from "./uploads.ts";

/** The HTML that the server makes of Markdown, or null where it can't be asked. */
export type Convert = (text: string) => Promise<string | null>;

/** True where it is dealt with here. Without `convert`, Markdown stays the text that it is. */
export function pasted(
  editor: Editor,
  event: ClipboardEvent,
  uploads: UploadTarget | null,
  convert: Convert | null,
): boolean {
  const html = event.clipboardData?.getData("text/html") ?? "";
  if (html) {
    if (uploads && html.includes("data:")) setTimeout(() => void uploadLocalPictures(editor, uploads));
    return false;
  }
  const text = event.clipboardData?.getData("text/plain") ?? "";
  if (!convert || editor.isActive("codeBlock") || !looksLikeMarkdown(text)) return false;
  void pasteMarkdown(editor, text, convert);
  return true;
}

/** The text stands there at once; what the server makes of it replaces it, and one undo restores it. */
async function pasteMarkdown(editor: Editor, text: string, convert: Convert): Promise<void> {
  const { from } = editor.state.selection;
  insertPlain(editor, text);
  const before = editor.state.doc;
  const to = editor.state.selection.to;
  const html = await convert(text);
  // Typed on meanwhile: the text stays as it is. Without the server as well, which is true, too.
  if (!html || !editor.state.doc.eq(before)) return;
  const separately: EditorCommand = ({ tr }) => Boolean(closeHistory(tr));
  editor.chain().command(separately).focus().insertContentAt({ from, to }, cleanPaste(html)).run();
}

/** Not as a paste, which would already turn some of the marks into formatting. */
function insertPlain(editor: Editor, text: string): void {
  const { view } = editor;
  const { schema, tr } = view.state;
  const paragraphs = text
    .split(/[\r\n]+/)
    .filter(Boolean)
    .map((line) => schema.nodes.paragraph.create(null, schema.text(line)));
  view.dispatch(tr.replaceSelection(new Slice(Fragment.from(paragraphs), 1, 1)).scrollIntoView());
}
