// The server that the histories run against, as a model of content/texts/editing.py. http_server.ts is the
// real one.

import type { Answer, Snapshot } from "../../source/kept.ts";
import { NEW } from "../../source/kept.ts";

export interface Opened {
  version: string;
  mine: Snapshot;
}

export interface Server {
  readonly url: string;
  open(account: string): Promise<Opened>;
  save(account: string, body: string): Promise<Answer>;
  /** What Publish and Update do. */
  publish(account: string, version: string): Promise<void>;
  discard(account: string, version: string): Promise<void>;
  /** A program writes a text of its own. */
  outside(words: readonly string[]): Promise<void>;
  /** All words in the text, its working copy and its revisions. */
  words(): Promise<Set<string>>;
}

export function snapshot(words: readonly string[]): Snapshot {
  const paragraph = words.length
    ? { type: "paragraph", content: [{ type: "text", text: words.join(" ") }] }
    : { type: "paragraph" };
  return { fields: { title: "Fog" }, content_json: { type: "doc", content: [paragraph] } };
}

export function wordsOf(found: unknown): string[] {
  return JSON.stringify(found ?? "").match(/\b[wx]\d+\b/g) ?? [];
}

interface Text {
  version: number;
  words: string[];
  by: string;
}

interface Copy extends Text {
  id: number;
  base: number;
}

/** Two accounts, a draft or a published text. One sitting: the clock stands still for it. */
export class ModelServer implements Server {
  readonly url = "/admin/posts/p/text";
  private text: Text | null = null;
  private copy: Copy | null = null;
  private isPublished = false;
  private copies = 0;
  private readonly earlier: string[][] = [];

  constructor(isNew: boolean) {
    if (!isNew) this.text = { version: 1, words: [], by: "" };
  }

  async open(): Promise<Opened> {
    return { version: this.version(), mine: snapshot(this.shown().words) };
  }

  async save(account: string, sent: string): Promise<Answer> {
    const body = JSON.parse(sent) as Record<string, unknown>;
    if (this.version() !== body.version) return this.conflict();
    if (body.discards === true) {
      await this.discard(account, this.version());
      return this.saved();
    }
    const words = wordsOf(body.content_json);
    const replaces = body.replaces === true;
    if (!this.text) this.text = { version: 1, words, by: account };
    else if (!this.isPublished) this.saveDraft(account, words, replaces);
    else if (this.isOutdated() && !replaces) return this.conflict();
    else this.saveCopy(account, words, replaces);
    return this.saved();
  }

  private saveDraft(account: string, words: string[], replaces: boolean): void {
    const text = this.text!;
    if (same(text.words, words)) return;
    if (replaces || text.by !== account) this.earlier.push(text.words);
    this.text = { version: text.version + 1, words, by: account };
  }

  private saveCopy(account: string, words: string[], replaces: boolean): void {
    const base = this.text!.version;
    if (!this.copy) {
      this.copies += 1;
      this.copy = { id: this.copies, version: 1, words, base, by: account };
      return;
    }
    const { copy } = this;
    if (replaces || copy.by !== account) this.store(copy.words, words);
    if (same(copy.words, words) && copy.base === base) return;
    this.copy = { ...copy, version: copy.version + 1, words, base, by: account };
  }

  async publish(account: string, version: string): Promise<void> {
    if (!this.text || version === NEW || this.version() !== version) return;
    if (this.isPublished && this.isOutdated()) return;
    const words = this.shown().words;
    if (!same(this.text.words, words)) this.earlier.push(this.text.words);
    this.text = { version: this.text.version + 1, words, by: account };
    this.copy = null;
    this.isPublished = true;
  }

  async discard(_account: string, version: string): Promise<void> {
    if (!this.copy || this.version() !== version) return;
    this.store(this.copy.words, this.text?.words);
    this.copy = null;
  }

  async outside(words: readonly string[]): Promise<void> {
    if (!this.text) return;
    if (this.text.by !== "") this.earlier.push(this.text.words);
    this.text = { version: this.text.version + 1, words: [...words], by: "" };
  }

  async words(): Promise<Set<string>> {
    return new Set([...(this.text?.words ?? []), ...(this.copy?.words ?? []), ...this.earlier.flat()]);
  }

  private store(words: string[], instead: string[] = []): void {
    if (!same(words, instead)) this.earlier.push(words);
  }

  private shown(): { words: string[] } {
    return this.copy ?? this.text ?? { words: [] };
  }

  private version(): string {
    if (!this.text) return NEW;
    return `${this.text.version}.${this.copy ? `${this.copy.id}-${this.copy.version}` : 0}`;
  }

  private isOutdated(): boolean {
    return this.copy !== null && this.copy.base !== this.text!.version;
  }

  private saved(): Answer {
    return { status: 200, body: { version: this.version(), saved_at: "" }, retryAfter: 0 };
  }

  private conflict(): Answer {
    const theirs = this.isOutdated() ? this.text! : this.shown();
    const { fields, content_json } = snapshot(theirs.words);
    const body = { version: this.version(), title: "Fog", fields: { ...fields, title: "Fog" }, content_json };
    return { status: 409, body: { ...body, is_live: this.isOutdated(), by: "", at: "" }, retryAfter: 0 };
  }
}

function same(one: readonly string[], other: readonly string[]): boolean {
  return one.join(" ") === other.join(" ");
}
