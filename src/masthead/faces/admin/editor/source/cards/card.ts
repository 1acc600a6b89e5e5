// What the cards of a text have in common: a node with attributes, a view with their fields, and the
// command that inserts it. Each card is one file here; the server's declaration is in content/cards/.

import { Node, mergeAttributes } from "@tiptap/core";
import type { Editor, NodeViewRenderer } from "@tiptap/core";
import type { Node as DocumentNode } from "@tiptap/pm/model";
import { insertBelow } from "../below.ts";
import type { Command } from "../commands.ts";
import { button, element, icon } from "../elements.ts";
import { shownAddress } from "../figure.ts";
import { send } from "../uploads.ts";
import type { UploadTarget } from "../uploads.ts";
import { REQUIRED, isMissing } from "./required.ts";
import { _, listed } from "../words.ts";

export type Values = Record<string, unknown>;

export interface Field {
  name: string;
  label: string;
  placeholder?: string;
  /** `long`: several lines. */
  kind?: "text" | "url" | "long";
}

export const TITLE: Field = { name: "title", label: _("Title") };
export const CAPTION: Field = { name: "caption", label: _("Caption") };
export const ADDRESS: Field = { name: "url", label: _("Address"), kind: "url", placeholder: "https://" };
export const SOURCE: Field = { name: "src", label: _("Address of the file"), kind: "url" };

/** What a card can ask of the page. Null is not offered. */
export interface CardTools {
  uploads: () => UploadTarget | null;
  /** The card of an address, with its title and its picture: asked by the server. */
  look: ((url: string) => Promise<{ type: string; attrs: Values } | null>) | null;
}

export interface CardDeclaration {
  name: string;
  label: string;
  icon: string;
  /** What the slash menu also finds it by. */
  words: string;
  fields: Field[];
  /** Attributes that no field shows. */
  others?: string[];
  /** It holds blocks. */
  holds?: boolean;
  /** A file that is chosen for it: the types, and the attributes that the stored one gives. */
  file?: { accept: string; multiple?: boolean; taken: (values: Values, stored: Stored) => Values };
  /** What it looks like. */
  show: (values: Values, change: (values: Values) => void) => (globalThis.Node | string)[];
}

export interface Stored {
  url: string;
  alt?: string | null;
  width?: number | null;
  height?: number | null;
  filename?: string;
  size?: number;
}

const shared: CardTools = { uploads: () => null, look: null };

export function useCardTools(tools: CardTools): void {
  Object.assign(shared, tools);
}

export function cardTools(): CardTools {
  return shared;
}

export function text(value: unknown): string {
  return typeof value === "string" ? value : "";
}

export function picture(source: unknown): HTMLElement | null {
  return source ? element("img", { src: shownAddress(text(source)), alt: "", draggable: "false" }) : null;
}

export function host(address: unknown): string {
  try {
    return new URL(text(address)).hostname.replace(/^www\./, "");
  } catch {
    return text(address);
  }
}

export function cardNode(card: CardDeclaration): Node {
  return Node.create({
    name: card.name,
    group: "block",
    atom: !card.holds,
    content: card.holds ? "block+" : "",
    draggable: true,
    isolating: true,
    defining: card.holds,
    addAttributes: () => Object.fromEntries(attributes(card).map((name) => [name, { default: null, rendered: false }])),
    // Copied and pasted within the editor.
    parseHTML: () => [
      {
        tag: `[data-card-node="${card.name}"]`,
        priority: 70,
        getAttrs: (found) => JSON.parse((found as HTMLElement).dataset.values ?? "{}") as Values,
      },
    ],
    renderHTML: ({ node, HTMLAttributes }) => {
      const about = { "data-card-node": card.name, "data-values": JSON.stringify(node.attrs) };
      const attributes = mergeAttributes(HTMLAttributes, about);
      return card.holds ? ["div", attributes, 0] : ["div", attributes];
    },
    addNodeView: () => view(card),
  });
}

function attributes({ fields, others = [] }: CardDeclaration): string[] {
  return [...fields.map(({ name }) => name), ...others];
}

export function cardCommand(card: CardDeclaration): Command {
  return { label: card.label, icon: card.icon, words: `card ${card.words}`, run: (editor) => insert(editor, card) };
}

const OPEN = "is-open";

function insert(editor: Editor, card: CardDeclaration): void {
  const { schema, selection, tr } = editor.state;
  const inside = card.holds ? schema.nodes.paragraph.create() : null;
  const node = schema.nodes[card.name].create(null, inside);
  opening = node;
  editor.view.dispatch(insertBelow(tr, selection.from, node));
}

/** The card that was just inserted: its first field gets the focus. */
let opening: DocumentNode | null = null;

let count = 0;

