// What the toolbar, the bubble and the slash menu can do, each once.

import type { Editor } from "@tiptap/core";
import { insertBelow } from "./below.ts";
import { cardCommand } from "./cards/card.ts";
import { CARDS } from "./cards/catalog.ts";
import { askLink } from "./dialogs.ts";
import type { FindLinks } from "./dialogs.ts";
import type { Group, Item } from "./menu.ts";
import { _ } from "./words.ts";

export interface Command {
  label: string;
  icon: string;
  keys?: string;
  /** What the slash menu also finds it by. */
  words?: string;
  run: (editor: Editor) => void;
  isActive?: (editor: Editor) => boolean;
}

function heading(level: 2 | 3 | 4): Command {
  return {
    label: level === 2 ? _("Heading") : level === 3 ? _("Smaller heading") : _("Smallest heading"),
    icon: "heading-2",
    keys: `Ctrl Alt ${level}`,
    words: `h${level} ${_("title section")}`,
    run: (editor) => editor.chain().focus().toggleHeading({ level }).run(),
    isActive: (editor) => editor.isActive("heading", { level }),
  };
}

function mark(label: string, icon: string, name: string, keys: string): Command {
  return {
    label,
    icon,
    keys,
    run: (editor) => editor.chain().focus().toggleMark(name).run(),
    isActive: (editor) => editor.isActive(name),
  };
}

export const HEADING = heading(2);
export const BOLD = mark(_("Bold"), "bold", "bold", "Ctrl B");
export const ITALIC = mark(_("Italic"), "italic", "italic", "Ctrl I");
export const CODE = mark(_("Code"), "code", "code", "Ctrl E");
let links: FindLinks | null = null;

/** What the dialog of a link searches. */
export function useLinks(find: FindLinks | null): void {
  links = find;
}

export const LINK: Command = {
  label: _("Link"),
  icon: "link",
  keys: "Ctrl K",
  run: (editor) => {
    // Code has no links.
    if (editor.isActive("codeBlock")) return;
    const current = String(editor.getAttributes("link").href ?? "");
    const set = (address: string | null, title?: string): void => {
      const chain = editor.chain().extendMarkRange("link");
      if (address === null) chain.unsetLink().run();
      else if (editor.state.selection.empty && !current) {
        const text = { type: "text", text: title ?? address, marks: [{ type: "link", attrs: { href: address } }] };
        // What is written after it is no part of it.
        chain.insertContent(text).unsetMark("link").run();
      } else chain.setLink({ href: address }).run();
    };
    askLink(current, links, set, () => editor.view.focus());
  },
  isActive: (editor) => editor.isActive("link"),
};
export const BULLETS: Command = {
  label: _("Bullets"),
  icon: "list",
  keys: "Ctrl Shift 8",
  words: _("list unordered"),
  run: (editor) => editor.chain().focus().toggleBulletList().run(),
  isActive: (editor) => editor.isActive("bulletList"),
};
export const NUMBERS: Command = {
  label: _("Numbers"),
  icon: "list-ordered",
  keys: "Ctrl Shift 7",
  words: _("list ordered"),
  run: (editor) => editor.chain().focus().toggleOrderedList().run(),
  isActive: (editor) => editor.isActive("orderedList"),
};
export const TASKS: Command = {
  label: _("Tasks"),
  icon: "check",
  keys: "Ctrl Shift 9",
  words: _("list todo checkbox"),
  run: (editor) => editor.chain().focus().toggleTaskList().run(),
  isActive: (editor) => editor.isActive("taskList"),
};
export const QUOTE: Command = {
  label: _("Quote"),
  icon: "quote",
  keys: "Ctrl Shift B",
  words: _("blockquote citation"),
  run: (editor) => editor.chain().focus().toggleBlockquote().run(),
  isActive: (editor) => editor.isActive("blockquote"),
};
export const CODE_BLOCK: Command = {
  label: _("Code block"),
  icon: "code",
  keys: "Ctrl Alt C",
  words: _("pre program"),
  run: (editor) => editor.chain().focus().toggleCodeBlock().run(),
  isActive: (editor) => editor.isActive("codeBlock"),
};
export const TABLE: Command = {
  label: _("Table"),
  icon: "table",
  words: _("rows columns"),
  run: (editor) => editor.chain().focus().insertTable({ rows: 3, cols: 3, withHeaderRow: true }).run(),
  isActive: (editor) => editor.isActive("table"),
};
export const DIVIDER: Command = {
  label: _("Divider"),
  icon: "minus",
  words: _("rule line hr"),
  run: (editor) => editor.chain().focus().setHorizontalRule().run(),
};
export const PAYWALL: Command = {
  label: _("Members only from here"),
  icon: "lock",
  words: _("paywall members"),
  run: (editor) => insertPaywall(editor),
};

