// A picture with its caption. A marker asks for the alternative text as long as there is none.

import { Node, mergeAttributes } from "@tiptap/core";
import type { NodeViewRenderer } from "@tiptap/core";
import { element } from "./elements.ts";
import { _ } from "./words.ts";

const PARTS = ["src", "alt", "title", "width", "height", "href", "layout", "crop"];
const WIDTHS = { "": _("As wide as the text"), wide: _("Wide"), full: _("Full width") };
const CROPS = { "": _("Uncropped"), "16:9": "16:9", "3:2": "3:2", "4:3": "4:3", "1:1": _("Square"), "21:9": "21:9" };

export const Figure = Node.create({
  name: "figure",
  group: "block",
  content: "inline*",
  draggable: true,
  isolating: true,

  addAttributes: () => Object.fromEntries(PARTS.map((name) => [name, { default: null }])),

  parseHTML: () => [
    {
      tag: "figure",
      priority: 60,
      getAttrs: (found) => read(found as HTMLElement),
      contentElement: (found) =>
        (found as HTMLElement).querySelector<HTMLElement>("figcaption") ?? document.createElement("figcaption"),
    },
    // A picture alone in its paragraph stands for itself.
    {
      tag: "p",
      priority: 60,
      getAttrs: (found) => {
        const paragraph = found as HTMLElement;
        const alone = paragraph.querySelectorAll("img").length === 1 && !paragraph.textContent?.trim();
        return alone ? read(paragraph) : false;
      },
      contentElement: () => document.createElement("figcaption"),
    },
  ],

  renderHTML({ HTMLAttributes }) {
    const { href, layout, crop, ...picture } = HTMLAttributes as Record<string, string>;
    const shown = ["img", mergeAttributes(picture)] as const;
    return ["figure", { "data-width": layout, "data-crop": crop }, href ? ["a", { href }, shown] : shown, ["figcaption", 0]];
  },

  addNodeView: () => view,

  addKeyboardShortcuts() {
    return {
      // A caption is one line; Enter goes on below the picture.
      Enter: ({ editor }) => {
        const { $from } = editor.state.selection;
        if ($from.parent.type.name !== this.name) return false;
        const after = $from.after();
        return editor
          .chain()
          .insertContentAt(after, { type: "paragraph" })
          .setTextSelection(after + 1)
          .run();
      },
    };
  },
});

function read(found: HTMLElement): Record<string, unknown> | false {
  const picture = found.querySelector("img");
  const source = picture?.getAttribute("src");
  if (!picture || !source) return false;
  return {
    src: source,
    alt: picture.getAttribute("alt"),
    title: picture.getAttribute("title"),
    width: Number(picture.getAttribute("width")) || null,
    height: Number(picture.getAttribute("height")) || null,
    href: picture.closest("a")?.getAttribute("href") ?? null,
    layout: found.dataset.width ?? null,
    crop: found.dataset.crop ?? null,
  };
}

/** On the service's own host the pictures of a site are at another origin. The policy lets them in
 * over https; without TLS they are shown by their path, which is the same there. */
export function shownAddress(source: string): string {
  const path = /^http:\/\/[^/]+(\/media\/.+)$/.exec(source)?.[1];
  return path ?? source;
}

let known: Record<string, string> = {};

/** What the library says of its pictures, by their id. */
export function useLibrary(alts: Record<string, string>): void {
  known = alts;
}

function libraryAlt(source: string): string {
  return known[/\/media\/([a-z0-9]{15})\//.exec(source)?.[1] ?? ""] ?? "";
}

function choice(label: string, values: Record<string, string>, chosen: (value: string) => void): HTMLSelectElement {
  const made: HTMLSelectElement = element(
    "select",
    { class: "input", "aria-label": label, change: () => chosen(made.value) },
    ...Object.entries(values).map(([value, name]) => element("option", { value }, name)),
  );
  return made;
}

const view: NodeViewRenderer = ({ node, editor, getPos }) => {
  let current = node;
  const inView = (): void => {
    // Also after the picture above it has got its height.
    if (document.activeElement === field) field.scrollIntoView({ block: "center" });
  };
  const picture = element("img", { draggable: "false", load: inView });
  const field: HTMLInputElement = element("input", {
    class: "input",
    type: "text",
    "aria-label": _("Alternative text"),
    maxlength: "1000",
    focus: inView,
    input: () => set("alt", field.value),
    keydown: (event: KeyboardEvent) => {
      if (event.key === "Enter" || event.key === "Escape") {
        event.preventDefault();
        const at = getPos();
        if (at !== undefined) editor.chain().setTextSelection(at + 1).focus().run();
      }
    },
  });
  const contentDOM = element("figcaption", { "data-placeholder": _("Caption") });
  const asked = element("span");
  const alternative = element("label", { class: "figure-alt", contenteditable: "false" }, asked, field);
  const layout = choice(_("Width of the picture"), WIDTHS, (value) => set("layout", value));
  const crop = choice(_("Crop of the picture"), CROPS, (value) => set("crop", value));
  const shape = element("div", { class: "figure-shape", contenteditable: "false" }, layout, crop);
  const around = element("div", { contenteditable: "false" }, picture);
  const dom = element("figure", {}, around, alternative, shape, contentDOM);

  const set = (name: string, value: string): void => {
    const at = getPos();
    if (at !== undefined) editor.view.dispatch(editor.state.tr.setNodeAttribute(at, name, value || null));
  };
  const show = (): void => {
    const { src, alt, width, height } = current.attrs as Record<string, string | number | null>;
    const address = shownAddress(String(src ?? ""));
    if (picture.getAttribute("src") !== address) picture.src = address;
    picture.alt = String(alt ?? "");
    for (const [name, value] of Object.entries({ width, height })) {
      if (value) picture.setAttribute(name, String(value));
      else picture.removeAttribute(name);
    }
    if (document.activeElement !== field) field.value = String(alt ?? "");
    // Readers get the library's where the text has none.
    const fallback = libraryAlt(String(src ?? ""));
    field.placeholder = fallback ? _("From the library: %(alt)s", { alt: fallback }) : _("Describe the picture");
    const isMissing = !alt && !fallback;
    dom.classList.toggle("is-without-alt", isMissing);
    asked.className = isMissing ? "badge badge-warn" : "";
    asked.textContent = isMissing ? _("Alt text missing") : _("Alt text");
    contentDOM.classList.toggle("is-empty", current.content.size === 0);
    layout.value = String(current.attrs.layout ?? "");
    crop.value = String(current.attrs.crop ?? "");
    dom.dataset.width = layout.value;
    dom.dataset.crop = crop.value;
    picture.style.aspectRatio = crop.value.replace(":", " / ");
  };
  show();
  return {
    dom,
    contentDOM,
    stopEvent: (event) => [alternative, shape].some((each) => each.contains(event.target as globalThis.Node)),
    ignoreMutation: (mutation) => !contentDOM.contains(mutation.target) || mutation.type === "attributes",
    update: (updated) => {
      if (updated.type !== current.type) return false;
      current = updated;
      show();
      return true;
    },
    selectNode: () => dom.classList.add("is-selected"),
    deselectNode: () => dom.classList.remove("is-selected"),
  };
};
