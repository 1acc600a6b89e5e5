// The editor's document as JSON: comparing two, reading their text.

import { REQUIRED, isMissing } from "./cards/required.ts";
import { _, counted, numberText } from "./words.ts";

export interface JsonNode {
  type?: string;
  text?: string;
  attrs?: Record<string, unknown>;
  marks?: { type: string; attrs?: Record<string, unknown> }[];
  content?: JsonNode[];
}

const ATTRIBUTES: Record<string, readonly string[]> = {
  paragraph: ["textAlign"],
  heading: ["level", "textAlign"],
  orderedList: ["start"],
  taskItem: ["checked"],
  codeBlock: ["language"],
  tableHeader: ["colspan", "rowspan"],
  tableCell: ["colspan", "rowspan"],
  image: ["src", "alt", "title", "width", "height"],
  figure: ["src", "alt", "title", "width", "height", "href", "layout", "crop"],
  link: ["href", "title", "target", "rel"],
};

/** What is sent: only the attributes that the server renders, none that is empty, no picture that
 * only this browser has, and no card that lacks what it needs. */
export function tidied(node: JsonNode): JsonNode {
  const made: JsonNode = { type: node.type };
  const attributes = tidiedAttributes(node);
  if (attributes) made.attrs = attributes;
  if (node.text !== undefined) made.text = node.text;
  if (node.marks) made.marks = node.marks.map((mark) => tidied(mark) as { type: string });
  if (node.content) made.content = node.content.filter((child) => !isLocalPicture(child) && !isIncomplete(child)).map(tidied);
  return made;
}

function tidiedAttributes(node: JsonNode): Record<string, unknown> | undefined {
  const type = node.type ?? "";
  const allowed = type in REQUIRED ? Object.keys(node.attrs ?? {}) : (ATTRIBUTES[type] ?? []);
  const found = Object.entries(node.attrs ?? {}).filter(
    ([name, value]) => allowed.includes(name) && !isNothing(value) && value !== "",
  );
  return found.length ? Object.fromEntries(found) : undefined;
}

/** The same for equal values, whatever the order of their keys, and with or without empty ones. */
export function fingerprint(value: unknown): string {
  const text = JSON.stringify(value, (_key, given: unknown) => {
    if (!given || typeof given !== "object" || Array.isArray(given)) return given ?? undefined;
    const entries = Object.entries(given).filter(([, each]) => !isNothing(each));
    return Object.fromEntries(entries.sort(([one], [other]) => (one < other ? -1 : 1)));
  });
  return `${text.length}-${hash(text, 1)}-${hash(text, 2)}`;
}

/** FNV-1a with a seed; enough to tell a text from its next version. */
function hash(text: string, seed: number): string {
  let value = 0x811c9dc5 ^ seed;
  for (let at = 0; at < text.length; at += 1) value = Math.imul(value ^ text.charCodeAt(at), 0x01000193 + seed * 2);
  return (value >>> 0).toString(36);
}

function isNothing(value: unknown): boolean {
  return value === null || value === undefined;
}

/** The text of each block that has some, in order. */
export function blocks(document: unknown): string[] {
  const found: string[] = [];
  collect(document as JsonNode, found);
  return found;
}

function collect(node: JsonNode | null, found: string[]): void {
  if (!node) return;
  const children = node.content ?? [];
  if (node.type && node.type in REQUIRED) found.push(cardText(node));
  if (node.type === "figure") {
    const alt = typeof node.attrs?.alt === "string" ? node.attrs.alt : "";
    found.push([_("Picture"), alt, textOf(node)].filter(Boolean).join(": "));
    return;
  }
  if (children.some((child) => child.type === "text")) {
    found.push(textOf(node));
    return;
  }
  for (const child of children) collect(child, found);
}

function cardText(node: JsonNode): string {
  const values = Object.values(node.attrs ?? {}).filter((value) => typeof value === "string" && value);
  return [node.type, ...values].join(": ");
}

function textOf(node: JsonNode): string {
  if (node.type === "text") return node.text ?? "";
  if (node.type === "hardBreak") return "\n";
  return (node.content ?? []).map(textOf).join("");
}

// As the site counts it (features/posts/site.py).
const CHARACTERS_A_MINUTE = 1_300;

export function countWords(text: string): number {
  // Characters of languages without spaces count singly.
  const spaced = text.replace(/[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}]/gu, " x ");
  return spaced.match(/[\p{L}\p{N}][\p{L}\p{N}'’\-_.]*/gu)?.length ?? 0;
}

export function lengthSentence(text: string): string {
  const words = countWords(text);
  if (!words) return _("No words yet");
  const minutes = Math.max(1, Math.round(text.length / CHARACTERS_A_MINUTE));
  return counted("%(number)s word, %(minutes)s min", "%(number)s words, %(minutes)s min", words, { minutes: numberText(minutes) });
}

/** Whether a plain text is likely to be Markdown: marks that prose does not have. */
export function looksLikeMarkdown(text: string): boolean {
  const block = /^(#{1,6} \S|```|~~~|> \S|[-*+] \S|\d{1,3}[.)] \S|\|.+\|\s*$)/m;
  const inline = /\*\*\S(.|\n)*?\S\*\*|\[[^\]\n]+\]\([^)\s]+\)|(^|\s)`[^`\n]+`|(^|\s)__\S.*?\S__/;
  return block.test(text) || inline.test(text);
}

/** An address alone, as one pastes it to show what is there. */
export function isAddress(text: string): boolean {
  return /^https:\/\/[^\s<>"]{3,2000}$/.test(text.trim());
}

function isIncomplete(node: JsonNode): boolean {
  return (REQUIRED[node.type ?? ""] ?? []).some((name) => isMissing(node.attrs?.[name]));
}

function isLocalPicture(node: JsonNode): boolean {
  const source = node.attrs?.src;
  return typeof source === "string" && /^(blob|data|file):/i.test(source);
}
