import { element } from "../elements.ts";
import { text } from "./card.ts";
import type { CardDeclaration } from "./card.ts";

export const BUTTON: CardDeclaration = {
  name: "button",
  label: "Button",
  icon: "external-link",
  words: "link call action",
  fields: [
    { name: "label", label: "Label" },
    { name: "url", label: "Address", kind: "url", placeholder: "https:// or /about" },
  ],
  show: (values) => [element("span", { class: "card-press" }, text(values.label) || "Button")],
};
