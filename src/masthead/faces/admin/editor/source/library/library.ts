// `<mh-library>`: uploads into the library with their progress, and an item beside the list.

import { showUpload } from "./upload_row.ts";
import { counted } from "../words.ts";

declare global {
  interface Window {
    htmx?: { process: (element: Element) => void };
  }
}

const AT_ONCE = 2;
const HAS_ROOM = matchMedia("(min-width: 64.01rem)");

// `focus.js` keeps the place of someone who is in the part that is replaced.
function replaceUnderFocus(replace: () => void): void {
  document.dispatchEvent(new CustomEvent("mh-replace", { detail: replace }));
}

export class Library extends HTMLElement {
  private readonly waiting: File[] = [];
  private running = 0;
  private stored = 0;
  private shows = 0;
  private rows!: HTMLElement;
  private said!: HTMLElement;

  connectedCallback(): void {
    this.rows = this.querySelector<HTMLElement>("[data-uploads]")!;
    this.said = this.querySelector<HTMLElement>("[data-upload-status]")!;
    const chooser = this.querySelector<HTMLInputElement>("#files")!;
    chooser.addEventListener("change", () => {
      this.add(chooser.files ?? []);
      chooser.value = "";
    });
    this.rows.addEventListener("refused", () => this.ended());
    document.addEventListener("dragover", (event) => {
      if (!event.dataTransfer?.types.includes("Files")) return;
      event.preventDefault();
      this.classList.add("is-over");
    });
    document.addEventListener("dragleave", (event) => {
      if (!event.relatedTarget) this.classList.remove("is-over");
    });
    document.addEventListener("drop", (event) => {
      this.classList.remove("is-over");
      if (!event.dataTransfer?.files.length) return;
      event.preventDefault();
      this.add(event.dataTransfer.files);
    });
    this.addEventListener("click", (event) => this.clicked(event));
    this.addEventListener("keydown", (event) => {
      if (event.key !== "Escape" || !(event.target as Element).closest("[data-detail]")) return;
      this.querySelector<HTMLElement>("a[data-item][aria-current]")?.focus();
    });
  }

  private add(files: Iterable<File>): void {
    this.waiting.push(...files);
    this.next();
  }

  private next(): void {
    while (this.running < AT_ONCE && this.waiting.length) {
      this.running += 1;
      void showUpload(this.waiting.shift()!, this.rows).then(() => {
        this.stored += 1;
        this.ended();
      });
    }
  }

  // One has ended, well or not. Tried again, it ends a second time.
  private ended(): void {
    this.running = Math.max(this.running - 1, 0);
    this.next();
    if (this.running || this.waiting.length) return;
    this.said.textContent = counted("One file uploaded.", "%(number)s files uploaded.", this.stored);
    if (this.stored) void this.refresh();
  }

  private async refresh(): Promise<void> {
    const answer = await fetch(location.href);
    if (!answer.ok || answer.redirected) return;
    const fresh = new DOMParser().parseFromString(await answer.text(), "text/html");
    replaceUnderFocus(() => {
      this.querySelector("h1")!.replaceWith(fresh.querySelector("h1")!);
      const list = this.querySelector("#list");
      const freshList = fresh.querySelector("#list");
      if (list && freshList) list.replaceWith(freshList);
      // The first files of all.
      else this.querySelector(".empty")?.replaceWith(...fresh.querySelectorAll("mh-library > .filters, mh-library > .media"));
    });
    window.htmx?.process(this);
  }

  private clicked(event: MouseEvent): void {
    const link = (event.target as Element).closest<HTMLAnchorElement>("a[data-item]");
    if (!link || !HAS_ROOM.matches || event.ctrlKey || event.metaKey || event.shiftKey || event.button) return;
    event.preventDefault();
    void this.show(link);
  }

  private async show(link: HTMLAnchorElement): Promise<void> {
    const list = new URL(location.href);
    list.searchParams.set("item", link.dataset.item ?? "");
    const back = list.pathname + list.search;
    const turn = ++this.shows;
    const answer = await fetch(`${link.pathname}?back=${encodeURIComponent(back)}`, { headers: { "HX-Request": "true" } });
    const elsewhere = answer.headers.get("HX-Redirect");
    const text = await answer.text();
    // Another one has been opened since.
    if (turn !== this.shows) return;
    if (elsewhere || !answer.ok) return void location.assign(elsewhere ?? link.href);
    for (const each of this.querySelectorAll("a[data-item]")) {
      if (each === link) each.setAttribute("aria-current", "true");
      else each.removeAttribute("aria-current");
      each.closest("tr")?.toggleAttribute("data-selected", each === link);
    }
    const place = this.querySelector<HTMLElement>("[data-detail]")!;
    place.innerHTML = text;
    history.replaceState(null, "", back);
    place.querySelector<HTMLElement>("h2")!.focus({ preventScroll: true });
    place.scrollIntoView({ block: "nearest" });
  }
}
