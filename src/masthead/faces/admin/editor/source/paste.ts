// Makes plain HTML of what other programs put on the clipboard, before the editor reads it.

import type { EditorView } from "@tiptap/pm/view";
import { readCss, withoutStyles } from "./css_text.ts";
import { _ } from "./words.ts";

const CSS = "data-css";

/** Ctrl Shift V. ProseMirror notes the key and shows it to nobody else. */
export function isPlainPaste(view: EditorView): boolean {
  return (view as unknown as { input?: { shiftKey?: boolean } }).input?.shiftKey === true;
}

export function cleanPaste(html: string): string {
  const parsed = new DOMParser().parseFromString(withoutStyles(withoutOfficeComments(html)), "text/html");
  const body = parsed.body;
  for (const each of body.querySelectorAll("style, script, meta, link, title, o\\:p, xml")) each.remove();
  const isSheet = body.querySelector("google-sheets-html-origin") !== null;
  unwrapDocs(body);
  wordLists(body);
  wordHeadings(body);
  for (const each of body.querySelectorAll(`[${CSS}]`)) {
    if (!isSheet) marks(each as HTMLElement);
    each.removeAttribute(CSS);
  }
  pictures(body);
  tables(body);
  lists(body);
  return body.innerHTML;
}

/** Word hides its list numbers in `<![if !supportLists]>`, and more in `<!--[if …]>`. */
function withoutOfficeComments(html: string): string {
  return html
    .replace(/<!--\[if[\s\S]*?<!\[endif\]-->/gi, "")
    .replace(/<!\[if !supportLists\]>[\s\S]*?<!\[endif\]>/gi, "")
    .replace(/<!\[(?:if[^\]]*|endif)\]>/gi, "");
}

/** Google Docs wraps all it copies in a `<b>` that is not bold. */
function unwrapDocs(body: HTMLElement): void {
  for (const each of body.querySelectorAll('b[id^="docs-internal-guid"]')) unwrap(each);
  for (const each of body.querySelectorAll("google-sheets-html-origin")) unwrap(each);
}

function unwrap(element: Element): void {
  element.replaceWith(...element.childNodes);
}

/** A style becomes the tags that say the same. Where a tag says it already, one is enough. */
function marks(element: HTMLElement): void {
  const css = readCss(element.getAttribute(CSS) ?? "");
  // Programs write the look of a heading into it, and of a link into the link.
  const isBlock = /^(P|DIV|LI|TD|TH|UL|OL|TABLE|TR|H[1-6]|BLOCKQUOTE|PRE)$/.test(element.tagName);
  if (isBlock) return;
  const inHeading = element.closest("h1, h2, h3, h4, h5, h6") !== null;
  const inLink = element.closest("a") !== null;
  if (css.isBold && !inHeading) wrap(element, "strong");
  if (css.isItalic) wrap(element, "em");
  if (css.isStruck) wrap(element, "s");
  if (css.isUnderlined && !inLink && !element.querySelector("a")) wrap(element, "u");
  if (css.shift) wrap(element, css.shift === "super" ? "sup" : "sub");
  if (css.isCode && element.closest("pre") === null) wrap(element, "code");
}

function wrap(element: HTMLElement, tag: string): void {
  if (element.closest(tag) || element.textContent?.trim() === "") return;
  const around = element.ownerDocument.createElement(tag);
  around.append(...element.childNodes);
  element.append(around);
}

/** Word's list items are paragraphs that name their list and level. */
function wordLists(body: HTMLElement): void {
  const items = [...body.querySelectorAll<HTMLElement>(`p[${CSS}*="mso-list"]`)];
  let open: { list: HTMLElement; level: number; id: string }[] = [];
  let last: Element | null = null;
  for (const item of items) {
    const css = readCss(item.getAttribute(CSS) ?? "");
    if (!css.list) continue;
    const { level, id } = css.list;
    const follows = item.previousElementSibling === last && last !== null;
    if (!follows || open[0]?.id !== id) open = [];
    while (open.length && open[open.length - 1].level > level) open.pop();
    if (!open.length || open[open.length - 1].level < level) {
      const list = item.ownerDocument.createElement(isNumbered(item) ? "ol" : "ul");
      const parent = open.at(-1)?.list.lastElementChild;
      if (parent) parent.append(list);
      else item.before(list);
      open.push({ list, level, id });
    }
    const line = item.ownerDocument.createElement("li");
    const text = item.ownerDocument.createElement("p");
    text.append(...withoutBullet(item));
    line.append(text);
    open[open.length - 1].list.append(line);
    last = open[0].list;
    item.remove();
  }
}

const BULLET = /^\s*(?:[·•§o▪–-]|\(?(?:\d{1,3}|[a-z]{1,4})[.)])(?:[\s ]+|$)/i;

function isNumbered(item: HTMLElement): boolean {
  const marker = item.querySelector(`[${CSS}*="mso-list:Ignore"], [${CSS}*="mso-list: Ignore"]`);
  const text = (marker ?? item).textContent ?? "";
  return /^\s*\(?(?:\d{1,3}|[a-hj-z]|[ivxl]{1,4})[.)]/i.test(text);
}

function withoutBullet(item: HTMLElement): ChildNode[] {
  const marker = item.querySelector(`[${CSS}*="mso-list:Ignore"], [${CSS}*="mso-list: Ignore"]`);
  if (marker) marker.remove();
  else if (item.firstChild?.nodeType === Node.TEXT_NODE) {
    item.firstChild.textContent = (item.firstChild.textContent ?? "").replace(BULLET, "");
  }
  return [...item.childNodes];
}

/** Word on the web writes paragraphs with the role of a heading. */
function wordHeadings(body: HTMLElement): void {
  for (const each of body.querySelectorAll('[role="heading"]')) {
    const level = Math.min(Math.max(Number(each.getAttribute("aria-level")) || 2, 1), 6);
    const heading = each.ownerDocument.createElement(`h${level}`);
    heading.append(...each.childNodes);
    each.replaceWith(heading);
  }
  for (const each of body.querySelectorAll("p.MsoTitle")) {
    const heading = each.ownerDocument.createElement("h1");
    heading.append(...each.childNodes);
    each.replaceWith(heading);
  }
}

/** A picture on the author's disk, or of another tab, can't be read from here. */
function pictures(body: HTMLElement): void {
  for (const each of body.querySelectorAll("img")) {
    const source = each.getAttribute("src") ?? "";
    if (/^(file|blob|cid|x-apple|webkit-fake-url):/i.test(source) || !source) {
      each.replaceWith(each.alt ? _("[Picture: %(alt)s – drop it here]", { alt: each.alt }) : _("[Picture – drop it here]"));
    }
  }
}

/** A first row in a head is a row of header cells; columns have no widths here. */
function tables(body: HTMLElement): void {
  for (const each of body.querySelectorAll("colgroup, caption:empty")) each.remove();
  for (const cell of body.querySelectorAll("thead td")) {
    const header = cell.ownerDocument.createElement("th");
    header.append(...cell.childNodes);
    for (const name of ["colspan", "rowspan"]) {
      const value = cell.getAttribute(name);
      if (value) header.setAttribute(name, value);
    }
    cell.replaceWith(header);
  }
}

/** Google Docs puts an inner list after its item instead of into it. */
function lists(body: HTMLElement): void {
  for (const each of body.querySelectorAll("ul > ul, ul > ol, ol > ul, ol > ol")) {
    const item = each.previousElementSibling;
    if (item?.tagName === "LI") item.append(each);
  }
}
