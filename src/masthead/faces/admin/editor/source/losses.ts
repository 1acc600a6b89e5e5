// What of a post's HTML the editor has no place for. The text inside always stays.

import { withoutStyles } from "./css_text.ts";

const KNOWN = new Set(
  (
    "a b blockquote body br caption code col colgroup del div em figcaption figure h1 h2 h3 h4 h5 h6 head hr html i img " +
    "input label li mark ol p pre s section span strike strong sub sup table tbody td tfoot th thead tr u ul"
  ).split(" "),
);

export function lost(html: string): string[] {
  const parsed = new DOMParser().parseFromString(withoutStyles(html), "text/html");
  const counts = new Map<string, number>();
  for (const each of parsed.body.querySelectorAll("*")) {
    const name = each.localName;
    const isKept = KNOWN.has(name) || (name === "iframe" && /^https:/.test(each.getAttribute("src") ?? ""));
    if (!isKept) counts.set(name, (counts.get(name) ?? 0) + 1);
  }
  return [...counts].map(([name, count]) => (count > 1 ? `${count} × ${name}` : name));
}
