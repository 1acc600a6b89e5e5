// Sentences above the text, and versions of it that were set aside on this device.

import { leave, show } from "./dialogs.ts";
import { blocks } from "./documents.ts";
import { button, clock, element } from "./elements.ts";
import type { Aside } from "./kept.ts";
import { listAside } from "./store.ts";
import { _, counted, LOCALE } from "./words.ts";

export class Notices {
  readonly place = element("div", { class: "ed-notices" });

  /** `left` gets the focus from a notice that is closed. */
  constructor(private readonly left: () => void = () => undefined) {}

  add(kind: "info" | "warn", sentence: string, id = "", actions: HTMLElement[] = []): void {
    if (id) this.remove(id);
    const made: HTMLElement = element(
      "div",
      { class: `notice notice-${kind}`, role: "status", "data-notice": id },
      element("p", {}, sentence),
      ...actions,
      button(_("Close"), () => (made.remove(), this.left()), "quiet"),
    );
    this.place.append(made);
  }

  remove(id: string): void {
    for (const each of this.place.children) if ((each as HTMLElement).dataset.notice === id) each.remove();
  }
}

/** Versions that were not taken in a conflict, and those of other tabs that ended at once. */
export async function offerAside(notices: Notices, text: string): Promise<void> {
  const found = await listAside(text).catch(() => []);
  const [newest] = found;
  if (!newest) return;
  const sentence = counted(
    "A version of %(moment)s, which you did not take, is still on this device.",
    "%(number)s other versions that you wrote are still on this device, the newest of %(moment)s.",
    found.length,
    { moment: moment(newest) },
  );
  notices.add("info", sentence, "aside", [button(_("Show"), () => showAll(found))]);
}

function moment({ at }: Aside): string {
  return `${new Date(at).toLocaleDateString(LOCALE)}, ${clock(at)}`;
}

function showAll(found: readonly Aside[]): void {
  const parts = found.flatMap((each) => {
    const text = [each.mine.fields.title ?? "", ...blocks(each.mine.content_json)].join("\n\n");
    const copy = button(_("Copy"), () => void navigator.clipboard.writeText(text));
    return [
      element("p", { class: "hint" }, moment(each)),
      element("pre", { class: "code code-text", tabindex: "0" }, text),
      element("div", { class: "actions" }, copy),
    ];
  });
  const close = button(_("Close"), () => leave(dialog));
  const heading = found.length > 1 ? _("Your other versions") : _("Your other version");
  const dialog = show(heading, [...parts, element("div", { class: "actions" }, close)]);
}
