// A row of one upload: how much is sent, that it is done, or why it is not taken.

import { button, element } from "../elements.ts";
import { amount, upload } from "./calls.ts";
import type { StoredFile } from "./calls.ts";

export async function showUpload(file: File, list: HTMLElement): Promise<StoredFile> {
  const bar = element("progress", { class: "progress", max: String(file.size || 1), "aria-label": `Sending ${file.name}` });
  const said = element("span", { class: "small soft num" }, amount(file.size));
  const row = element("li", { class: "up-row" }, element("span", {}, file.name), bar, said);
  bar.value = 0;
  list.hidden = false;
  list.append(row);
  const attempt = async (): Promise<StoredFile> => {
    try {
      const stored = await upload(file, (sent, total) => {
        bar.value = (file.size * sent) / total;
        said.textContent = sent < total ? `${amount((file.size * sent) / total)} of ${amount(file.size)}` : "Storing…";
      });
      bar.replaceWith(element("span", { class: "small good" }, "Done"));
      said.textContent = amount(file.size);
      return stored;
    } catch (error) {
      return new Promise((resolve) => {
        const retry = button("Try again", () => {
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
