// An address alone on its line: the site shows it as a link, or as its player.

import { Node, mergeAttributes } from "@tiptap/core";
import { Plugin } from "@tiptap/pm/state";
import { isAddress } from "./documents.ts";
import { element, icon } from "./elements.ts";
import { isPlainPaste } from "./paste.ts";

export const Embed = Node.create({
  name: "embed",
  group: "block",
  atom: true,
  draggable: true,

  addAttributes: () => ({ src: { default: null } }),
  parseHTML: () => [
    {
      tag: "iframe[src]",
      getAttrs: (found) => {
        const src = (found as HTMLElement).getAttribute("src") ?? "";
        return isAddress(src) ? { src } : false;
      },
    },
    { tag: "div[data-embed]", getAttrs: (found) => ({ src: (found as HTMLElement).dataset.embed }) },
  ],
  renderHTML: ({ HTMLAttributes }) => [
    "div",
    mergeAttributes({ "data-embed": HTMLAttributes.src as string }),
    HTMLAttributes.src as string,
  ],

  addNodeView:
    () =>
    ({ node }) => {
      const address = node.attrs.src as string;
      return {
        dom: element(
          "div",
          { class: "embed", contenteditable: "false" },
          icon("external-link"),
          element("span", { class: "embed-host" }, host(address)),
          element("span", { class: "embed-address" }, address),
        ),
      };
    },

  addProseMirrorPlugins() {
    const { editor, type } = this;
    return [
      new Plugin({
        props: {
          // An address that is pasted into an empty paragraph of its own.
          handlePaste: (view, event) => {
            const text = event.clipboardData?.getData("text/plain") ?? "";
            const { $from, empty } = view.state.selection;
            const isAlone = empty && $from.parent.type.name === "paragraph" && $from.parent.content.size === 0;
            if (!isAlone || $from.depth !== 1 || !isAddress(text) || isPlainPaste(view)) return false;
            return editor
              .chain()
              .insertContentAt({ from: $from.before(), to: $from.after() }, [
                { type: type.name, attrs: { src: text.trim() } },
                { type: "paragraph" },
              ])
              .run();
          },
        },
      }),
    ];
  },
});

function host(address: string): string {
  try {
    return new URL(address).hostname.replace(/^www\./, "");
  } catch {
    return "Link";
  }
}
