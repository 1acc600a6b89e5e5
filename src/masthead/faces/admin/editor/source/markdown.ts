// A part of the document as Markdown, for the AI. Addresses and blocks that Markdown has no words
// for are sent as short marks, `link-1` and `{{1}}`: what comes back is put in their place again, so
// that no address is ever written by a program.

import type { JsonNode } from "./documents.ts";

type Attributes = Record<string, unknown>;

export interface Sent {
  markdown: string;
  /** The attributes of the links and pictures, and the blocks, each in the order of their numbers. */
  links: Attributes[];
  pictures: Attributes[];
  blocks: JsonNode[];
}

const MARKS: [string, string, string][] = [
  ["highlight", "<mark>", "</mark>"],
  ["underline", "<u>", "</u>"],
  ["subscript", "<sub>", "</sub>"],
  ["superscript", "<sup>", "</sup>"],
  ["bold", "**", "**"],
  ["italic", "*", "*"],
  ["strike", "~~", "~~"],
];
/** Where Markdown does not take the marks: beside a letter, with a sign of punctuation inside. */
const TAGS: Record<string, [string, string]> = {
  "**": ["<strong>", "</strong>"],
  "*": ["<em>", "</em>"],
  "~~": ["<s>", "</s>"],
};
const INNERMOST = ["code"];
const ORDER = ["link", ...MARKS.map(([name]) => name), ...INNERMOST];

export function toMarkdown(nodes: JsonNode[]): Sent {
  const writer = new Writer();
  const isInline = nodes.every((node) => node.type === "text" || node.type === "hardBreak" || node.type === "image");
  return { markdown: isInline ? writer.inline(nodes) : writer.blocks(nodes), ...writer.found };
}

class Writer {
  readonly found: Omit<Sent, "markdown"> = { links: [], pictures: [], blocks: [] };

  blocks(nodes: JsonNode[]): string {
    return nodes.map((node) => this.block(node)).join("\n\n");
  }

  private block(node: JsonNode): string {
    const content = node.content ?? [];
    switch (node.type) {
      case "paragraph":
        return lineStarts(this.inline(content));
      case "heading":
        return `${"#".repeat(Number(node.attrs?.level) || 2)} ${this.inline(content)}`;
      case "blockquote":
        return prefixed(this.blocks(content), "> ");
      case "bulletList":
        return this.list(content, () => "- ");
      case "orderedList":
        return this.list(content, (index) => `${(Number(node.attrs?.start) || 1) + index}. `);
      case "taskList":
        return this.list(content, (_, item) => `- [${item.attrs?.checked ? "x" : " "}] `);
      case "codeBlock":
        return code(content.map((each) => each.text ?? "").join(""), String(node.attrs?.language ?? ""));
      case "horizontalRule":
        return "---";
      default:
        return `{{${this.found.blocks.push(node)}}}`;
    }
  }

  private list(items: JsonNode[], bullet: (index: number, item: JsonNode) => string): string {
    const isTight = items.every((item) => (item.content ?? []).slice(1).every((each) => /List$/.test(each.type ?? "")));
    const written = items.map((item, index) => {
      const start = bullet(index, item);
      const inner = (item.content ?? []).map((each) => this.block(each)).join(isTight ? "\n" : "\n\n");
      const width = start.startsWith("- ") ? 2 : start.length;
      return start + prefixed(inner, " ".repeat(width)).slice(width);
    });
    return written.join(isTight ? "\n" : "\n\n");
  }

  inline(nodes: JsonNode[]): string {
    return this.marked(nodes, ORDER, "", "");
  }

