import { element } from "../elements.ts";
import { SOURCE, TITLE, text } from "./card.ts";
import type { CardDeclaration } from "./card.ts";

export const AUDIO: CardDeclaration = {
  name: "audio",
  label: "Audio",
  icon: "play",
  words: "sound podcast music mp3",
  fields: [TITLE, SOURCE],
  file: { accept: "audio/*", taken: (values, { url: src }) => ({ src, title: values.title }) },
  show: ({ src, title }) => [src ? element("audio", { src: text(src), controls: true, preload: "none" }) : "", text(title)],
};
