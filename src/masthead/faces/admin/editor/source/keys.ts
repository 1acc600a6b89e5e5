// Keys of the whole page, and the button that opens the settings beside the text.

import type { Editor } from "@tiptap/core";
import { LINK } from "./commands.ts";

/** `publish` and `save` wherever the focus is; a link only in the text, elsewhere the same keys search. */
export function listenToKeys(editor: Editor, save: () => void, publish: (event: KeyboardEvent) => void): void {
  document.addEventListener(
    "keydown",
    (event) => {
      if (!(event.ctrlKey || event.metaKey) || event.altKey || event.shiftKey || event.isComposing) return;
      const actions: Record<string, () => void> = {
        s: save,
        enter: () => publish(event),
        ...(editor.view.hasFocus() && { k: () => link(editor) }),
      };
      const action = actions[event.key.toLowerCase()];
      if (!action) return;
      event.preventDefault();
      event.stopPropagation();
      action();
    },
    true,
  );
}

function link(editor: Editor): void {
  // What was selected by the key before this one: the browser tells of it only afterwards.
  (editor.view as unknown as { domObserver: { flush: () => void } }).domObserver.flush();
  LINK.run(editor);
}

export function openPanel(form: HTMLFormElement): void {
  const opener = form.querySelector<HTMLElement>("[data-panel-toggle]");
  const panel = document.getElementById(opener?.getAttribute("aria-controls") ?? "");
  if (!opener || !panel) return;
  // Whether it is open at first depends on the width of the window.
  const isShown = (): boolean => getComputedStyle(panel).display !== "none";
  opener.hidden = false;
  opener.setAttribute("aria-expanded", String(isShown()));
  opener.addEventListener("click", () => {
    panel.dataset.shown = isShown() ? "no" : "yes";
    opener.setAttribute("aria-expanded", String(isShown()));
  });
}
