import { text } from "./card.ts";
import type { CardDeclaration } from "./card.ts";
import { _ } from "../words.ts";

export const CALLOUT: CardDeclaration = {
  name: "callout",
  label: _("Callout"),
  icon: "info",
  words: _("box note hint warning"),
  fields: [{ name: "emoji", label: _("Sign"), placeholder: "💡" }],
  holds: true,
  show: (values) => [text(values.emoji)],
};
