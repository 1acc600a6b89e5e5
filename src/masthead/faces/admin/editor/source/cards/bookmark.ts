import { element } from "../elements.ts";
import { host, picture, text } from "./card.ts";
import type { CardDeclaration } from "./card.ts";
import { lookButton } from "./look.ts";

export const BOOKMARK: CardDeclaration = {
  name: "bookmark",
  label: "Bookmark",
  icon: "globe",
  words: "link page preview",
  attributes: ["url", "title", "description", "image"],
  fields: [
    { name: "url", label: "Address", kind: "url", placeholder: "https://" },
    { name: "title", label: "Title" },
    { name: "description", label: "Description" },
  ],
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
