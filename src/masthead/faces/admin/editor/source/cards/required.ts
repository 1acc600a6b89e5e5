// What a card needs to be sent. Apart from the cards themselves, because pages that only send stored
// texts need it, too.

export const REQUIRED: Record<string, string[]> = {
  audio: ["src"],
  bookmark: ["url"],
  button: ["url", "label"],
  callout: [],
  embed: ["url"],
  file: ["src"],
  gallery: ["images"],
  html: ["html"],
  join: [],
  toggle: [],
  video: ["src"],
};

export function isMissing(value: unknown): boolean {
  return Array.isArray(value) ? !value.length : !value;
}
