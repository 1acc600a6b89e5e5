// The title and the picture of an address, which only the server fetches, and only when asked.

import { button, element } from "../elements.ts";
import { cardTools, text } from "./card.ts";
import type { Values } from "./card.ts";
import { _ } from "../words.ts";

/** Offered while the card has no title. */
export function lookButton(name: string, values: Values, change: (values: Values) => void): HTMLElement {
  const place = element("div", { class: "actions" });
  const url = text(values.url);
  const { look } = cardTools();
  if (!look || !/^https?:\/\//.test(url) || values.title) return place;
  const ask: HTMLButtonElement = button(_("Fetch title and picture"), () => {
    ask.disabled = true;
    ask.textContent = _("Fetching…");
    void look(url).then((found) => {
      if (found && found.type === name) change({ ...found.attrs, url });
      else if (found) change({ title: text(found.attrs.title) || null, image: found.attrs.image ?? null });
      ask.textContent = _("Nothing was found there");
    });
  });
  place.append(ask);
  return place;
}
