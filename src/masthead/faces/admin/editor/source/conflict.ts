// Two versions of a text side by side, and the choice between them.

import type { Theirs } from "./autosave.ts";
import { rows } from "./difference.ts";
import type { Piece } from "./difference.ts";
import { blocks, countWords } from "./documents.ts";
import { button, clock, element, icon } from "./elements.ts";
import type { Snapshot } from "./kept.ts";

/** A setting in which the two differ. */
export interface Setting {
  label: string;
  mine: string;
  theirs: string;
}

export interface Choices {
  keepMine: () => void;
  takeTheirs: () => void;
}

export function conflictView(mine: Snapshot, theirs: Theirs, settings: Setting[], choices: Choices): HTMLElement {
  const [myBlocks, theirBlocks] = [blocks(mine.content_json), blocks(theirs.content_json)];
  const [heading, what] = words(theirs);
  // The same account in another tab is not another person.
  const isTheirs = !theirs.is_own && !!theirs.by;
  const other = isTheirs ? "theirs" : "the other one";
  const view = element(
    "section",
    { class: "conflict", "aria-labelledby": "conflict-title", tabindex: "-1" },
    element(
      "div",
      { class: "conflict-top" },
      element("h1", { id: "conflict-title" }, heading),
      element(
        "p",
        {},
        `${what}${theirs.at ? ` at ${clock(theirs.at)}` : ""} while you were writing. Saving and ` +
          `publishing wait until you choose. Nothing is lost: ${other} stays in the history if you keep yours, ` +
          `and yours stays on this device for 30 days if you take ${other}.`,
      ),
    ),
  );
  const grid = element(
    "div",
    { class: "versus" },
    head("Yours", "this browser", myBlocks, mine.fields.title ?? "", [
      button("Keep mine", choices.keepMine, "primary"),
    ]),
    head(isTheirs ? `${theirs.by}’s` : "The other one", "on the server", theirBlocks, theirs.title, [
      button(isTheirs ? "Take theirs" : "Take the other one", choices.takeTheirs),
    ]),
  );
  const titles = rows([mine.fields.title ?? ""], [theirs.title]);
  for (const row of titles) grid.append(cell(row.mine, row.isSame, true, other), cell(row.theirs, row.isSame, true, "yours"));
  for (const { label, mine: my, theirs: their } of settings) {
    grid.append(settingCell(label, my), settingCell(label, their));
  }
  for (const row of rows(myBlocks, theirBlocks)) {
    grid.append(cell(row.mine, row.isSame, false, other), cell(row.theirs, row.isSame, false, "yours"));
  }
  view.append(grid);
  return view;
}

/** The heading, and what has happened. */
function words(theirs: Theirs): [string, string] {
  if (theirs.is_published) return ["Published meanwhile", "This text was published"];
  if (theirs.is_own) return ["Changed in another tab", "You saved this text in another tab or browser"];
  if (!theirs.by) return ["Changed elsewhere", "This text was changed in another tab or by someone else"];
  return ["Changed by someone else", `${theirs.by} saved this text`];
}

function head(name: string, where: string, text: string[], title: string, actions: HTMLElement[]): HTMLElement {
  const words = countWords(text.join(" ")).toLocaleString("en-GB");
  const copy = element(
    "button",
    {
      type: "button",
      class: "btn btn-s btn-quiet",
      click: () => {
        void navigator.clipboard.writeText([title, ...text].join("\n\n")).then(
          () => (said.textContent = "Copied"),
          () => (said.textContent = "Not copied: the browser does not allow it."),
        );
      },
    },
    icon("copy"),
    "Copy",
  );
  const said = element("span", { class: "vh", role: "status" });
  return element(
    "div",
    { class: "vs-head" },
    element("h2", {}, name, element("small", {}, `${where}, ${words} words`)),
    element("span", { class: "push actions" }, said, copy, ...actions),
  );
}

function settingCell(label: string, value: string): HTMLElement {
  return element("div", { class: "cell" }, element("p", {}, `${label}: `, element("ins", {}, value || "nothing")));
}

function cell(pieces: Piece[] | null, isSame: boolean, isTitle: boolean, other: string): HTMLElement {
  const text = pieces
    ? pieces.map((piece) => (piece.isNew ? element("ins", {}, piece.text) : piece.text))
    : [element("span", { class: "missing" }, `This paragraph is only in ${other}.`)];
  const className = ["cell", isTitle && "t", isSame && "same"].filter(Boolean).join(" ");
  return element("div", { class: className }, element("p", {}, ...text));
}
