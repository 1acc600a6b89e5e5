// The difference of two texts, block by block and then word by word.

export interface Piece {
  text: string;
  /** Only on this side. */
  isNew: boolean;
}

/** A row of two cells; null where one side lacks the block. */
export interface Row {
  mine: Piece[] | null;
  theirs: Piece[] | null;
  isSame: boolean;
}

const MAX_CELLS = 4_000_000;

export function rows(mine: readonly string[], theirs: readonly string[]): Row[] {
  const found: Row[] = [];
  let i = 0;
  let j = 0;
  for (const [nextI, nextJ] of [...common(mine, theirs), [mine.length, theirs.length] as const]) {
    changed(mine.slice(i, nextI), theirs.slice(j, nextJ), found);
    if (nextI < mine.length) {
      const same = [{ text: mine[nextI], isNew: false }];
      found.push({ mine: same, theirs: same, isSame: true });
    }
    i = nextI + 1;
    j = nextJ + 1;
  }
  return found;
}

/** Blocks between two equal ones: like ones stand side by side, the others alone. */
function changed(mine: readonly string[], theirs: readonly string[], found: Row[]): void {
  let j = 0;
  for (const block of mine) {
    const match = theirs.findIndex((other, at) => at >= j && isLike(block, other));
    if (match < 0) {
      found.push({ mine: [{ text: block, isNew: true }], theirs: null, isSame: false });
      continue;
    }
    for (const other of theirs.slice(j, match)) found.push(onlyTheirs(other));
    found.push({ ...words(block, theirs[match]), isSame: false });
    j = match + 1;
  }
  for (const other of theirs.slice(j)) found.push(onlyTheirs(other));
}

function onlyTheirs(block: string): Row {
  return { mine: null, theirs: [{ text: block, isNew: true }], isSame: false };
}

function isLike(one: string, other: string): boolean {
  const a = split(one);
  const b = split(other);
  return common(a, b).length * 2 >= Math.min(a.length, b.length) && Math.min(a.length, b.length) > 0;
}

function split(text: string): string[] {
  return text.match(/\s*\S+|\s+$/gu) ?? [];
}

export function words(mine: string, theirs: string): { mine: Piece[]; theirs: Piece[] } {
  const a = split(mine);
  const b = split(theirs);
  const pairs = common(a, b);
  return {
    mine: pieces(a, new Set(pairs.map(([i]) => i))),
    theirs: pieces(b, new Set(pairs.map(([, j]) => j))),
  };
}

function pieces(parts: readonly string[], shared: ReadonlySet<number>): Piece[] {
  const found: Piece[] = [];
  parts.forEach((text, index) => {
    const isNew = !shared.has(index);
    const last = found.at(-1);
    if (last && last.isNew === isNew) last.text += text;
    else found.push({ text, isNew });
  });
  return found;
}

/** The positions of the longest common subsequence. */
export function common(a: readonly string[], b: readonly string[]): [number, number][] {
  let before = 0;
  while (before < a.length && before < b.length && a[before] === b[before]) before += 1;
  let after = 0;
  while (
    after < a.length - before &&
    after < b.length - before &&
    a[a.length - 1 - after] === b[b.length - 1 - after]
  ) {
    after += 1;
  }
  const found: [number, number][] = [];
  for (let at = 0; at < before; at += 1) found.push([at, at]);
  found.push(...middle(a, b, before, after));
  for (let at = after; at > 0; at -= 1) found.push([a.length - at, b.length - at]);
  return found;
}

function middle(
  a: readonly string[],
  b: readonly string[],
  before: number,
  after: number,
): [number, number][] {
  const height = a.length - before - after;
  const width = b.length - before - after;
  // Texts without a common block would take minutes: they are shown as wholly different.
  if (height * width === 0 || height * width > MAX_CELLS) return [];
  const lengths = Array.from({ length: height + 1 }, () => new Uint32Array(width + 1));
  for (let i = height - 1; i >= 0; i -= 1) {
    for (let j = width - 1; j >= 0; j -= 1) {
      lengths[i][j] =
        a[before + i] === b[before + j]
          ? lengths[i + 1][j + 1] + 1
          : Math.max(lengths[i + 1][j], lengths[i][j + 1]);
    }
  }
  const found: [number, number][] = [];
  let i = 0;
  let j = 0;
  while (i < height && j < width) {
    if (a[before + i] === b[before + j]) {
      found.push([before + i, before + j]);
      i += 1;
      j += 1;
    } else if (lengths[i + 1][j] >= lengths[i][j + 1]) i += 1;
    else j += 1;
  }
  return found;
}
