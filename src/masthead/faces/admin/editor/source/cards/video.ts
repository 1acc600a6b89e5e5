import { element } from "../elements.ts";
import { shownAddress } from "../figure.ts";
import { CAPTION, SOURCE, text } from "./card.ts";
import type { CardDeclaration } from "./card.ts";
import { _ } from "../words.ts";

export const VIDEO: CardDeclaration = {
  name: "video",
  label: _("Video"),
  icon: "play",
  words: _("film movie mp4"),
  fields: [CAPTION, SOURCE, { name: "poster", label: _("Address of the still picture"), kind: "url" }],
  file: { accept: "video/*", taken: (_, { url: src }) => ({ src }) },
  show: ({ src, poster, caption }) => [
    src
      ? element("video", {
          src: shownAddress(text(src)),
          poster: poster ? shownAddress(text(poster)) : null,
          controls: true,
          preload: "none",
        })
      : "",
    text(caption),
  ],
};
