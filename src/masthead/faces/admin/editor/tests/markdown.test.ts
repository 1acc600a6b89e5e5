import assert from "node:assert/strict";
import { test } from "node:test";
import type { JsonNode } from "../source/documents.ts";
import { toMarkdown } from "../source/markdown.ts";

type Mark = { type: string; attrs?: Record<string, unknown> };

const text = (value: string, ...marks: (string | Mark)[]): JsonNode => ({
  type: "text",
  text: value,
  marks: marks.map((each) => (typeof each === "string" ? { type: each } : each)),
});
const link = (href: string): Mark => ({ type: "link", attrs: { href } });
const node = (type: string, content: JsonNode[] = [], attrs: Record<string, unknown> = {}): JsonNode => ({ type, content, attrs });
const paragraph = (...content: JsonNode[]): JsonNode => node("paragraph", content);
const written = (...content: JsonNode[]): string => toMarkdown([paragraph(...content)]).markdown;

test("marks stand close to their words, whatever they hold", () => {
  assert.equal(written(text("A "), text("bold ", "bold"), text("and "), text(" slanted", "italic"), text(" word")), "A **bold** and  *slanted* word");
  assert.equal(written(text("both", "bold", "italic")), "***both***");
  assert.equal(written(text("all of ", "bold"), text("it", "bold", "italic")), "**all of *it***");
  assert.equal(written(text("raised", "superscript"), text(" and "), text("marked", "highlight")), "<sup>raised</sup> and <mark>marked</mark>");
  assert.equal(written(text("word"), text("“quoted”", "bold"), text("word")), "word<strong>“quoted”</strong>word");
});

test("an address is a number, and its words may be formatted", () => {
  const sent = toMarkdown([
    paragraph(text("the "), text("old ", link("https://a.example/x")), text("harbour", link("https://a.example/x"), "bold"), text(", "), text("here", link("/b"))),
  ]);
  assert.equal(sent.markdown, "the [old **harbour**](link-1), [here](link-2)");
  assert.deepEqual(sent.links, [{ href: "https://a.example/x" }, { href: "/b" }]);
});

test("code stays as it is, with marks that it does not hold", () => {
  assert.equal(written(text("say "), text("a`b *c*", "code")), "say ``a`b *c*``");
  assert.equal(toMarkdown([node("codeBlock", [text("```\n*x*")], { language: "md" })]).markdown, "````md\n```\n*x*\n````");
});

test("signs of the author are no formatting", () => {
  assert.equal(written(text("2 * 3 < 7 [x] a_b & `c`")), "2 \\* 3 \\< 7 \\[x\\] a\\_b \\& \\`c\\`");
  assert.equal(written(text("# not a heading")), "\\# not a heading");
  assert.equal(written(text("1. not a list")), "1\\. not a list");
  assert.equal(written(text("- not a list"), node("hardBreak"), text("> nor a quotation")), "\\- not a list\\\n\\> nor a quotation");
});

test("blocks are written as Markdown has them, one inside the other", () => {
  const item = (...content: JsonNode[]): JsonNode => node("listItem", content);
  const { markdown } = toMarkdown([
    node("heading", [text("Head")], { level: 3 }),
    node("bulletList", [item(paragraph(text("one")), node("orderedList", [item(paragraph(text("two")))], { start: 4 })), item(paragraph(text("three")))]),
    node("taskList", [node("taskItem", [paragraph(text("done"))], { checked: true }), node("taskItem", [paragraph(text("open"))])]),
    node("blockquote", [paragraph(text("said")), paragraph(text("more"))]),
    node("horizontalRule"),
  ]);
  assert.equal(
    markdown,
    "### Head\n\n- one\n  4. two\n- three\n\n- [x] done\n- [ ] open\n\n> said\n>\n> more\n\n---",
  );
});

test("what Markdown has no words for is a numbered line, and a picture in a line a numbered picture", () => {
  const figure = node("figure", [text("A caption")], { src: "/media/a.png" });
  const sent = toMarkdown([
    paragraph(text("Before "), { type: "image", attrs: { src: "/media/b.png", alt: "Fog [1]" } }),
    figure,
    node("table"),
  ]);
  assert.equal(sent.markdown, "Before ![Fog \\[1\\]](picture-1)\n\n{{1}}\n\n{{2}}");
  assert.deepEqual(sent.blocks, [figure, node("table")]);
  assert.deepEqual(sent.pictures, [{ src: "/media/b.png", alt: "Fog [1]" }]);
});

test("a part of a paragraph is a part of a line", () => {
  assert.equal(toMarkdown([text("a "), text("b", "bold")]).markdown, "a **b**");
});
