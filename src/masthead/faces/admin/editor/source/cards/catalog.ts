// All cards, in the order of the menus.

import { AUDIO } from "./audio.ts";
import { BOOKMARK } from "./bookmark.ts";
import { BUTTON } from "./button.ts";
import { CALLOUT } from "./callout.ts";
import type { CardDeclaration } from "./card.ts";
import { EMBED } from "./embed.ts";
import { FILE } from "./file.ts";
import { GALLERY } from "./gallery.ts";
import { HTML } from "./html.ts";
import { JOIN } from "./join.ts";
import { TOGGLE } from "./toggle.ts";
import { VIDEO } from "./video.ts";

export const CARDS: CardDeclaration[] = [
  CALLOUT,
  TOGGLE,
  BUTTON,
  BOOKMARK,
  EMBED,
  GALLERY,
  AUDIO,
  VIDEO,
  FILE,
  JOIN,
  HTML,
];
