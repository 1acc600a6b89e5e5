// A block that is inserted, and the caret below it.

import type { Node as DocumentNode } from "@tiptap/pm/model";
import { TextSelection } from "@tiptap/pm/state";
import type { Transaction } from "@tiptap/pm/state";

/** The end of the block of the document that `at` is in. */
export function blockEnd(doc: DocumentNode, at: number): number {
  const position = doc.resolve(Math.min(at, doc.content.size));
  return position.depth ? position.after(1) : position.pos;
}

/** In place of an empty paragraph or below the block, and one writes on after it: selected, the next key
 * would replace it. */
export function insertBelow(transaction: Transaction, at: number, block: DocumentNode): Transaction {
  const end = blockEnd(transaction.doc, at);
  const before = transaction.doc.resolve(end).nodeBefore;
  const isEmpty = before?.type.name === "paragraph" && !before.content.size;
  const start = isEmpty ? end - before.nodeSize : end;
  transaction.replaceWith(start, end, block);
  const below = start + block.nodeSize;
  const after = transaction.doc.resolve(below).nodeAfter;
  // What is written into a figure is its caption.
  const isText = after?.isTextblock && after.type !== block.type.schema.nodes.figure;
  if (!isText) transaction.insert(below, block.type.schema.nodes.paragraph.create());
  return transaction.setSelection(TextSelection.create(transaction.doc, below + 1)).scrollIntoView();
}
