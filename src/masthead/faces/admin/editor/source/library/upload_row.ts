// A row of one upload: how much is sent, that it is done, or why it is not taken.

import { button, element } from "../elements.ts";
import { upload } from "./calls.ts";
import type { StoredFile } from "./calls.ts";
import { _, sizeText } from "../words.ts";

export async function showUpload(file: File, list: HTMLElement): Promise<StoredFile> {
  const bar = element("progress", { class: "progress", max: String(file.size || 1), "aria-label": _("Sending %(file)s", { file: file.name }) });
  const said = element("span", { class: "small soft num" }, sizeText(file.size));
  const row = element("li", { class: "up-row" }, element("span", {}, file.name), bar, said);
  bar.value = 0;
  list.hidden = false;
  list.append(row);
  const attempt = async (): Promise<StoredFile> => {
    try {
      const stored = await upload(file, (sent, total) => {
        bar.value = (file.size * sent) / total;
        said.textContent = sent < total ? _("%(part)s of %(size)s", { part: sizeText((file.size * sent) / total), size: sizeText(file.size) }) : _("Storing…");
      });
      bar.replaceWith(element("span", { class: "small good" }, _("Done")));
      said.textContent = sizeText(file.size);
      return stored;
    } catch (error) {
      return new Promise((resolve) => {
        const retry = button(_("Try again"), () => {
          why.replaceWith(bar);
          retry.remove();
          resolve(attempt());
        });
        const why = element("span", { class: "small bad", role: "alert" }, (error as Error).message);
        bar.replaceWith(why);
        said.replaceChildren(retry);
        // The others need not wait for a decision.
        list.dispatchEvent(new CustomEvent("refused"));
      });
    }
  };
  return attempt();
}
