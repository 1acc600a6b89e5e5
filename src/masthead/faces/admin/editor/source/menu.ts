// A menu that opens at a button: arrow keys, Enter, Escape; focus returns to where it was.

import { element, icon, keyNames } from "./elements.ts";

export interface Item {
  label: string;
  icon?: string;
  keys?: string;
  run: () => void;
  isActive?: boolean;
}

export type Group = { label: string; items: Item[] };

let open: { menu: HTMLElement; close: (focus: boolean) => void } | null = null;

export function openMenu(opener: HTMLElement, label: string, groups: Group[], refocus: () => void): void {
  const wasMine = open?.menu.dataset.label === label;
  open?.close(wasMine);
  if (wasMine) return;
  const menu = element("ul", { class: "menu menu-floating", role: "menu", "aria-label": label, "data-label": label });
  for (const group of groups) {
    menu.append(element("li", { class: "group", role: "presentation" }, group.label));
    for (const item of group.items) menu.append(row(item));
  }
  const buttons = [...menu.querySelectorAll<HTMLElement>("button")];
  const close = (focus: boolean): void => {
    menu.remove();
    open = null;
    opener.setAttribute("aria-expanded", "false");
    document.removeEventListener("pointerdown", outside, true);
    if (focus) refocus();
  };
  const outside = (event: Event): void => {
    if (!menu.contains(event.target as Node) && !opener.contains(event.target as Node)) close(false);
  };
  function row(item: Item): HTMLElement {
    const made = element(
      "button",
      {
        type: "button",
        role: "menuitem",
        tabindex: "-1",
        "aria-current": item.isActive ? "true" : null,
        mousedown: (event: MouseEvent) => event.preventDefault(),
        click: () => {
          close(true);
          item.run();
        },
      },
      item.icon ? icon(item.icon) : null,
      item.label,
      item.keys ? element("kbd", {}, keyNames(item.keys)) : null,
    );
    return element("li", { role: "presentation" }, made);
  }
  menu.addEventListener("keydown", (event) => {
    const at = buttons.indexOf(document.activeElement as HTMLElement);
    const to = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: buttons.length - 1 }[event.key];
    if (to !== undefined) buttons[(to + buttons.length) % buttons.length].focus();
    else if (event.key === "Escape" || event.key === "Tab") close(true);
    else return;
    event.preventDefault();
    event.stopPropagation();
  });
  opener.setAttribute("aria-expanded", "true");
  document.addEventListener("pointerdown", outside, true);
  // Inside a dialog of the page the menu must be in front of it too.
  (opener.closest("dialog") ?? document.body).append(menu);
  place(menu, opener.getBoundingClientRect());
  open = { menu, close };
  buttons[0]?.focus();
}

/** Below the place, or above it where there is no room; never outside the window. */
export function place(floating: HTMLElement, at: DOMRect): void {
  const { offsetWidth: width, offsetHeight: height } = floating;
  const margin = 8;
  const isAbove = at.bottom + height + margin > innerHeight && at.top - height - margin > 0;
  const top = isAbove ? at.top - height - 6 : at.bottom + 6;
  const left = Math.max(margin, Math.min(at.left, innerWidth - width - margin));
  floating.style.setProperty("top", `${Math.round(top)}px`);
  floating.style.setProperty("left", `${Math.round(left)}px`);
}
