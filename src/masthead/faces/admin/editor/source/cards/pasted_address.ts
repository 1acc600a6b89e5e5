// An address that is pasted into an empty paragraph becomes a card: at once with the address alone,
// then with what the server finds there.

import { Extension } from "@tiptap/core";
import type { Editor } from "@tiptap/core";
import { Plugin } from "@tiptap/pm/state";
import { insertBelow } from "../below.ts";
import { isAddress } from "../documents.ts";
import { isPlainPaste } from "../paste.ts";
import { cardTools } from "./card.ts";

export const PastedAddress = Extension.create({
  name: "pastedAddress",
  addProseMirrorPlugins() {
    const { editor } = this;
    return [
      new Plugin({
        props: {
          handlePaste: (view, event) => {
            const text = (event.clipboardData?.getData("text/plain") ?? "").trim();
            const { $from, empty } = view.state.selection;
            const isAlone = empty && $from.parent.type.name === "paragraph" && $from.parent.content.size === 0;
            if (!isAlone || !isAddress(text) || isPlainPaste(view)) return false;
            const { tr, schema, selection } = view.state;
            if ($from.depth !== 1) return false;
            view.dispatch(insertBelow(tr, selection.from, schema.nodes.embed.create({ url: text })));
            void complete(editor, text);
            return true;
          },
        },
      }),
    ];
  },
});

async function complete(editor: Editor, url: string): Promise<void> {
  const found = await cardTools().look?.(url);
  if (!found || editor.isDestroyed) return;
  const { doc, schema, tr } = editor.state;
  doc.descendants((node, at) => {
    // Changed meanwhile: it stays as it is.
    const isMine = node.type.name === "embed" && node.attrs.url === url && !node.attrs.title && !node.attrs.image;
    const type = schema.nodes[found.type];
    if (isMine && type) tr.setNodeMarkup(at, type, { ...found.attrs, url });
    return true;
  });
  if (tr.docChanged) editor.view.dispatch(tr);
}
