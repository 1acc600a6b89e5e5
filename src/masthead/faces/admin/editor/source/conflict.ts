// Two versions of a text side by side, and the choice between them.

import type { Theirs } from "./autosave.ts";
import { rows } from "./difference.ts";
import type { Piece } from "./difference.ts";
import { blocks, countWords } from "./documents.ts";
import { button, clock, element, icon } from "./elements.ts";
import type { Snapshot } from "./kept.ts";
import { _, counted } from "./words.ts";

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
  const [heading, happened] = words(theirs);
  // The same account in another tab is not another person.
  const isTheirs = !theirs.is_own && !!theirs.by;
  const onlyTheirs = isTheirs ? _("This paragraph is only in theirs.") : _("This paragraph is only in the other one.");
  const onlyMine = _("This paragraph is only in yours.");
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
        `${happened} `,
        isTheirs
          ? _(
              "Saving and publishing wait until you choose. Nothing is lost: theirs stays in the history if you keep " +
                "yours, and yours stays on this device for 30 days if you take theirs.",
            )
          : _(
              "Saving and publishing wait until you choose. Nothing is lost: the other one stays in the history if " +
                "you keep yours, and yours stays on this device for 30 days if you take the other one.",
            ),
      ),
    ),
  );
  const grid = element(
    "div",
    { class: "versus" },
    head(_("Yours"), _("this browser"), myBlocks, mine.fields.title ?? "", [
      button(_("Keep mine"), choices.keepMine, "primary"),
    ]),
    head(isTheirs ? _("%(name)s’s", { name: theirs.by }) : _("The other one"), where(theirs), theirBlocks, theirs.title, [
      button(isTheirs ? _("Take theirs") : _("Take the other one"), choices.takeTheirs),
    ]),
  );
  const titles = rows([mine.fields.title ?? ""], [theirs.title]);
  for (const row of titles) grid.append(cell(row.mine, row.isSame, true, onlyTheirs), cell(row.theirs, row.isSame, true, onlyMine));
  for (const { label, mine: my, theirs: their } of settings) {
    grid.append(settingCell(label, my), settingCell(label, their));
  }
  for (const row of rows(myBlocks, theirBlocks)) {
    grid.append(cell(row.mine, row.isSame, false, onlyTheirs), cell(row.theirs, row.isSame, false, onlyMine));
  }
  view.append(grid);
  return view;
}

/** The heading, and what has happened. */
function words(theirs: Theirs): [string, string] {
  if (theirs.is_published) return [_("Published meanwhile"), _("This text was published while you were writing.")];
  if (theirs.is_own) return [_("Changed in another tab"), _("You saved this text in another tab or browser while you were writing.")];
  if (!theirs.by) return [_("Changed elsewhere"), _("This text was changed in another tab or by someone else while you were writing.")];
  return [_("Changed by someone else"), _("%(name)s saved this text while you were writing.", { name: theirs.by })];
}

function where({ at }: Theirs): string {
  return at ? _("on the server, %(time)s", { time: clock(at) }) : _("on the server");
}

function head(name: string, where: string, text: string[], title: string, actions: HTMLElement[]): HTMLElement {
  const words = counted("%(number)s word", "%(number)s words", countWords(text.join(" ")));
  const copy = element(
    "button",
    {
      type: "button",
      class: "btn btn-s btn-quiet",
      click: () => {
        void navigator.clipboard.writeText([title, ...text].join("\n\n")).then(
          () => (said.textContent = _("Copied")),
          () => (said.textContent = _("Not copied: the browser does not allow it.")),
        );
      },
    },
    icon("copy"),
    _("Copy"),
  );
  const said = element("span", { class: "vh", role: "status" });
  return element(
    "div",
    { class: "vs-head" },
    element("h2", {}, name, element("small", {}, `${where}, ${words}`)),
    element("span", { class: "push actions" }, said, copy, ...actions),
  );
}

function settingCell(label: string, value: string): HTMLElement {
  return element("div", { class: "cell" }, element("p", {}, `${label}: `, element("ins", {}, value || _("nothing"))));
}

function cell(pieces: Piece[] | null, isSame: boolean, isTitle: boolean, missing: string): HTMLElement {
  const text = pieces
    ? pieces.map((piece) => (piece.isNew ? element("ins", {}, piece.text) : piece.text))
    : [element("span", { class: "missing" }, missing)];
  const className = ["cell", isTitle && "t", isSame && "same"].filter(Boolean).join(" ");
  return element("div", { class: className }, element("p", {}, ...text));
}
