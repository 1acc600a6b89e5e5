import { element, icon } from "../elements.ts";
import { SOURCE, text } from "./card.ts";
import type { CardDeclaration } from "./card.ts";
import { _, sizeText } from "../words.ts";

export const FILE: CardDeclaration = {
  name: "file",
  label: _("File"),
  icon: "download",
  words: _("download pdf attachment"),
  fields: [{ name: "name", label: _("Name") }, SOURCE],
  others: ["size"],
  file: { accept: "", taken: (_, { url: src, filename, size }) => ({ src, name: filename ?? null, size: size ?? null }) },
  show: ({ src, name, size }) =>
    src
      ? [
          element(
            "span",
            { class: "card-link" },
            icon("download"),
            element("strong", {}, text(name) || text(src)),
            Number(size) ? element("small", {}, sizeText(Number(size))) : null,
          ),
        ]
      : [],
};
