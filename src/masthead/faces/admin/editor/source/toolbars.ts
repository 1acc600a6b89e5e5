// The fixed toolbar, the bubble at a selection, and the bar above a phone's keyboard.

import type { Editor } from "@tiptap/core";
import { NodeSelection } from "@tiptap/pm/state";
import {
  BOLD,
  BULLETS,
  CODE,
  DIVIDER,
  HEADING,
  ITALIC,
  LINK,
  NUMBERS,
  QUOTE,
  REDO,
  TABLE,
  UNDO,
  item,
  moreGroups,
} from "./commands.ts";
import type { Command } from "./commands.ts";
import { element, icon, iconButton, roving } from "./elements.ts";
import { openMenu } from "./menu.ts";
import type { Group } from "./menu.ts";
import { _ } from "./words.ts";

type Entry = Command | "|" | HTMLElement;

interface Made {
  bar: HTMLElement;
  update: () => void;
}

function toolbar(editor: Editor, label: string, className: string, entries: Entry[]): Made {
  const bar = element("div", { class: className, role: "toolbar", "aria-label": label });
  const shown: [HTMLButtonElement, Command][] = [];
  for (const entry of entries) {
    if (entry === "|") bar.append(element("span", { class: "sep" }));
    else if (entry instanceof HTMLElement) bar.append(entry);
    else {
      const made = iconButton(entry.icon, entry.label, () => entry.run(editor), entry.keys);
      if (entry.isActive) made.setAttribute("aria-pressed", "false");
      shown.push([made, entry]);
      bar.append(made);
    }
  }
  roving(bar);
  bar.addEventListener("keydown", ({ key }) => {
    if (key === "Escape") editor.view.focus();
  });
  const update = (): void => {
    for (const [made, command] of shown) {
      if (command.isActive) made.setAttribute("aria-pressed", String(command.isActive(editor)));
    }
  };
  return { bar, update };
}

export interface Toolbars {
  bars: { fixed: HTMLElement; bubble: HTMLElement; keys: HTMLElement };
  update: () => void;
}

export function toolbars(
  editor: Editor,
  choosePicture: (() => void) | null,
  askAi: ((opener: HTMLElement) => void) | null,
  snippets: Command[],
): Toolbars {
  const picture: Command | null = choosePicture && { label: _("Picture"), icon: "image", run: choosePicture };
  const pictures = picture ? [picture] : [];
  const fixed = toolbar(editor, _("Formatting"), "tools", [
    HEADING, BOLD, ITALIC, LINK, "|", BULLETS, NUMBERS, QUOTE, CODE, "|", ...pictures, TABLE, DIVIDER,
    moreButton(editor, snippets), "|", UNDO, REDO,
  ]);
  const bubble = toolbar(editor, _("Selected text"), "bubble", [
    BOLD, ITALIC, LINK, CODE, HEADING, QUOTE, ...(askAi ? (["|", aiButton(askAi)] as Entry[]) : []),
  ]);
  // As many as fit beside each other on a phone: Undo must be in sight.
  const keys = toolbar(editor, _("Formatting, phone"), "keys-bar", [
    addButton(editor, pictures, snippets), BOLD, ITALIC, LINK, HEADING, QUOTE, ...(askAi ? [aiButton(askAi)] : []), UNDO,
  ]);
  bubble.bar.hidden = true;
  const update = (): void => {
    fixed.update();
    keys.update();
    bubble.update();
    placeBubble(editor, bubble.bar);
  };
  editor.on("transaction", ({ transaction }) => {
    // Of the focus that leaves: where it goes is known only below.
    if (!transaction.getMeta("blur")) update();
  });
  editor.on("focus", update);
  editor.on("blur", ({ event }) => {
    const to = event.relatedTarget;
    if (!(to instanceof Node && bubble.bar.contains(to))) bubble.bar.hidden = true;
  });
  addEventListener("resize", () => placeBubble(editor, bubble.bar));
  aboveKeyboard(keys.bar);
  update();
  return { bars: { fixed: fixed.bar, bubble: bubble.bar, keys: keys.bar }, update };
}

function moreButton(editor: Editor, snippets: Command[]): HTMLElement {
  const made: HTMLButtonElement = iconButton("ellipsis", _("More formatting"), () =>
    openMenu(made, _("More formatting"), moreGroups(editor, snippets), () => editor.view.focus()),
  );
  made.setAttribute("aria-haspopup", "menu");
  return made;
}

function addButton(editor: Editor, pictures: Command[], snippets: Command[]): HTMLElement {
  const insert = (): Group => ({
    label: _("Insert"),
    items: [...pictures, BULLETS, NUMBERS, TABLE, DIVIDER, CODE].map((each) => item(editor, each)),
  });
  const made: HTMLButtonElement = iconButton("plus", _("Insert and format"), () =>
    openMenu(made, _("Insert and format"), [insert(), ...moreGroups(editor, snippets)], () => editor.view.focus()),
  );
  made.setAttribute("aria-haspopup", "menu");
  return made;
}

function aiButton(askAi: (opener: HTMLElement) => void): HTMLElement {
  const made: HTMLButtonElement = element(
    "button",
    {
      type: "button",
      class: "btn btn-s",
      "aria-haspopup": "menu",
      "aria-label": _("Rewrite"),
      mousedown: (event: MouseEvent) => event.preventDefault(),
      click: () => askAi(made),
    },
    icon("sparkles"),
    element("span", {}, _("Rewrite")),
    icon("chevron-down"),
  );
  return made;
}

/** Above the selection, inside the column of the text. */
function placeBubble(editor: Editor, bubble: HTMLElement): void {
  const { state, view } = editor;
  const { from, to, empty } = state.selection;
  const isText = !empty && !(state.selection instanceof NodeSelection) && state.doc.textBetween(from, to, " ").trim() !== "";
  const isAsking = view.dom.querySelector(".ai") !== null;
  const isShown = isText && !isAsking && (view.hasFocus() || bubble.contains(document.activeElement));
  bubble.hidden = !isShown || editor.isActive("codeBlock");
  if (bubble.hidden) return;
  const column = bubble.parentElement?.getBoundingClientRect();
  if (!column) return;
  const start = view.coordsAtPos(from);
  const end = view.coordsAtPos(to);
  const width = bubble.offsetWidth;
  const middle = start.top === end.top ? (start.left + end.right) / 2 : column.left + column.width / 2;
  const left = Math.max(0, Math.min(middle - column.left - width / 2, column.width - width));
  bubble.style.setProperty("left", `${Math.round(left)}px`);
  bubble.style.setProperty("top", `${Math.round(start.top - column.top - bubble.offsetHeight - 8)}px`);
}

/** A phone's keyboard covers what is fixed at the bottom; the visual viewport ends above it. */
function aboveKeyboard(bar: HTMLElement): void {
  const viewport = window.visualViewport;
  if (!viewport) return;
  const move = (): void => {
    const covered = Math.max(0, innerHeight - viewport.height - viewport.offsetTop);
    bar.style.setProperty("bottom", `${Math.round(covered)}px`);
  };
  viewport.addEventListener("resize", move);
  viewport.addEventListener("scroll", move);
}
