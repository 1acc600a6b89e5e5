import { element } from "../elements.ts";
import { _ } from "../words.ts";

const PAUSE_MS = 200;
const CHOICES_URL = "/admin/media/choose";

// The pictures that a search finds. Answers may be late: the newest question counts, and the focus
// stays at its picture when the tiles are replaced under it.
export class FoundPictures {
  readonly place = element("div", { class: "choices-place" });
  private shown = "";
  private pause = 0;
  private asking: AbortController | null = null;

  constructor(private readonly search: HTMLInputElement) {}

  get tiles(): HTMLElement[] {
    return [...this.place.querySelectorAll<HTMLElement>("[data-picture]")];
  }

  stop(): void {
    clearTimeout(this.pause);
    this.asking?.abort();
    this.pause = 0;
    this.asking = null;
  }

  findSoon(): void {
    this.stop();
    this.pause = window.setTimeout(() => void this.find(), PAUSE_MS);
  }

  find(): Promise<boolean> {
    return this.load(`${CHOICES_URL}?q=${encodeURIComponent(this.search.value)}`);
  }

  // The only picture for what is typed now, or none.
  async findOnly(): Promise<HTMLElement | null> {
    const isNew = this.pause || this.asking ? await this.find() : true;
    return isNew && this.tiles.length === 1 ? this.tiles[0] : null;
  }

  // False for an answer that nobody waits for any more.
  async load(address: string): Promise<boolean> {
    this.stop();
    const mine = (this.asking = new AbortController());
    const found = await fetch(address, { headers: { "HX-Request": "true" }, signal: mine.signal })
      .then((answer) => (answer.ok && !answer.headers.get("HX-Redirect") ? answer.text() : ""))
      .catch(() => "");
    if (mine !== this.asking) return false;
    this.asking = null;
    this.replace(found);
    return true;
  }

  private replace(found: string): void {
    if (found && found === this.shown) return;
    const here = this.place.contains(document.activeElement) ? (document.activeElement as HTMLElement) : null;
    this.shown = found;
    if (found) this.place.innerHTML = found;
    else this.place.replaceChildren(element("p", { class: "bad", role: "alert" }, _("The library can’t be opened. Reload the page.")));
    if (!here) return;
    const { picture } = here.dataset;
    (this.tiles.find((each) => picture && each.dataset.picture === picture) ?? this.search).focus();
  }
}
