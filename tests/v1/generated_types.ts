// Compiles only if the types made from the API's description say what the API does.
import type { components, operations, paths } from "./api";

type Post = components["schemas"]["Post"];
type Created = paths["/api/v1/posts"]["post"]["responses"][201]["content"]["application/json"];
type Refused = paths["/api/v1/posts"]["post"]["responses"][422]["content"]["application/json"];
type Body = operations["createPost"]["requestBody"]["content"]["application/json"];
type Query = NonNullable<operations["listPosts"]["parameters"]["query"]>;

export const smallest: Body = { title: "Hello" };
export const query: Query = { per_page: 100, status: "draft", updated_since: "2026-11-14T09:30:00Z" };

type Numbers = NonNullable<operations["viewStats"]["parameters"]["query"]>;
type Offer = operations["createOffer"]["requestBody"]["content"]["application/json"];
type Replay = operations["replayEvents"]["requestBody"]["content"]["application/json"];
type Member = components["schemas"]["Member"];

export const november: Numbers = { from: "2026-11-01", to: "2026-11-30" };
export const spring: Offer = { code: "spring", tier: "t1", kind: "percent", value: 50 };
export const morning: Replay = { from: "2026-11-14T09:00:00Z", to: "2026-11-14T12:00:00Z" };

export function level(member: Member): string | null | undefined {
  return member.tier_id;
}

export function title(created: Created): string {
  return created.data.title;
}

export function publishedAt(post: Post): string | null {
  return post.published_at;
}

export function firstProblem(refused: Refused): string | undefined {
  return refused.error.details["title"]?.[0];
}

// @ts-expect-error a title is required
export const withoutTitle: Body = { excerpt: "…" };
// @ts-expect-error no such state
export const badState: Body = { title: "Hello", status: "archived" };
// @ts-expect-error no such kind of offer
export const badOffer: Offer = { code: "spring", tier: "t1", kind: "free", value: 50 };
// @ts-expect-error a span has an end
export const endless: Replay = { from: "2026-11-14T09:00:00Z" };
// @ts-expect-error an excerpt may be null
export const excerpt: string = ({} as Post).excerpt;
