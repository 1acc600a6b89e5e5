import { element, iconButton } from "../elements.ts";
import { CAPTION, picture, text } from "./card.ts";
import type { CardDeclaration, Values } from "./card.ts";
import { _ } from "../words.ts";

/** As the server has it. */
const MOST = 12;

function images(values: Values): Values[] {
  return Array.isArray(values.images) ? (values.images as Values[]) : [];
}

function row(all: Values[], at: number, change: (values: Values) => void): HTMLElement {
  const alt: HTMLInputElement = element("input", {
    class: "input",
    type: "text",
    "aria-label": _("Alternative text of picture %(number)s", { number: at + 1 }),
    placeholder: _("Describe the picture"),
    change: () => change({ images: all.map((each, index) => (index === at ? { ...each, alt: alt.value } : each)) }),
  });
  alt.value = text(all[at].alt);
  const moved = [...all];
  if (at > 0) moved.splice(at - 1, 2, all[at], all[at - 1]);
  return element(
    "li",
    {},
    picture(all[at].src),
    alt,
    element(
      "div",
      { class: "card-over" },
      at > 0 ? iconButton("arrow-left", _("Move picture %(number)s forward", { number: at + 1 }), () => change({ images: moved })) : null,
      iconButton("x", _("Take out picture %(number)s", { number: at + 1 }), () => change({ images: all.filter((_, index) => index !== at) })),
    ),
  );
}

export const GALLERY: CardDeclaration = {
  name: "gallery",
  label: _("Gallery"),
  icon: "layout-grid",
  words: _("pictures images photos"),
  fields: [CAPTION],
  others: ["images"],
  file: {
    accept: "image/*",
    multiple: true,
    taken: (values, { url: src, alt, width, height }) => ({
      images: [...images(values), { src, alt: alt ?? "", width: width ?? 0, height: height ?? 0 }].slice(0, MOST),
    }),
  },
  show: (values, change) => {
    const all = images(values);
    return [element("ol", { class: "card-pictures" }, ...all.map((_, at) => row(all, at, change))), text(values.caption)];
  },
};
