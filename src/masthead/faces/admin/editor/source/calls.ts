// Calls to the admin, with the page's token, and the site and account that it is made for.

import type { Answer } from "./kept.ts";

const ANSWER_WITHIN = 30_000;
const NOTHING: Answer = { status: 0, body: {}, retryAfter: 0 };

export class Calls {
  token: string;
  private readonly owner: string;
  private readonly tokenUrl: string;
  private readonly renewed: (token: string) => void;

  constructor(owner: string, token: string, tokenUrl: string, renewed: (token: string) => void = () => undefined) {
    [this.owner, this.token, this.tokenUrl, this.renewed] = [owner, token, tokenUrl, renewed];
  }

  headers(): Record<string, string> {
    return { accept: "application/json", "x-form-token": this.token, "x-page-owner": this.owner };
  }

  async post(url: string, body: string, isLast = false): Promise<Answer> {
    const answer = await this.attempt(url, body, isLast);
    // A page that goes has no time for another try: the next one sends it again.
    if (answer.status !== 403 || isLast || !(await this.renewToken())) return answer;
    return this.attempt(url, body, false);
  }

  /** The answer to a question; null where there is none. */
  async get(url: string): Promise<Record<string, unknown> | null> {
    try {
      const answer = await fetch(url, { headers: this.headers(), signal: AbortSignal.timeout(ANSWER_WITHIN) });
      return answer.ok ? ((await answer.json()) as Record<string, unknown>) : null;
    } catch {
      return null;
    }
  }

  /** After a sign-in in another tab the page's token is no longer valid. True if there is another. */
  async renewToken(): Promise<boolean> {
    try {
      const answer = await fetch(this.tokenUrl, { headers: this.headers() });
      const { form_token: token } = (await answer.json()) as { form_token?: string };
      if (!answer.ok || !token || token === this.token) return false;
      this.token = token;
      this.renewed(token);
      return true;
    } catch {
      return false;
    }
  }

  async isReachable(): Promise<boolean> {
    try {
      await fetch(this.tokenUrl, { headers: this.headers(), signal: AbortSignal.timeout(ANSWER_WITHIN) });
      return true;
    } catch {
      return false;
    }
  }

  private async attempt(url: string, body: string, isLast: boolean): Promise<Answer> {
    try {
      const answer = await fetch(url, {
        method: "POST",
        headers: { "content-type": "application/json", ...this.headers() },
        body,
        keepalive: isLast,
        signal: isLast ? undefined : AbortSignal.timeout(ANSWER_WITHIN),
      });
      const found = (await answer.json().catch(() => ({}))) as Record<string, unknown>;
      return { status: answer.status, body: found, retryAfter: (Number(answer.headers.get("retry-after")) || 0) * 1_000 };
    } catch {
      return NOTHING;
    }
  }
}
