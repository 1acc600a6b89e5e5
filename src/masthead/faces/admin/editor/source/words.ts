// Words that a person sees, in the language of the page: `_("Save")`. English is in the source; a page in
// another language loads those of the admin's catalog before (vendor/words-de.js, which `make catalogs`
// writes). A message is one literal with named placeholders, as in Python.

type Values = Record<string, string | number>;
type Catalog = Record<string, string | string[]>;

const CATALOG = (globalThis as { mhWords?: Catalog }).mhWords ?? {};
/** How the page writes dates, numbers and lists. */
export const LOCALE = globalThis.document?.documentElement.lang || "en-GB";

export function _(message: string, values: Values = {}): string {
  return filled((CATALOG[message] as string | undefined) ?? message, values);
}

/** `%(number)s` in both is the number. All languages of the admin have these two forms. */
export function counted(one: string, many: string, number: number, values: Values = {}): string {
  const texts = CATALOG[one] ?? [one, many];
  return filled(texts[number === 1 ? 0 : 1], { number: numberText(number), ...values });
}

function filled(message: string, values: Values): string {
  return message.replace(/%\((\w+)\)s|%%/g, (mark, name) => (name ? String(values[name] ?? mark) : "%"));
}

export function numberText(value: number, digits = 0): string {
  return value.toLocaleString(LOCALE, { minimumFractionDigits: digits, maximumFractionDigits: digits });
}

export function sizeText(bytes: number): string {
  return bytes < 1_000_000 ? `${numberText(Math.ceil(bytes / 1_000))} KB` : `${numberText(bytes / 1_000_000, 1)} MB`;
}

export function listed(items: string[]): string {
  return new Intl.ListFormat(LOCALE).format(items);
}

export function serverAnswered(status: number): string {
  return _("The server answered %(status)s.", { status });
}
