// Builds editor.js, unsent.js and media.js in ../static/vendor, the same bytes on every machine, and the licences of what is in them.

import { build } from "esbuild";
import { readFileSync, readdirSync, writeFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const here = dirname(fileURLToPath(import.meta.url));
const out = process.argv[2] ?? join(here, "../static/vendor");

const result = await build({
  absWorkingDir: here,
  entryPoints: { editor: "source/main.ts", unsent: "source/unsent_page.ts", media: "source/library/main.ts" },
  bundle: true,
  minify: true,
  format: "esm",
  target: ["chrome111", "firefox113", "safari16.4"],
  charset: "utf8",
  legalComments: "none",
  metafile: true,
  write: false,
  outdir: ".",
});

const packages = new Set(
  Object.keys(result.metafile.inputs)
    .map((path) => /^node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(path)?.[1])
    .filter(Boolean),
);

function licence(name) {
  const folder = join(here, "node_modules", name);
  const { version, license } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
  const file = readdirSync(folder).find((each) => /^licen[cs]e/i.test(each));
  const text = file ? readFileSync(join(folder, file), "utf8").trim() : `${license} (no text enclosed)`;
  return `${name} ${version}\n\n${text}\n`;
}

for (const { path, contents } of result.outputFiles) writeFileSync(join(out, basename(path)), contents);
writeFileSync(join(out, "editor-licences.txt"), [...packages].sort().map(licence).join(`\n${"-".repeat(72)}\n\n`));