  /** Groups what has the outermost mark in common, and writes the others inside of it. */
  private marked(nodes: JsonNode[], [name, ...rest]: string[], before: string, after: string): string {
    if (!name) return nodes.map((node) => this.leaf(node)).join("");
    let written = "";
    for (const run of runs(nodes, name)) {
      const last = nodes.indexOf(run.nodes[run.nodes.length - 1]);
      const next = (nodes[last + 1] ? textOf(nodes[last + 1]) : after).slice(0, 1);
      const previous = (written || before).slice(-1);
      if (!run.mark) written += this.marked(run.nodes, rest, previous, next);
      else if (name === "link") written += this.link(run.mark, this.marked(run.nodes, rest, "", ""));
      else if (name === "code") written += inlineCode(run.nodes.map(textOf).join(""));
      else written += around(name, this.marked(run.nodes, rest, "", ""), previous, next);
    }
    return written;
  }

  private link(attributes: Attributes, text: string): string {
    if (!text.trim()) return text;
    return outside(text, (inner) => `[${inner}](link-${this.found.links.push(attributes)})`);
  }

  private leaf(node: JsonNode): string {
    if (node.type === "hardBreak") return "\\\n";
    if (node.type === "image") {
      const alt = typeof node.attrs?.alt === "string" ? node.attrs.alt : "";
      return `![${escaped(alt)}](picture-${this.found.pictures.push(node.attrs ?? {})})`;
    }
    return escaped(node.text ?? "");
  }
}

function runs(nodes: JsonNode[], name: string): { mark: Attributes | null; nodes: JsonNode[] }[] {
  const found: { mark: Attributes | null; key: string; nodes: JsonNode[] }[] = [];
  for (const node of nodes) {
    const mark = node.marks?.find((each) => each.type === name);
    const key = mark ? JSON.stringify(mark) : "";
    const last = found.at(-1);
    if (last && last.key === key) last.nodes.push(node);
    else found.push({ mark: mark ? (mark.attrs ?? {}) : null, key, nodes: [node] });
  }
  return found;
}

function around(name: string, text: string, previous: string, next: string): string {
  const [, open, close] = MARKS.find(([each]) => each === name) as [string, string, string];
  return outside(text, (inner) => {
    const isBeside = /[\p{L}\p{N}]/u;
    const clashes =
      (isBeside.test(previous) && !isBeside.test(inner[0])) || (isBeside.test(next) && !isBeside.test(inner.slice(-1)));
    const [start, end] = (clashes && TAGS[open]) || [open, close];
    return start + inner + end;
  });
}

/** Marks stand close to their words: blanks stay outside. */
function outside(text: string, mark: (inner: string) => string): string {
  const [, before, inner, after] = /^(\s*)([\s\S]*?)(\s*)$/.exec(text) as unknown as string[];
  return inner ? before + mark(inner) + after : text;
}

function textOf(node: JsonNode): string {
  return node.type === "hardBreak" ? "\n" : (node.text ?? "");
}

function escaped(text: string): string {
  return text.replace(/[\\`*_~[\]<&]/g, "\\$&");
}

/** What would be a heading, a list or a quotation at the start of a line. */
function lineStarts(text: string): string {
  return text
    .split("\n")
    .map((line) => line.replace(/^(\s*)(#{1,6}(?=\s|$)|[-+>](?=\s|$)|={2,}|-{2,})/, "$1\\$2").replace(/^(\s*\d{1,9})([.)])(?=\s|$)/, "$1\\$2"))
    .join("\n");
}

function prefixed(text: string, prefix: string): string {
  return text
    .split("\n")
    .map((line) => (line ? prefix + line : prefix.trimEnd()))
    .join("\n");
}

function fence(text: string, least: number): string {
  const longest = Math.max(0, ...(text.match(/`+/g) ?? []).map((each) => each.length));
  return "`".repeat(Math.max(least, longest + 1));
}

function inlineCode(text: string): string {
  const marks = fence(text, 1);
  const pad = /^`|`$|^ .* $/.test(text) ? " " : "";
  return text ? marks + pad + text + pad + marks : "";
}

function code(text: string, language: string): string {
  const marks = fence(text, 3);
  return `${marks}${language}\n${text}\n${marks}`;
}
