import { element, icon } from "../elements.ts";
import { text } from "./card.ts";
import type { CardDeclaration } from "./card.ts";

export const TOGGLE: CardDeclaration = {
  name: "toggle",
  label: "Toggle",
  icon: "chevron-down",
  words: "details faq collapse accordion",
  fields: [{ name: "summary", label: "Line that opens it" }],
  holds: true,
  show: (values) => [icon("chevron-down"), element("strong", {}, text(values.summary))],
};
