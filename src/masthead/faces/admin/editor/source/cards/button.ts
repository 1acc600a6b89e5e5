import { element } from "../elements.ts";
import { text } from "./card.ts";
import type { CardDeclaration } from "./card.ts";
import { _ } from "../words.ts";

export const BUTTON: CardDeclaration = {
  name: "button",
  label: _("Button"),
  icon: "external-link",
  words: _("link call action"),
  fields: [
    { name: "label", label: _("Label") },
    { name: "url", label: _("Address"), kind: "url", placeholder: _("https:// or /about") },
  ],
  show: (values) => [element("span", { class: "card-press" }, text(values.label) || _("Button"))],
};
