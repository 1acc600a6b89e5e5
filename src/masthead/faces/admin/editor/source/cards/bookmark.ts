import { element } from "../elements.ts";
import { ADDRESS, TITLE, host, picture, text } from "./card.ts";
import type { CardDeclaration } from "./card.ts";
import { lookButton } from "./look.ts";
import { _ } from "../words.ts";

export const BOOKMARK: CardDeclaration = {
  name: "bookmark",
  label: _("Bookmark"),
  icon: "globe",
  words: _("link page preview"),
  fields: [ADDRESS, TITLE, { name: "description", label: _("Description") }],
  others: ["image"],
  show: (values, change) => [
    lookButton("bookmark", values, change),
    element(
      "div",
      { class: "card-link" },
      picture(values.image),
      element("strong", {}, text(values.title) || text(values.url)),
      element("span", {}, text(values.description)),
      element("small", {}, host(values.url)),
    ),
  ],
};
