import { text } from "./card.ts";
import type { CardDeclaration } from "./card.ts";

export const CALLOUT: CardDeclaration = {
  name: "callout",
  label: "Callout",
  icon: "info",
  words: "box note hint warning",
  fields: [{ name: "emoji", label: "Sign", placeholder: "💡" }],
  holds: true,
  show: (values) => [text(values.emoji)],
};
