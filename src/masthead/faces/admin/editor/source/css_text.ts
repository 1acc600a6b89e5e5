// What a pasted text's style says, read as a string: under the page's policy an element's own
// style is empty.

export interface Css {
  isBold: boolean;
  isItalic: boolean;
  isStruck: boolean;
  isUnderlined: boolean;
  shift: "" | "super" | "sub";
  isCode: boolean;
  /** Word's `mso-list`: level and the number of the list; null outside a list. */
  list: { level: number; id: string } | null;
}

/** Renames `style` inside tags to `data-css`, so that parsing does not lose it, and `onclick` and the
 * like, which the page's policy would report. Drops sheets. */
export function withoutStyles(html: string): string {
  const sheetless = html.replace(/<style\b[\s\S]*?<\/style>/gi, "");
  return inTags(sheetless, (tag) =>
    tag.replace(/(\s)style(\s*=)/gi, "$1data-css$2").replace(/([\s"'/])(on[a-z]+\s*=)/gi, "$1data-$2"),
  );
}

/** A sign > inside quotes ends no tag. Once a quote is open to the end, quotes count no more. */
function inTags(html: string, changed: (tag: string) => string): string {
  const parts: string[] = [];
  let hasQuotes = true;
  let at = 0;
  for (let open = html.search(/<[a-z]/i); open >= 0; ) {
    let end = hasQuotes ? endOfTag(html, open) : html.indexOf(">", open);
    if (end < 0 && hasQuotes) {
      hasQuotes = false;
      end = html.indexOf(">", open);
    }
    if (end < 0) break;
    parts.push(html.slice(at, open), changed(html.slice(open, end + 1)));
    at = end + 1;
    TAG.lastIndex = at;
    open = TAG.exec(html)?.index ?? -1;
  }
  return parts.join("") + html.slice(at);
}

const TAG = /<[a-z]/gi;

function endOfTag(html: string, open: number): number {
  let quote = "";
  for (let at = open; at < html.length; at += 1) {
    const sign = html[at];
    if (quote) quote = sign === quote ? "" : quote;
    else if (sign === ">") return at;
    else if (sign === '"' || sign === "'") quote = sign;
  }
  return -1;
}

export function readCss(text: string): Css {
  const value = (name: string): string =>
    new RegExp(`(?:^|;)\\s*${name}\\s*:\\s*([^;]*)`, "i").exec(text)?.[1].trim().toLowerCase() ?? "";
  const weight = value("font-weight");
  const line = value("text-decoration") + value("text-decoration-line");
  const shift = value("vertical-align");
  const list = /l(\d+)\s+level(\d+)/i.exec(value("mso-list"));
  return {
    isBold: weight === "bold" || weight === "bolder" || Number(weight) >= 600,
    isItalic: /^(italic|oblique)/.test(value("font-style")),
    isStruck: line.includes("line-through"),
    isUnderlined: line.includes("underline"),
    shift: shift === "super" || shift === "sub" ? shift : "",
    isCode: /(consolas|courier|menlo|monaco|monospace)/.test(value("font-family")),
    list: list ? { id: list[1], level: Number(list[2]) } : null,
  };
}
