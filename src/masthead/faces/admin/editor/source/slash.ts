// The menu that a slash at the start of a paragraph opens.

import { Extension } from "@tiptap/core";
import type { Editor } from "@tiptap/core";
import { Plugin } from "@tiptap/pm/state";
import type { Command } from "./commands.ts";
import { element, icon } from "./elements.ts";
import { place } from "./menu.ts";
import { _ } from "./words.ts";

export const Slash = Extension.create<{ commands: Command[] }>({
  name: "slash",
  addOptions: () => ({ commands: [] }),
  addProseMirrorPlugins() {
    const menu = new SlashMenu(this.editor, this.options.commands);
    return [
      new Plugin({
        view: () => ({ update: () => menu.update(), destroy: () => menu.close() }),
        props: { handleKeyDown: (_view, event) => menu.key(event) },
      }),
    ];
  },
});

class SlashMenu {
  private readonly list = element("ul", { class: "menu menu-floating", role: "listbox", id: "mh-slash", "aria-label": _("Insert") });
  private found: Command[] = [];
  private at = 0;
  /** The start of the slash that Escape closed; typing on does not open it again. */
  private dismissed = -1;

  constructor(
    private readonly editor: Editor,
    private readonly commands: Command[],
  ) {}

  update(): void {
    const typed = this.typed();
    if (!typed || typed.from === this.dismissed) {
      if (!typed) this.dismissed = -1;
      this.close();
      return;
    }
    const words = typed.text.toLowerCase();
    this.found = this.commands.filter((command) =>
      `${command.label} ${command.words ?? ""}`.toLowerCase().split(" ").some((word) => word.startsWith(words)),
    );
    if (!this.found.length) {
      this.close();
      return;
    }
    this.at = Math.min(this.at, this.found.length - 1);
    this.draw(typed.from);
  }

  key(event: KeyboardEvent): boolean {
    if (!this.list.isConnected) return false;
    const { length } = this.found;
    if (event.key === "ArrowDown") this.at = (this.at + 1) % length;
    else if (event.key === "ArrowUp") this.at = (this.at + length - 1) % length;
    else if (event.key === "Enter" || event.key === "Tab") {
      this.run(this.found[this.at]);
      return true;
    } else if (event.key === "Escape") {
      this.dismissed = this.typed()?.from ?? -1;
      this.close();
      return true;
    } else return false;
    this.draw(this.typed()?.from ?? 0);
    return true;
  }

  close(): void {
    this.list.remove();
    this.at = 0;
    const { dom } = this.editor.view;
    for (const name of ["aria-controls", "aria-activedescendant"]) dom.removeAttribute(name);
  }

  private typed(): { from: number; to: number; text: string } | null {
    const { $from, empty } = this.editor.state.selection;
    if (!empty || $from.parent.type.name !== "paragraph") return null;
    const before = $from.parent.textBetween(0, $from.parentOffset, undefined, "￼");
    const match = /^\/([\p{L}\d]{0,20})$/u.exec(before);
    if (!match || $from.parent.content.size !== before.length) return null;
    return { from: $from.start(), to: $from.pos, text: match[1] };
  }

  private run(command: Command): void {
    const typed = this.typed();
    this.close();
    if (typed) this.editor.chain().focus().deleteRange({ from: typed.from, to: typed.to }).run();
    command.run(this.editor);
  }

  private draw(from: number): void {
    this.list.replaceChildren(
      ...this.found.map((command, index) =>
        element(
          "li",
          {
            role: "option",
            id: `mh-slash-${index}`,
            "aria-selected": String(index === this.at),
            mousedown: (event: MouseEvent) => {
              event.preventDefault();
              this.run(command);
            },
          },
          icon(command.icon),
          command.label,
        ),
      ),
    );
    if (!this.list.isConnected) document.body.append(this.list);
    const { view } = this.editor;
    const { left, right, top, bottom } = view.coordsAtPos(from);
    place(this.list, new DOMRect(left, top, right - left, bottom - top));
    this.list.children[this.at]?.scrollIntoView({ block: "nearest" });
    view.dom.setAttribute("aria-controls", "mh-slash");
    view.dom.setAttribute("aria-activedescendant", `mh-slash-${this.at}`);
  }
}
