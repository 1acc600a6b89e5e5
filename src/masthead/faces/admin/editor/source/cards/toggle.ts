import { element, icon } from "../elements.ts";
import { text } from "./card.ts";
import type { CardDeclaration } from "./card.ts";
import { _ } from "../words.ts";

export const TOGGLE: CardDeclaration = {
  name: "toggle",
  label: _("Toggle"),
  icon: "chevron-down",
  words: _("details faq collapse accordion"),
  fields: [{ name: "summary", label: _("Line that opens it") }],
  holds: true,
  show: (values) => [icon("chevron-down"), element("strong", {}, text(values.summary))],
};
