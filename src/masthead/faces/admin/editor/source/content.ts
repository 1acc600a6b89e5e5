// What the editor opens: the stored document, or HTML that is read into one.

import { Editor, getSchema } from "@tiptap/core";
import { Node as DocumentNode } from "@tiptap/pm/model";
import { Selection } from "@tiptap/pm/state";
import type { EditorView } from "@tiptap/pm/view";
import type { JsonNode } from "./documents.ts";
import { lost } from "./losses.ts";
import type { Notices } from "./offers.ts";
import { cleanPaste } from "./paste.ts";
import { extensions } from "./schema.ts";
import { _, listed } from "./words.ts";

/** Null for a document that the editor would change by opening it. */
export function openedContent(documentId: string, html: string, notices: Notices): JsonNode | string | null {
  const data = document.getElementById(documentId)?.textContent;
  const stored = data?.trim() ? (JSON.parse(data) as JsonNode | null) : null;
  if (stored && isValid(stored)) return stored;
  if (stored) {
    notices.add("warn", _("The document of this text can’t be opened in the editor. Here is its HTML."));
    return null;
  }
  const losses = lost(html);
  if (losses.length) {
    notices.add("warn", _("If you save here, the text loses parts that the editor lacks: %(parts)s.", { parts: listed(losses) }), "losses");
  }
  return cleanPaste(html);
}

export function parsedHtml(html: string): JsonNode {
  const probe = new Editor({ element: null, extensions: extensions(""), content: cleanPaste(html), injectCSS: false });
  const found = probe.getJSON() as JsonNode;
  probe.destroy();
  return found;
}

function isValid(document: JsonNode): boolean {
  try {
    DocumentNode.fromJSON(getSchema(extensions("")), document).check();
    return true;
  } catch {
    return false;
  }
}

/** A click below a last block that is no text, such as a table, makes a paragraph there. */
export function belowTheText(view: EditorView, event: MouseEvent): boolean {
  const last = view.dom.lastElementChild;
  const { doc, schema, tr } = view.state;
  if (!last || !doc.lastChild || doc.lastChild.type === schema.nodes.paragraph) return false;
  if (event.target !== view.dom || event.clientY < last.getBoundingClientRect().bottom) return false;
  tr.insert(doc.content.size, schema.nodes.paragraph.create());
  view.dispatch(tr.setSelection(Selection.atEnd(tr.doc)));
  view.focus();
  return true;
}

/** At once, unlike the editor's own command, which waits for the next frame: the first keys that
 * are typed after it would be lost. */
export function focusStart(view: EditorView): void {
  view.dispatch(view.state.tr.setSelection(Selection.atStart(view.state.doc)).scrollIntoView());
  view.focus();
}
