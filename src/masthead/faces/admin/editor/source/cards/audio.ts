import { element } from "../elements.ts";
import { text } from "./card.ts";
import type { CardDeclaration } from "./card.ts";

export const AUDIO: CardDeclaration = {
  name: "audio",
  label: "Audio",
  icon: "play",
  words: "sound podcast music mp3",
  attributes: ["src", "title"],
  fields: [
    { name: "title", label: "Title" },
    { name: "src", label: "Address of the file", kind: "url" },
  ],
  file: { accept: "audio/*", taken: (values, { url: src }) => ({ src, title: values.title }) },
  show: ({ src, title }) => [src ? element("audio", { src: text(src), controls: true, preload: "none" }) : "", text(title)],
};
