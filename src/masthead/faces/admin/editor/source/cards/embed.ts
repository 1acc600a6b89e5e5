import { element, icon } from "../elements.ts";
import { ADDRESS, TITLE, host, picture, text } from "./card.ts";
import type { CardDeclaration } from "./card.ts";
import { lookButton } from "./look.ts";
import { _ } from "../words.ts";

export const EMBED: CardDeclaration = {
  name: "embed",
  label: _("Embed"),
  icon: "play",
  words: _("youtube vimeo spotify soundcloud mastodon bluesky peertube player video post"),
  fields: [ADDRESS, TITLE],
  others: ["image", "provider"],
  show: (values, change) => [
    lookButton("embed", values, change),
    element(
      "div",
      { class: "card-link" },
      element("span", { class: "card-still" }, picture(values.image), icon("play")),
      element("strong", {}, text(values.title) || text(values.url)),
      element("small", {}, text(values.provider) || host(values.url)),
    ),
  ],
};
