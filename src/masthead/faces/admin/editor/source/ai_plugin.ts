// Where an answer is asked for: the panel stands below the selection, which moves with the text.

import { Extension } from "@tiptap/core";
import { Plugin, PluginKey } from "@tiptap/pm/state";
import { Decoration, DecorationSet } from "@tiptap/pm/view";

export interface Asked {
  from: number;
  to: number;
  panel: HTMLElement;
  escape: () => void;
}

export const KEY = new PluginKey<Asked | null>("ai");

export const Ai = Extension.create({
  name: "ai",
  addProseMirrorPlugins: () => [
    new Plugin<Asked | null>({
      key: KEY,
      state: {
        init: () => null,
        apply(transaction, asked) {
          const given = transaction.getMeta(KEY) as Asked | null | undefined;
          if (given !== undefined) return given;
          if (!asked) return null;
          const { mapping } = transaction;
          return { ...asked, from: mapping.map(asked.from, 1), to: mapping.map(asked.to, -1) };
        },
      },
      props: {
        // The focus may be in the text as well as in the panel.
        handleKeyDown: (view, event) => {
          const asked = KEY.getState(view.state);
          if (!asked || event.key !== "Escape") return false;
          asked.escape();
          return true;
        },
        decorations: (state) => {
          const asked = KEY.getState(state);
          if (!asked) return DecorationSet.empty;
          const { from, to, panel } = asked;
          const end = state.doc.resolve(Math.min(to, state.doc.content.size));
          const below = end.depth ? end.after(1) : end.pos;
          const shown = [Decoration.widget(below, panel, { side: -1, key: "ai", stopEvent: () => true })];
          if (to > from) shown.push(Decoration.inline(from, to, { class: "selected" }));
          return DecorationSet.create(state.doc, shown);
        },
      },
    }),
  ],
});
