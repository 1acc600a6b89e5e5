import { element } from "../elements.ts";
import { SOURCE, TITLE, text } from "./card.ts";
import type { CardDeclaration } from "./card.ts";
import { _ } from "../words.ts";

export const AUDIO: CardDeclaration = {
  name: "audio",
  label: _("Audio"),
  icon: "play",
  words: _("sound podcast music mp3"),
  fields: [TITLE, SOURCE],
  file: { accept: "audio/*", taken: (values, { url: src }) => ({ src, title: values.title }) },
  show: ({ src, title }) => [src ? element("audio", { src: text(src), controls: true, preload: "none" }) : "", text(title)],
};
