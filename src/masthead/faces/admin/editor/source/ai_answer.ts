// What the AI has written, as a part of the document: its Markdown is formatting, its links and
// pictures are those that were sent, and what is missing of them is said.

import { DOMParser as DocumentParser, Fragment } from "@tiptap/pm/model";
import type { Node as DocumentNode, Schema } from "@tiptap/pm/model";
import { cleanPaste } from "./paste.ts";
import type { Sent } from "./markdown.ts";
import { _, counted } from "./words.ts";

export interface Answer {
  content: Fragment;
  /** Sentences about what the selection has and the answer has not, and the other way round. */
  notes: string[];
}

/** Of code, which has no formatting, and which models like to put into a fence of their own. */
export function codeAnswer(text: string, schema: Schema): Answer {
  const code = /^(`{3,})[^\n`]*\n([\s\S]*?)\n?\1$/.exec(text)?.[2] ?? text;
  const block = schema.nodes.codeBlock.create(null, code ? schema.text(code) : null);
  return { content: Fragment.from(block), notes: [] };
}

/** Plain paragraphs, where the server can't be asked what the marks mean. */
export function plainAnswer(text: string, schema: Schema): Answer {
  const paragraphs = text
    .trim()
    .split(/\n{2,}/)
    .map((each) => schema.nodes.paragraph.create(null, lines(each, schema)));
  return { content: Fragment.from(paragraphs), notes: [] };
}

/** `html` is what the server has made of the answer; `asked` is all that was sent. */
export function formattedAnswer(html: string, sent: Sent, asked: string, schema: Schema): Answer {
  const body = new DOMParser().parseFromString(cleanPaste(html), "text/html").body;
  const seen = { links: new Set<number>(), pictures: new Set<number>(), blocks: new Set<number>() };
  const madeUp = links(body, sent, asked, seen.links) + pictures(body, sent, seen.pictures);
  const parsed = DocumentParser.fromSchema(schema).parse(body).content;
  const content = withBlocks(parsed, sent, schema, seen.blocks);
  const lost = sent.links.length - seen.links.size;
  const lostBlocks = sent.blocks.length - seen.blocks.size + sent.pictures.length - seen.pictures.size;
  const notes = [
    lost > 0 ? counted("A link of the selection is missing.", "%(number)s links of the selection are missing.", lost) : "",
    lostBlocks > 0
      ? counted(
          "A picture, table or embed of the selection is missing.",
          "%(number)s pictures, tables or embeds of the selection are missing.",
          lostBlocks,
        )
      : "",
    madeUp ? _("Addresses that the AI made up are left out.") : "",
  ];
  return { content, notes: notes.filter(Boolean) };
}

/** Returns how many had an address that was not sent: their words stay. */
function links(body: HTMLElement, sent: Sent, asked: string, seen: Set<number>): number {
  let madeUp = 0;
  for (const each of body.querySelectorAll("a")) {
    const href = each.getAttribute("href") ?? "";
    const attributes = numbered(href, "link", sent.links, seen);
    if (attributes) set(each, attributes);
    else if (!href || !/^https?:/i.test(href) || !asked.includes(href)) {
      each.replaceWith(...each.childNodes);
      madeUp += 1;
    }
  }
  return madeUp;
}

/** A picture that was not sent would be fetched from wherever the answer says. */
function pictures(body: HTMLElement, sent: Sent, seen: Set<number>): number {
  let madeUp = 0;
  for (const each of body.querySelectorAll("img, iframe, figure, [data-embed]")) {
    const attributes = numbered(each.getAttribute("src") ?? "", "picture", sent.pictures, seen);
    if (attributes) set(each, attributes);
    else if (each.tagName !== "FIGURE" || !each.querySelector("img[src^='picture-']")) {
      each.remove();
      madeUp += 1;
    }
  }
  return madeUp;
}

function numbered<T>(text: string, name: string, all: T[], seen: Set<number>): T | undefined {
  const number = Number(new RegExp(`^${name}-(\\d{1,6})$`).exec(text)?.[1] ?? 0);
  const found = number ? all[number - 1] : undefined;
  if (found) seen.add(number);
  return found;
}

function set(element: Element, attributes: Record<string, unknown>): void {
  for (const name of element.getAttributeNames()) element.removeAttribute(name);
  for (const [name, value] of Object.entries(attributes)) {
    if (value !== null && value !== undefined && value !== "") element.setAttribute(name, String(value));
  }
}

const BLOCK = /\{\{(\d{1,6})\}\}/;
const BLOCKS = new RegExp(BLOCK, "g");

/** The blocks that were sent as marks stand in their places again, each once. */
function withBlocks(content: Fragment, sent: Sent, schema: Schema, seen: Set<number>): Fragment {
  if (!sent.blocks.length) return content;
  const made: DocumentNode[] = [];
  content.forEach((node) => {
    const number = Number(BLOCK.exec(node.textContent)?.[1] ?? 0);
    const block = sent.blocks[number - 1];
    if (!number || !block || node.type.spec.code) made.push(node);
    else if (!node.isTextblock) made.push(node.copy(withBlocks(node.content, sent, schema, seen)));
    else {
      const rest = withoutMarks(node);
      if (rest.content.size) made.push(rest);
      if (!seen.has(number)) made.push(schema.nodeFromJSON(block));
      seen.add(number);
    }
  });
  return Fragment.from(made);
}

function withoutMarks(node: DocumentNode): DocumentNode {
  const kept: DocumentNode[] = [];
  node.forEach((child) => {
    const text = child.text?.replace(BLOCKS, "");
    if (text === undefined) kept.push(child);
    else if (text.trim()) kept.push(child.type.schema.text(text, child.marks));
  });
  return node.copy(Fragment.from(kept));
}

function lines(text: string, schema: Schema): DocumentNode[] {
  return text.split("\n").flatMap((line, index) => [
    ...(index ? [schema.nodes.hardBreak.create()] : []),
    ...(line ? [schema.text(line)] : []),
  ]);
}
