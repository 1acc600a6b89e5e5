import { element } from "../elements.ts";
import { text } from "./card.ts";
import type { CardDeclaration } from "./card.ts";

export const JOIN: CardDeclaration = {
  name: "join",
  label: "Call to join",
  icon: "mail",
  words: "subscribe sign up member newsletter",
  fields: [{ name: "label", label: "Label", placeholder: "Join" }],
  show: (values) => [
    element("span", { class: "card-press" }, text(values.label) || "Join"),
    element("p", { class: "hint" }, "Only readers who have not joined see it."),
  ],
};
