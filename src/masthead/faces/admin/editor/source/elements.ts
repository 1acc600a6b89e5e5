// Small elements of the editor's own controls. Everything is made by calls: the page's policy
// allows no inline style or script, and texts never become markup.

import { _, LOCALE } from "./words.ts";

type Child = Node | string | null | undefined | false;
type Attributes = Record<string, string | boolean | null | undefined | ((event: never) => unknown)>;

export function element<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  attributes: Attributes = {},
  ...children: Child[]
): HTMLElementTagNameMap[K] {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === "function") made.addEventListener(name, value as EventListener);
    else if (value === true) made.setAttribute(name, "");
    else if (typeof value === "string") made.setAttribute(name, value);
  }
  made.append(...children.filter((child): child is Node | string => Boolean(child)));
  return made;
}

let sprite = "";

export function useSprite(address: string): void {
  sprite = address;
}

export function icon(name: string): SVGElement {
  const made = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  made.setAttribute("class", "i");
  made.setAttribute("aria-hidden", "true");
  const use = document.createElementNS("http://www.w3.org/2000/svg", "use");
  use.setAttribute("href", `${sprite}#${name}`);
  made.append(use);
  return made;
}

const isApple = typeof navigator !== "undefined" && /Mac|iP(hone|ad)/.test(navigator.platform);

/** The name of a key combination on this machine. */
export function keyNames(keys: string): string {
  if (isApple) return keys.replace("Ctrl", "⌘").replace("Alt", "⌥").replace("Shift", "⇧");
  return keys.replace("Ctrl", _("Ctrl")).replace("Shift", _("Shift"));
}

export function iconButton(name: string, label: string, click: () => void, keys = ""): HTMLButtonElement {
  return element(
    "button",
    {
      type: "button",
      class: "icon-btn",
      "aria-label": label,
      title: keys ? `${label} (${keyNames(keys)})` : label,
      // The text must not lose its selection.
      mousedown: (event: MouseEvent) => event.preventDefault(),
      click,
    },
    icon(name),
  );
}

export function button(label: string, click: () => void, kind = ""): HTMLButtonElement {
  return element("button", { type: "button", class: `btn btn-s${kind && ` btn-${kind}`}`, click }, label);
}

/** Arrow keys move inside a toolbar, which takes one Tab. */
export function roving(toolbar: HTMLElement): void {
  const controls = (): HTMLElement[] =>
    [...toolbar.querySelectorAll<HTMLElement>("button:not([disabled]), select, input")].filter(
      (each) => each.offsetParent !== null || each === document.activeElement,
    );
  const all = [...toolbar.querySelectorAll<HTMLElement>("button")];
  all.forEach((each, index) => (each.tabIndex = index === 0 ? 0 : -1));
  toolbar.addEventListener("focusin", (event) => {
    for (const each of toolbar.querySelectorAll<HTMLElement>("button")) each.tabIndex = -1;
    (event.target as HTMLElement).tabIndex = 0;
  });
  toolbar.addEventListener("keydown", (event) => {
    const found = controls();
    const at = found.indexOf(document.activeElement as HTMLElement);
    if (at < 0 || document.activeElement instanceof HTMLInputElement) return;
    const to = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: found.length - 1 }[event.key];
    if (to === undefined) return;
    event.preventDefault();
    found[(to + found.length) % found.length].focus();
  });
}

export function clock(moment: Date | string): string {
  return new Date(moment).toLocaleTimeString(LOCALE, { hour: "2-digit", minute: "2-digit" });
}
