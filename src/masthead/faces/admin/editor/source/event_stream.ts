// The answer of /api/ai/generate, piece by piece (docs/ai.md).

import { _, serverAnswered } from "./words.ts";

export type Piece =
  | { text: string }
  | { error: string; retryable: boolean };

const REASONS: Record<string, string> = {
  provider_timeout: _("The provider took too long."),
  provider_disconnected: _("The provider stopped in the middle."),
  provider_garbled: _("The provider sent something unreadable."),
  provider_error: _("The provider reported an error."),
  provider_rate_limited: _("The provider is busy."),
  content_filtered: _("The provider refuses to continue this text."),
  empty_answer: _("The provider sent no text."),
  answer_too_long: _("The answer became too long."),
  service_stopping: _("The service is being restarted."),
  internal_error: _("Something went wrong on the server."),
};

/** One event's data; null for what is no news. */
export function read(data: string): Piece | null {
  if (data === "[DONE]") return null;
  const given = JSON.parse(data) as Record<string, unknown>;
  if (typeof given.text === "string") return { text: given.text };
  if (typeof given.error === "string") return { error: given.error, retryable: false };
  if (given.event === "stream_failed") {
    const reason = String(given.reason);
    return { error: REASONS[reason] ?? _("The answer stopped early (%(reason)s).", { reason }), retryable: given.retryable === true };
  }
  return null;
}

/** The data of the whole events in `received`, and what is left over. */
export function split(received: string): [string[], string] {
  const events = received.replaceAll("\r\n", "\n").split("\n\n");
  const rest = events.pop() ?? "";
  const data = events.map((event) =>
    event
      .split("\n")
      .filter((line) => line.startsWith("data:"))
      .map((line) => line.slice(5).trimStart())
      .join("\n"),
  );
  return [data.filter(Boolean), rest];
}

export interface Provider {
  url: string;
  /** The site, where the host does not name it. */
  tenantId?: string;
}

export async function* generate(
  provider: Provider,
  body: Record<string, string>,
  signal: AbortSignal,
): AsyncGenerator<Piece> {
  const answer = await fetch(provider.url, {
    method: "POST",
    headers: {
      "content-type": "application/json",
      accept: "text/event-stream",
      ...(provider.tenantId ? { "x-tenant-id": provider.tenantId } : {}),
    },
    body: JSON.stringify(body),
    signal,
  });
  if (!answer.ok || !answer.body) {
    yield { error: await refusal(answer), retryable: answer.status === 429 || answer.status >= 500 };
    return;
  }
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    const [events, left] = split(rest + value);
    rest = left;
    for (const data of events) {
      const piece = read(data);
      if (piece) yield piece;
    }
  }
}

async function refusal(answer: Response): Promise<string> {
  const wait = Number(answer.headers.get("retry-after"));
  if (answer.status === 429) {
    return wait ? _("Too many calls. Try again in %(seconds)s s.", { seconds: wait }) : _("Too many calls. Try again in a minute.");
  }
  return serverAnswered(answer.status);
}
