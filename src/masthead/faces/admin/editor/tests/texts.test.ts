import assert from "node:assert/strict";
import { test } from "node:test";
import { readCss, withoutStyles } from "../source/css_text.ts";
import { rows, words } from "../source/difference.ts";
import { blocks, fingerprint, isAddress, lengthSentence, looksLikeMarkdown, tidied } from "../source/documents.ts";
import { read, split } from "../source/event_stream.ts";
import { printOf } from "../source/kept.ts";

const text = (value: string) => ({ type: "paragraph", content: [{ type: "text", text: value }] });

test("a paragraph of one side stands alone, changed ones side by side with their words marked", () => {
  const found = rows(["same", "the lamp is lit at six", "only mine"], ["same", "the lamp is lit at ten", "unlike"]);
  assert.deepEqual(
    found.map((row) => [row.mine?.map((piece) => piece.text), row.theirs?.map((piece) => piece.text), row.isSame]),
    [
      [["same"], ["same"], true],
      [["the lamp is lit at", " six"], ["the lamp is lit at", " ten"], false],
      [["only mine"], undefined, false],
      [undefined, ["unlike"], false],
    ],
  );
});

test("no word of either text is missing from the difference", () => {
  const mine = "Every evening at a quarter to six, or whenever, a relay closes.";
  const theirs = "Every evening a relay closes with a knock.";
  const found = words(mine, theirs);
  assert.equal(found.mine.map((piece) => piece.text).join(""), mine);
  assert.equal(found.theirs.map((piece) => piece.text).join(""), theirs);
});

test("the order of keys and empty attributes do not make a document different", () => {
  const one = { type: "doc", content: [{ type: "figure", attrs: { src: "/a", alt: null } }] };
  const other = { content: [{ attrs: { src: "/a" }, type: "figure" }], type: "doc" };
  assert.equal(fingerprint(one), fingerprint(other));
  assert.notEqual(fingerprint(one), fingerprint({ ...other, content: [] }));
  assert.notEqual(fingerprint([text("a b")]), fingerprint([text("a c")]));
});

test("the same text with other settings is something else to save", () => {
  const document = { type: "doc", content: [text("One")] };
  const opened = printOf("Tides", { title: "Tides", visibility: "public" }, document);
  assert.equal(printOf("Tides ", { visibility: "public" }, document), opened);
  assert.notEqual(printOf("Tides", { visibility: "paid" }, document), opened);
  assert.notEqual(printOf("Tides", { visibility: "public", "authors.a": "on" }, document), opened);
});

test("a document that is sent holds no picture of this browser alone and no attribute without a use", () => {
  const sent = tidied({
    type: "doc",
    content: [
      { type: "figure", attrs: { src: "blob:http://x/1" } },
      { type: "image", attrs: { src: "data:image/png;base64,AA" } },
      { type: "figure", attrs: { src: "/media/a.png", alt: "", width: 3 } },
      { type: "tableCell", attrs: { colspan: 2, rowspan: 1, colwidth: [9] }, content: [text("x")] },
    ],
  });
  assert.deepEqual(sent.content, [
    { type: "figure", attrs: { src: "/media/a.png", width: 3 } },
    { type: "tableCell", attrs: { colspan: 2, rowspan: 1 }, content: [text("x")] },
  ]);
});

test("the blocks of a document are its texts in order, pictures and embeds among them", () => {
  const document = {
    type: "doc",
    content: [
      text("One"),
      { type: "bulletList", content: [{ type: "listItem", content: [text("Two")] }] },
      { type: "figure", attrs: { src: "/a", alt: "A boat" } },
      { type: "embed", attrs: { url: "https://example.org" } },
    ],
  };
  assert.deepEqual(blocks(document), ["One", "Two", "Picture: A boat", "embed: https://example.org"]);
});

test("Markdown is known by its marks, prose is not taken for it", () => {
  for (const each of ["# Title", "- one\n- two", "a **bold** word", "[a](https://b.example)", "```\nx\n```", "1. one", "> said"]) {
    assert.ok(looksLikeMarkdown(each), each);
  }
  for (const each of ["A plain line.", "5 * 3 * 2", "snake_case_name", "#hashtag", "10:42 – gone", "a - b"]) {
    assert.ok(!looksLikeMarkdown(each), each);
  }
});

test("only an https address without anything else is an embed", () => {
  assert.ok(isAddress(" https://example.org/watch?v=1 "));
  for (const each of ["see https://example.org", "javascript:alert(1)", "http://example.org", "https://a b"]) {
    assert.ok(!isAddress(each), each);
  }
});

test("the length names words and minutes", () => {
  assert.equal(lengthSentence(""), "No words yet");
  assert.equal(lengthSentence("One"), "1 word, 1 min");
  assert.equal(lengthSentence("word ".repeat(1_204)), "1,204 words, 5 min");
});

test("a style is read as text: renamed in tags, left alone in the text", () => {
  assert.equal(withoutStyles('<p style="a:b">style="x"</p>'), '<p data-css="a:b">style="x"</p>');
  const handled = `<a title="1 > 0" onclick="a(1 > 0)"onblur='b'>one = 1</a><img/onerror=c>`;
  const renamed = `<a title="1 > 0" data-onclick="a(1 > 0)"data-onblur='b'>one = 1</a><img/data-onerror=c>`;
  assert.equal(withoutStyles(handled), renamed);
  assert.equal(withoutStyles(`<p onclick="a>b <i onclick=c>d</i>`), `<p data-onclick="a>b <i data-onclick=c>d</i>`);
  assert.ok(readCss("font-weight:700").isBold);
  assert.ok(!readCss("font-weight:400;font-style:normal").isBold);
  assert.equal(readCss("vertical-align: super").shift, "super");
  assert.deepEqual(readCss("mso-list:l0 level2 lfo1").list, { id: "0", level: 2 });
});

test("an event stream may be cut anywhere", () => {
  const whole = 'data: {"text":"a"}\n\n: still there\n\ndata: [DONE]\n\n';
  for (let at = 0; at < whole.length; at += 1) {
    const [first, rest] = split(whole.slice(0, at));
    const [second] = split(rest + whole.slice(at));
    assert.deepEqual([...first, ...second], ['{"text":"a"}', "[DONE]"]);
  }
  assert.deepEqual(read('{"event":"stream_failed","reason":"provider_timeout","retryable":true}'), {
    error: "The provider took too long.",
    retryable: true,
  });
  assert.equal(read("[DONE]"), null);
});
