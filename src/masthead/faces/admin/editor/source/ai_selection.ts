// What is sent to the AI provider of the text that is selected.

import type { Editor } from "@tiptap/core";
import type { JsonNode } from "./documents.ts";
import { toMarkdown } from "./markdown.ts";
import type { Sent } from "./markdown.ts";

export type Action = "rewrite" | "summarize" | "translate" | "generate";

export interface Selected {
  from: number;
  to: number;
  sent: Sent;
  /** Code has no formatting: neither what is sent nor what comes back is Markdown. */
  isCode: boolean;
  /** Within one paragraph: a short answer stays in it. */
  isInline: boolean;
}

/** What stands in the text below a summary or new words stays: of it only the words are sent. */
export function selected(editor: Editor, action: Action): Selected {
  const { doc, selection } = editor.state;
  const { from, to, $from, $to } = selection;
  const isInline = $from.sameParent($to) && $from.parent.isTextblock;
  const isCode = isInline && Boolean($from.parent.type.spec.code);
  const { content } = isInline ? $from.parent.cut($from.parentOffset, $to.parentOffset) : doc.slice(from, to);
  const keepsFormatting = (action === "rewrite" || action === "translate") && !isCode;
  const sent = keepsFormatting
    ? toMarkdown((content.toJSON() ?? []) as JsonNode[])
    : { markdown: doc.textBetween(from, to, "\n\n", "\n"), links: [], pictures: [], blocks: [] };
  return { from, to, sent, isCode, isInline };
}
