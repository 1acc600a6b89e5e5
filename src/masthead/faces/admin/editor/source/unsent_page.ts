// On every page of the admin: sends what an editor has kept, and says what is still kept here.

import { Calls } from "./calls.ts";
import { button, element } from "./elements.ts";
import { nameOf, textOf } from "./kept.ts";
import { browserStore } from "./store.ts";
import { Tabs } from "./tabs.ts";
import { sendUnsent } from "./unsent.ts";
import type { Unsent } from "./unsent.ts";
import { _, listed } from "./words.ts";

const TOKEN_URL = "/admin/form-token";

async function begin(owner: string): Promise<void> {
  const calls = new Calls(owner, "", TOKEN_URL);
  const tabs = new Tabs();
  const post = async (url: string, body: string): ReturnType<Calls["post"]> => {
    if (!calls.token) await calls.renewToken();
    return calls.post(url, body);
  };
  const editor = document.querySelector<HTMLElement>("mh-editor");
  const except = editor ? textOf(owner, editor.dataset.saveUrl ?? "") : "";
  const found = await sendUnsent(browserStore, post, () => tabs.alive(), owner, except);
  const sent = found.filter(({ outcome }) => outcome === "sent");
  const kept = found.filter(({ outcome }) => outcome !== "sent");
  if (sent.length) sayWhatIsSaved(sent);
  const place = document.querySelector<HTMLElement>("[data-unsent]");
  if (!place || !kept.length) return;
  const mark = (): void => sayWhatIsKept(place, kept);
  mark();
  // The list is replaced as it is filtered.
  const list = document.getElementById("list")?.parentElement;
  if (list) new MutationObserver(mark).observe(list, { childList: true });
}

function sayWhatIsSaved(sent: readonly Unsent[]): void {
  for (const { kept } of sent) {
    const link = linkTo(kept.url);
    if (link) link.textContent = nameOf(kept.mine);
  }
  const names = sent.map(({ kept }) => _("“%(title)s”", { title: nameOf(kept.mine) }));
  const said = element("span", { class: "pad-r" }, _("Saved the changes that this browser had kept: %(names)s.", { names: listed(names) }));
  const toast = document.createElement("mh-toast");
  toast.className = "toast";
  toast.append(said);
  document.querySelector(".toast-place")?.append(toast);
}

function sayWhatIsKept(place: HTMLElement, all: readonly Unsent[]): void {
  const section = place.dataset.unsent ?? "";
  const notices: HTMLElement[] = [];
  for (const each of all.filter(({ kept }) => kept.url.startsWith(section))) {
    const cell = linkTo(each.kept.url)?.parentElement;
    if (!cell) notices.push(notice(each));
    else if (!cell.querySelector("[data-kept]")) {
      cell.append(" ", element("span", { class: "badge badge-warn", "data-kept": "", title: why(each) }, _("Kept in this browser, not saved yet")));
    }
  }
  place.replaceChildren(...notices);
}

function linkTo(url: string): HTMLAnchorElement | null {
  return document.querySelector<HTMLAnchorElement>(`#list a.title[href="${CSS.escape(url.replace(/\/text$/, ""))}"]`);
}

function notice(unsent: Unsent): HTMLElement {
  const { mine, page } = unsent.kept;
  return element(
    "div",
    { class: "notice notice-warn" },
    element("p", {}, element("b", {}, _("“%(title)s”: kept in this browser, not saved yet.", { title: nameOf(mine) })), ` ${why(unsent)}`),
    button(_("Open the text"), () => location.assign(page)),
  );
}

function why({ outcome, reason }: Unsent): string {
  if (outcome === "differs") return _("It was changed in another tab or by someone else. Open it to choose between the two.");
  if (outcome === "waiting") return _("The server can’t be reached. The next page will try again.");
  return reason;
}

const { pageOwner } = document.body.dataset;
if (pageOwner) {
  void begin(pageOwner);
  addEventListener("online", () => void begin(pageOwner));
}
