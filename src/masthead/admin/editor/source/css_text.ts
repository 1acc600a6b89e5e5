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

/** Renames `style` inside tags to `data-css`, so that parsing does not lose it, and drops sheets. */
export function withoutStyles(html: string): string {
  const sheetless = html.replace(/<style\b[\s\S]*?<\/style>/gi, "");
  return sheetless.replace(/<[a-z][^>]*>/gi, (tag) => tag.replace(/(\s)style(\s*=)/gi, "$1data-css$2"));
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