function view(card: CardDeclaration): NodeViewRenderer {
  return ({ node, editor, getPos }) => {
    let current = node;
    const change = (values: Values): void => {
      const at = getPos();
      if (at === undefined) return;
      const attrs = { ...current.attrs, ...values };
      editor.view.dispatch(editor.state.tr.setNodeMarkup(at, null, attrs));
    };
    const shown = element("div", { class: "card-shown" });
    const said = element("p", { class: "card-said hint", role: "status" });
    const inputs = card.fields.map((field) => fieldOf(field, (value) => change({ [field.name]: value || null })));
    const controls = element("div", { class: "card-fields" }, ...inputs.map(({ row }) => row));
    if (card.file) controls.append(chooser(card, () => current.attrs, change, (sentence) => (said.textContent = sentence)));
    const contentDOM = card.holds ? element("div", { class: "card-inside" }) : null;
    const toggle: HTMLButtonElement = element(
      "button",
      { type: "button", class: "btn btn-s btn-quiet card-edit", click: () => open(!dom.classList.contains(OPEN)) },
      icon(card.icon),
      card.label,
      icon("chevron-down"),
    );
    const remove = button(_("Remove"), () => {
      const at = getPos();
      if (at === undefined) return;
      editor.view.dispatch(editor.state.tr.delete(at, at + current.nodeSize));
      editor.view.focus();
    }, "quiet");
    const head = element("div", { class: "card-head" }, toggle, remove);
    const around = element("div", { contenteditable: "false" }, head, controls, said, shown);
    const dom: HTMLElement = element("div", { class: `card-node card-${card.name}` }, around, contentDOM);

    const open = (isOpen: boolean): void => {
      dom.classList.toggle(OPEN, isOpen);
      toggle.setAttribute("aria-expanded", String(isOpen));
    };
    const draw = (): void => {
      const values = current.attrs as Values;
      for (const { field, input } of inputs) {
        if (document.activeElement !== input) input.value = text(values[field.name]);
      }
      const lacks = missing(card, values);
      dom.classList.toggle("is-incomplete", lacks.length > 0);
      said.textContent = lacks.length ? _("Not saved yet: %(fields)s missing.", { fields: listed(lacks) }) : "";
      shown.replaceChildren(...card.show(values, change));
    };
    draw();
    open(node === opening || missing(card, node.attrs).length > 0);
    if (node === opening) {
      opening = null;
      const first = controls.querySelector<HTMLElement>("input, textarea, button");
      requestAnimationFrame(() => first?.focus());
    }
    controls.addEventListener("keydown", (event) => {
      const isDone = event.key === "Escape" || (event.key === "Enter" && event.target instanceof HTMLInputElement);
      if (!isDone) return;
      event.preventDefault();
      const at = getPos();
      if (at === undefined) return;
      open(missing(card, current.attrs).length > 0);
      const to = card.holds ? at + 2 : at + current.nodeSize;
      // At once: the command of the editor waits for the next frame, and the first keys would be lost.
      editor.commands.setTextSelection(Math.min(to, editor.state.doc.content.size));
      editor.view.focus();
    });
    return {
      dom,
      contentDOM,
      stopEvent: (event) => around.contains(event.target as globalThis.Node) && !/^drag/.test(event.type),
      ignoreMutation: (mutation) => !contentDOM?.contains(mutation.target) || mutation.type === "attributes",
      update: (updated) => {
        if (updated.type !== current.type) return false;
        const isSame = updated.attrs === current.attrs;
        current = updated;
        if (!isSame) draw();
        return true;
      },
      selectNode: () => dom.classList.add("is-selected"),
      deselectNode: () => dom.classList.remove("is-selected"),
    };
  };
}

/** The labels of what is required and not there. */
export function missing(card: CardDeclaration, values: Values): string[] {
  const lacks = REQUIRED[card.name].filter((name) => isMissing(values[name]));
  return lacks.map((name) => card.fields.find((field) => field.name === name)?.label ?? _("the file"));
}

function fieldOf(field: Field, changed: (value: string) => void) {
  count += 1;
  const id = `mh-card-${count}`;
  const attributes = { id, class: field.kind === "long" ? "area" : "input", placeholder: field.placeholder ?? null };
  const input =
    field.kind === "long"
      ? element("textarea", { ...attributes, rows: "6", spellcheck: "false" })
      : element("input", { ...attributes, type: "text", inputmode: field.kind === "url" ? "url" : null });
  input.addEventListener("input", () => changed(input.value));
  return { field, input, row: element("div", { class: "field" }, element("label", { for: id }, field.label), input) };
}

/** A button that uploads files into the library. */
function chooser(
  card: CardDeclaration,
  values: () => Values,
  change: (values: Values) => void,
  say: (sentence: string) => void,
): HTMLElement {
  const { file } = card;
  const choose = element("input", {
    type: "file",
    accept: file?.accept ?? "",
    multiple: file?.multiple ?? false,
    hidden: true,
    change: () => void upload(),
  });
  const upload = async (): Promise<void> => {
    const target = shared.uploads();
    if (!target || !file) return;
    for (const each of [...(choose.files ?? [])]) {
      try {
        const stored = (await send(target, each, (share) => say(`${each.name}: ${Math.round(share * 100)} %`))) as Stored;
        change(file.taken(values(), { ...stored, filename: each.name, size: each.size }));
      } catch (error) {
        say(_("%(file)s was not uploaded: %(reason)s", { file: each.name, reason: (error as Error).message }));
        return;
      }
    }
    choose.value = "";
  };
  return element("div", { class: "actions" }, choose, button(file?.multiple ? _("Add pictures…") : _("Upload a file…"), () => choose.click()));
}
