import { element } from "../elements.ts";
import { text } from "./card.ts";
import type { CardDeclaration } from "./card.ts";
import { _ } from "../words.ts";

export const JOIN: CardDeclaration = {
  name: "join",
  label: _("Call to join"),
  icon: "mail",
  words: _("subscribe sign up member newsletter"),
  fields: [{ name: "label", label: _("Label"), placeholder: _("Join") }],
  show: (values) => [
    element("span", { class: "card-press" }, text(values.label) || _("Join")),
    element("p", { class: "hint" }, _("Only readers who have not joined see it.")),
  ],
};
