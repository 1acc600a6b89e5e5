import assert from "node:assert/strict";
import { test } from "node:test";

// What a page in German brings along, before the scripts.
Object.assign(globalThis, {
  mhWords: { "Saved %(time)s": "Gespeichert %(time)s", "%(number)s word": ["%(number)s Wort", "%(number)s Wörter"] },
  document: { documentElement: { lang: "de" } },
});
const { _, counted, listed, sizeText } = await import("../source/words.ts");

test("a message is in the language of the page, with its values", () => {
  assert.equal(_("Saved %(time)s", { time: "10:42" }), "Gespeichert 10:42");
  assert.equal(counted("%(number)s word", "%(number)s words", 1), "1 Wort");
  assert.equal(counted("%(number)s word", "%(number)s words", 1_204), "1.204 Wörter");
});

test("a message that the catalog lacks is English", () => {
  assert.equal(_("%(part)s of %(size)s, 100 %%", { part: "$1", size: "$&" }), "$1 of $&, 100 %");
  assert.equal(counted("One file uploaded.", "%(number)s files uploaded.", 2), "2 files uploaded.");
});

test("lists and sizes are written as the language does", () => {
  assert.equal(listed(["Titel", "Adresse"]), "Titel und Adresse");
  assert.equal(sizeText(1_250_000), "1,3 MB");
  assert.equal(sizeText(900), "1 KB");
});
