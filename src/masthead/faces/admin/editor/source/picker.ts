// A field with a list of what the server finds for its words: arrow keys move, Enter chooses. Who types an
// address instead, as for a link, chooses nothing.

import type { Calls } from "./calls.ts";
import { element, icon } from "./elements.ts";
import { _ } from "./words.ts";

export interface Found {
  label: string;
  note: string;
  id?: string;
  url?: string;
  icon?: string;
}

const ASK_AFTER = 150;
let count = 0;

export class Picker {
  readonly input: HTMLInputElement;
  readonly row: HTMLElement;
  private readonly list: HTMLElement;
  private readonly said = element("p", { class: "vh", role: "status" });
  private found: Found[] = [];
  private at = -1;
  private asked = 0;
  private timer = 0;
  private isAsking = false;
  /** Enter was pressed before the answer came. */
  private choosesFirst = false;

  /** `wants` says whether the text is words to search for. */
  constructor(
    label: string,
    attributes: Record<string, string>,
    private readonly find: (words: string) => Promise<Found[]>,
    private readonly choose: (found: Found) => void,
    private readonly wants: (text: string) => boolean = () => true,
  ) {
    count += 1;
    const id = `mh-picker-${count}`;
    this.list = element("ul", { class: "menu menu-flat picker", role: "listbox", id: `${id}-list`, "aria-label": _("Results"), hidden: true });
    this.input = element("input", {
      class: "input",
      id,
      type: "text",
      role: "combobox",
      "aria-expanded": "false",
      "aria-controls": `${id}-list`,
      "aria-autocomplete": "list",
      autocomplete: "off",
      spellcheck: "false",
      input: () => this.askSoon(),
      keydown: (event: KeyboardEvent) => this.key(event),
      ...attributes,
    });
    this.row = element("div", { class: "field" }, element("label", { for: id }, label), this.input, this.list, this.said);
  }

  /** At once, such as when the dialog opens. */
  async ask(): Promise<void> {
    window.clearTimeout(this.timer);
    const mine = (this.asked += 1);
    const words = this.input.value.trim();
    if (!this.wants(words)) {
      this.show([]);
      return;
    }
    this.isAsking = true;
    const found = await this.find(words);
    // Only the newest question is answered.
    if (mine !== this.asked) return;
    this.show(found);
    if (words) this.said.textContent = found.length ? _("%(number)s found", { number: found.length }) : _("Nothing found");
    if (this.choosesFirst && found.length) this.choose(found[0]);
    else if (this.choosesFirst) this.input.form?.requestSubmit();
  }

  private askSoon(): void {
    window.clearTimeout(this.timer);
    this.asked += 1;
    this.isAsking = this.wants(this.input.value.trim());
    this.choosesFirst = false;
    if (!this.isAsking) this.show([]);
    else this.timer = window.setTimeout(() => void this.ask(), ASK_AFTER);
  }

  private key(event: KeyboardEvent): void {
    const { length } = this.found;
    if (event.key === "ArrowDown" && length) this.mark((this.at + 1) % length);
    else if (event.key === "ArrowUp" && length) this.mark((this.at + length - 1) % length);
    else if (event.key === "Enter" && this.isAsking) this.choosesFirst = true;
    else if (event.key === "Enter" && this.at >= 0) this.choose(this.found[this.at]);
    else return;
    event.preventDefault();
  }

  private show(found: Found[]): void {
    this.isAsking = false;
    this.found = found;
    this.list.hidden = !found.length;
    this.input.setAttribute("aria-expanded", String(found.length > 0));
    this.list.replaceChildren(...found.map((each, index) => this.option(each, index)));
    this.mark(found.length ? 0 : -1);
  }

  private option(each: Found, index: number): HTMLElement {
    const mousedown = (event: MouseEvent): void => event.preventDefault();
    return element(
      "li",
      { class: "opt", role: "option", id: `${this.list.id}-${index}`, mousedown, click: () => this.choose(each) },
      each.icon ? icon(each.icon) : null,
      element("span", {}, each.label),
      each.note ? element("small", {}, each.note) : null,
    );
  }

  private mark(at: number): void {
    this.at = at;
    [...this.list.children].forEach((each, index) => {
      each.setAttribute("aria-selected", String(index === at));
      each.classList.toggle("is-hover", index === at);
    });
    const marked = this.list.children[at];
    if (marked) {
      this.input.setAttribute("aria-activedescendant", marked.id);
      marked.scrollIntoView({ block: "nearest" });
    } else this.input.removeAttribute("aria-activedescendant");
  }
}

/** Nothing where the server can't be asked: an address can be typed all the same. */
export async function foundAt(calls: Calls, url: string, words: string): Promise<Found[]> {
  const body = await calls.get(`${url}?q=${encodeURIComponent(words)}`);
  return Array.isArray(body?.found) ? (body.found as Found[]) : [];
}
