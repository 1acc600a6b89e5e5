// The document's nodes and marks: those that the server renders (content/texts/editor.py), and no others.

import { Extension, Node, mergeAttributes } from "@tiptap/core";
import type { AnyExtension } from "@tiptap/core";
import { Highlight } from "@tiptap/extension-highlight";
import { Image } from "@tiptap/extension-image";
import { Link } from "@tiptap/extension-link";
import { TaskItem, TaskList } from "@tiptap/extension-list";
import { Subscript } from "@tiptap/extension-subscript";
import { Superscript } from "@tiptap/extension-superscript";
import { Table, TableCell, TableHeader, TableRow } from "@tiptap/extension-table";
import { Placeholder } from "@tiptap/extensions";
import StarterKit from "@tiptap/starter-kit";
import { cardNode } from "./cards/card.ts";
import { CARDS } from "./cards/catalog.ts";
import { PastedAddress } from "./cards/pasted_address.ts";
import { CodeBlock } from "./code_block.ts";
import { Figure } from "./figure.ts";
import { _ } from "./words.ts";

/** Alignment is part of imported documents: it stays, and nothing offers it. */
const ALIGNED = ["paragraph", "heading"];
const ALIGNMENTS = ["left", "center", "right", "justify"];

const Alignment = Extension.create({
  name: "alignment",
  addGlobalAttributes() {
    return [
      {
        types: ALIGNED,
        attributes: {
          textAlign: {
            default: null,
            parseHTML: (element: HTMLElement) => {
              const given = /text-align:\s*(\w+)/.exec(element.getAttribute("data-css") ?? "")?.[1] ?? "";
              return ALIGNMENTS.includes(given) ? given : null;
            },
            renderHTML: ({ textAlign }: Record<string, unknown>) =>
              textAlign ? { class: `align-${String(textAlign)}` } : {},
          },
        },
      },
    ];
  },
});

/** Footnotes are items of a list, which links in the text point at; each points back. */
const ANCHOR = /^fn(?:ref)?-[0-9]{1,6}(?:-[0-9]{1,6})?$/;

const Anchor = Extension.create({
  name: "anchor",
  addGlobalAttributes() {
    return [
      {
        types: ["listItem", "link"],
        attributes: {
          id: {
            default: null,
            // A second line of a note is no second note.
            keepOnSplit: false,
            parseHTML: (element: HTMLElement) => {
              const given = element.getAttribute("id") ?? "";
              return ANCHOR.test(given) ? given : null;
            },
          },
        },
      },
    ];
  },
});

/** The start of the part that only those may read whom the post is for. */
const Paywall = Node.create({
  name: "paywall",
  group: "block",
  atom: true,
  selectable: true,
  parseHTML: () => [{ tag: "hr.paywall", priority: 60 }],
  renderHTML: ({ HTMLAttributes }) => ["hr", mergeAttributes(HTMLAttributes, { class: "paywall" })],
  addNodeView: () => () => {
    const dom = document.createElement("div");
    dom.className = "paywall";
    dom.contentEditable = "false";
    dom.append(_("Members only from here"));
    return { dom };
  },
});

/** Without the widths of columns, which the server drops. */
const PlainTable = Table.extend({
  renderHTML: () => ["table", ["tbody", 0]],
});

const InlineImage = Image.extend({
  addAttributes() {
    const number = (name: string) => ({
      default: null,
      parseHTML: (element: HTMLElement) => Number(element.getAttribute(name)) || null,
    });
    return {
      src: { default: null },
      alt: { default: null },
      title: { default: null },
      width: number("width"),
      height: number("height"),
    };
  },
});

export function extensions(placeholder: string): AnyExtension[] {
  return [
    StarterKit.configure({
      codeBlock: false,
      trailingNode: false,
      heading: { levels: [1, 2, 3, 4, 5, 6] },
      dropcursor: { color: false, class: "drop-line" },
      link: false,
    }),
    // What is written after a link is no part of it.
    Link.extend({ inclusive: false }).configure({
      openOnClick: false,
      autolink: true,
      linkOnPaste: true,
      defaultProtocol: "https",
      HTMLAttributes: { target: null, rel: null, class: null },
    }),
    CodeBlock,
    Highlight,
    Subscript,
    Superscript,
    TaskList,
    TaskItem.configure({ nested: true }),
    PlainTable.configure({ resizable: false }),
    TableRow,
    TableHeader,
    TableCell,
    // Pictures in pasted text are uploaded right after the paste.
    InlineImage.configure({ inline: true, allowBase64: true }),
    Figure,
    ...CARDS.map(cardNode),
    PastedAddress,
    Paywall,
    Alignment,
    Anchor,
    Placeholder.configure({ placeholder, showOnlyWhenEditable: true }),
  ];
}
