import { element } from "../elements.ts";
import { text } from "./card.ts";
import type { CardDeclaration } from "./card.ts";
import { _ } from "../words.ts";

export const HTML: CardDeclaration = {
  name: "html",
  label: "HTML",
  icon: "code",
  words: _("embed widget code script"),
  fields: [{ name: "html", label: "HTML", kind: "long", placeholder: "<p>…</p>" }],
  show: ({ html }) => [
    html ? element("pre", { class: "card-source", "aria-hidden": "true" }, text(html)) : "",
    element("p", { class: "hint" }, _("The site shows it in a frame of its own, apart from the page.")),
  ],
};
