// The real server, by HTTP: as the editor's pages and the record store show it.

import type { Answer, Snapshot } from "../../source/kept.ts";
import { NEW } from "../../source/kept.ts";
import type { Opened, Server } from "./server.ts";
import { snapshot, wordsOf } from "./server.ts";

export interface Account {
  /** Site and account, as the pages name them. */
  owner: string;
  /** Of the sign-in. */
  token: string;
}

export interface Place {
  url: string;
  /** By the names that the histories have for them. */
  accounts: Record<string, Account>;
}

export class HttpServer implements Server {
  readonly url: string;
  private readonly place: Place;
  private readonly id: string;
  private readonly formTokens = new Map<string, string>();

  constructor(place: Place, id: string) {
    [this.place, this.id, this.url] = [place, id, `/admin/posts/${id}/text`];
  }

  async open(account: string): Promise<Opened> {
    const answer = await this.fetch(account, `/admin/posts/new?id=${this.id}`);
    const page = await answer.text();
    const version = /data-version="([^"]*)"/.exec(page)?.[1];
    if (!answer.ok || !version) throw new Error(`The page answered ${answer.status}`);
    const document = decoded(/<textarea id="text-document"[^>]*>([^<]*)</.exec(page)?.[1] ?? "");
    const { fields } = snapshot([]);
    const content_json = (document ? JSON.parse(document) : snapshot([]).content_json) as Snapshot["content_json"];
    return { version, mine: { fields, content_json } };
  }

  async save(account: string, body: string): Promise<Answer> {
    const answer = await this.fetch(account, this.url, body);
    return { status: answer.status, body: (await answer.json()) as Record<string, unknown>, retryAfter: 0 };
  }

  async publish(account: string, version: string): Promise<void> {
    if (version === NEW) return;
    // As the page before it says: what is most likely wanted.
    const address = `/admin/posts/${this.id}/publish`;
    const page = await (await this.fetch(account, address)).text();
    const said = /name="said"\s+value="([^"]*)"/.exec(page)?.[1] ?? "";
    const form = new URLSearchParams({ form_token: await this.formToken(account), version, said });
    const answer = await this.fetch(account, address, form);
    if (answer.status !== 303) throw new Error(`publishing was answered ${answer.status}`);
  }

  async discard(account: string, version: string): Promise<void> {
    if (version !== NEW) await this.press(account, version, "discard");
  }

  private async press(account: string, version: string, action: string): Promise<void> {
    const form = new URLSearchParams({ form_token: await this.formToken(account), version, action, title: "Fog" });
    const answer = await this.fetch(account, `/admin/posts/${this.id}`, form);
    if (![303, 409].includes(answer.status)) throw new Error(`${action} was answered ${answer.status}`);
  }

  async outside(words: readonly string[]): Promise<void> {
    await fetch(`${this.place.url}/api/collections/posts/records/${this.id}`, {
      method: "PATCH",
      headers: { authorization: this.place.accounts.program.token, "content-type": "application/json" },
      body: JSON.stringify({ content_json: snapshot(words).content_json }),
    });
  }

  async words(): Promise<Set<string>> {
    const found: string[] = [];
    const filters = { posts: "id", post_working_copies: "post_id", post_revisions: "post_id" };
    for (const [collection, name] of Object.entries(filters)) {
      const filter = encodeURIComponent(`${name} = "${this.id}"`);
      const path = `/api/collections/${collection}/records?perPage=100&filter=${filter}`;
      const [first] = Object.values(this.place.accounts);
      const answer = await fetch(this.place.url + path, { headers: { authorization: first.token } });
      if (!answer.ok) throw new Error(`${path} answered ${answer.status}`);
      found.push(...wordsOf(await answer.json()));
    }
    return new Set(found);
  }

  private async fetch(account: string, path: string, body?: string | URLSearchParams): Promise<Response> {
    const { owner, token } = this.place.accounts[account];
    const headers: Record<string, string> = {
      cookie: `pb_auth=${token}`,
      "x-page-owner": owner,
      origin: this.place.url,
      "sec-fetch-site": "same-origin",
    };
    if (typeof body === "string") {
      headers["content-type"] = "application/json";
      headers["x-form-token"] = await this.formToken(account);
    }
    const method = body === undefined ? "GET" : "POST";
    const redirect = method === "POST" ? "manual" : "follow";
    return fetch(this.place.url + path, { method, headers, body, redirect });
  }

  private async formToken(account: string): Promise<string> {
    const known = this.formTokens.get(account);
    if (known) return known;
    const answer = await this.fetch(account, "/admin/form-token");
    const { form_token: found } = (await answer.json()) as { form_token: string };
    this.formTokens.set(account, found);
    return found;
  }
}

function decoded(text: string): string {
  const signs: Record<string, string> = { "&#34;": '"', "&#39;": "'", "&lt;": "<", "&gt;": ">", "&amp;": "&" };
  return text.replace(/&(#34|#39|lt|gt|amp);/g, (sign) => signs[sign]);
}