function insertPaywall({ state, view }: Editor): void {
  const { schema, selection, tr } = state;
  view.dispatch(insertBelow(tr, selection.from, schema.nodes.paywall.create()));
  view.focus();
}

export const UNDO: Command = {
  label: _("Undo"),
  icon: "undo-2",
  keys: "Ctrl Z",
  run: (editor) => editor.chain().focus().undo().run(),
};
export const REDO: Command = {
  label: _("Redo"),
  icon: "redo-2",
  keys: "Ctrl Y",
  run: (editor) => editor.chain().focus().redo().run(),
};

const MORE = [
  heading(3),
  heading(4),
  mark(_("Underline"), "minus", "underline", "Ctrl U"),
  mark(_("Strike through"), "minus", "strike", "Ctrl Shift S"),
  mark(_("Highlight"), "minus", "highlight", "Ctrl Shift H"),
  mark(_("Subscript"), "arrow-down", "subscript", "Ctrl ,"),
  mark(_("Superscript"), "arrow-up", "superscript", "Ctrl ."),
  TASKS,
  CODE_BLOCK,
  PAYWALL,
];

export const BLOCKS = [HEADING, heading(3), heading(4), BULLETS, NUMBERS, TASKS, QUOTE, CODE_BLOCK, TABLE, DIVIDER, PAYWALL];

/** The menu of what has no button of its own. */
export function moreGroups(editor: Editor, snippets: Command[]): Group[] {
  const groups = [
    { label: _("Text"), items: MORE.map((command) => item(editor, command)) },
    { label: _("Cards"), items: CARDS.map((card) => item(editor, cardCommand(card))) },
  ];
  if (snippets.length) groups.push({ label: _("Snippets"), items: snippets.map((command) => item(editor, command)) });
  if (editor.isActive("table")) groups.unshift({ label: _("Table"), items: tableItems(editor) });
  return groups;
}

export function item(editor: Editor, command: Command): Item {
  return {
    label: command.label,
    icon: command.icon,
    keys: command.keys,
    run: () => command.run(editor),
    isActive: command.isActive?.(editor),
  };
}

function tableItems(editor: Editor): Item[] {
  const commands = {
    [_("Row below")]: () => editor.chain().focus().addRowAfter().run(),
    [_("Row above")]: () => editor.chain().focus().addRowBefore().run(),
    [_("Column to the right")]: () => editor.chain().focus().addColumnAfter().run(),
    [_("Column to the left")]: () => editor.chain().focus().addColumnBefore().run(),
    [_("Header row on or off")]: () => editor.chain().focus().toggleHeaderRow().run(),
    [_("Merge or split cells")]: () => editor.chain().focus().mergeOrSplit().run(),
    [_("Delete the row")]: () => editor.chain().focus().deleteRow().run(),
    [_("Delete the column")]: () => editor.chain().focus().deleteColumn().run(),
    [_("Delete the table")]: () => editor.chain().focus().deleteTable().run(),
  };
  return Object.entries(commands).map(([label, run]) => ({ label, icon: "table", run }));
}
