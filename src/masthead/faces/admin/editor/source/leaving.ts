// A page may go at any moment: what is not sent yet is written and sent before.

import type { Saving } from "./saving.ts";

/** How long a link waits for the text to be saved. */
const LINK_WAITS = 1_000;

export function watchTheEnd(saving: Saving): void {
  addEventListener("online", () => saving.dispatch({ type: "online" }));
  addEventListener("pagehide", () => saving.leave());
  addEventListener("pageshow", (event) => {
    if (event.persisted) saving.back();
  });
  document.addEventListener("visibilitychange", () => {
    if (document.visibilityState === "hidden") saving.hidden();
  });
  addEventListener("beforeunload", (event) => {
    if (!saving.isOnDevice()) event.preventDefault();
  });
}

/** The page behind a link shows what was typed before it. A link in `text` is no way out. */
export function follow(event: MouseEvent, saving: Saving, text: HTMLElement): void {
  const link = (event.target as Element).closest<HTMLAnchorElement>("a[href]");
  const isPlain = event.button === 0 && !(event.ctrlKey || event.metaKey || event.shiftKey || event.altKey);
  if (!link || !isPlain || text.contains(link) || link.target || link.origin !== location.origin) return;
  if (event.defaultPrevented || ["clean", "conflict"].includes(saving.machine.phase)) return;
  event.preventDefault();
  const late = new Promise((resolve) => setTimeout(resolve, LINK_WAITS));
  void Promise.race([saving.flush(), late]).then(() => location.assign(link.href));
}
