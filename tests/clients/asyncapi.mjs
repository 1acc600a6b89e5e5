// Reads an AsyncAPI document with the official parser; prints what it found as JSON.
import { readFile } from "node:fs/promises";
import { Parser } from "@asyncapi/parser";

const text = await readFile(process.argv[2], "utf8");
const { document, diagnostics } = await new Parser().parse(text);
console.log(
  JSON.stringify({
    version: document?.info().version(),
    sent: document?.operations().filterBySend().map((each) => each.messages()[0].name()),
    diagnostics: diagnostics.map(({ severity, code, message }) => ({ severity, code, message })),
  }),
);
