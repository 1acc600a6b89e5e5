"""The difference of two states of a text, block by block and then word by word.

Any two texts are compared in bounded time: an edit script that is too long is not looked for. Parts
that differ too much are shown in full, as removed and as added."""

from __future__ import annotations

import asyncio
import re
from collections import Counter
from collections.abc import Hashable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Final, NamedTuple

import msgspec

from masthead.base.limited_process import LimitedProcess, TookTooLong, Unavailable, limited
from masthead.base.turns import Turns
from masthead.content.texts.blocks import Block, blocks_of
from masthead.storage.cancelling import complete

SAME, ADDED, REMOVED, CHANGED, SKIPPED = "same", "added", "removed", "changed", "skipped"

MAX_CHARACTERS: Final = 1_000_000
"""Characters of each text, as HTML. Ten thousand words have about 70,000."""
MAX_BLOCKS: Final = 4_000
"""Blocks of each text. A page with the difference of more would take long to write, and longer to
read."""
_STEPS: Final = 1_000_000
"""Steps of all comparisons together: about a second."""
_LONG: Final = 100_000
"""Characters of both texts from which a process compares them."""
_SECONDS: Final = 4.0
"""Processor time, for long texts."""
_NEAR: Final = 8
"""How many blocks ahead the counterpart of a changed one is looked for."""
_AROUND: Final = 1
"""Unchanged blocks that are shown before and after a change."""

# Words with the blanks before them, and marks; characters of languages without blanks singly.
_SINGLE: Final = r"[\u3040-\u30ff\u3400-\u9fff]"
_LETTERS: Final = re.compile(r"\w+")
_WORD: Final = re.compile(rf"\s*(?:{_SINGLE}|(?:(?!{_SINGLE})[\w'’])+|[^\w\s])|\s+$")


class Piece(NamedTuple):
    kind: str
    """same, added or removed."""
    text: str


class DifferenceRow(msgspec.Struct, frozen=True):
    kind: str
    """same, added, removed, changed, or skipped: so many blocks that are the same."""
    name: str = ""
    """The name of the block, such as Heading; empty for a paragraph."""
    pieces: tuple[Piece, ...] = ()
    count: int = 0


class Difference(msgspec.Struct, frozen=True):
    rows: tuple[DifferenceRow, ...] = ()
    is_too_long: bool = False
    """Nothing was compared."""
    is_rough: bool = False
    """Some blocks that are alike were not compared word by word."""

    @property
    def is_same(self) -> bool:
        return not self.is_too_long and all(row.kind in (SAME, SKIPPED) for row in self.rows)


async def compare(old_html: str, new_html: str) -> Difference:
    """In a thread, because it may take a second, and one at a time: several would compete with the
    event loop for the interpreter. Long texts have a process of their own. Raises RateLimited."""
    if max(len(old_html), len(new_html)) > MAX_CHARACTERS:
        return Difference(is_too_long=True)
    is_long = len(old_html) + len(new_html) > _LONG
    loop = asyncio.get_running_loop()
    async with _turns.turn():
        return await complete(
            loop.run_in_executor(_thread, difference, old_html, new_html, is_long)
        )


_thread: Final = ThreadPoolExecutor(1, thread_name_prefix="difference")
_turns: Final = Turns(1)


def difference(old_html: str, new_html: str, is_apart: bool = False) -> Difference:
    """`is_apart`: in another process."""
    old, new = blocks_of(old_html), blocks_of(new_html)
    if max(len(old), len(new)) > MAX_BLOCKS:
        return Difference(is_too_long=True)
    if not is_apart:
        return _between(old, new)
    try:
        found: Difference = _process.ask(old, new)
    except (TookTooLong, Unavailable):
        return Difference(is_too_long=True)
    return found


def between_in_process(old: Sequence[Block], new: Sequence[Block]) -> Difference:
    with limited(_SECONDS):
        return _between(old, new)


_process: Final = LimitedProcess(between_in_process)


def _between(old: Sequence[Block], new: Sequence[Block]) -> Difference:
    comparison = _Comparison()
    rows = comparison.rows(old, new)
    return Difference(tuple(_shortened(rows)), is_rough=comparison.is_rough)


def compare_words(old: str, new: str) -> tuple[Piece, ...]:
    """For a short text such as a title."""
    return _Comparison().words(old, new)


class _Bag(NamedTuple):
    """The words of a block, in no order."""

    words: Counter[str]
    total: int


class _Comparison(msgspec.Struct):
    steps: int = _STEPS
    is_rough: bool = False
    _found: list[DifferenceRow] = msgspec.field(default_factory=list)

    def rows(self, old: Sequence[Block], new: Sequence[Block]) -> list[DifferenceRow]:
        i = j = 0
        for next_i, next_j in (*self._common(old, new), (len(old), len(new))):
            self._changed(old[i:next_i], new[j:next_j])
            if next_i < len(old):
                name, text = old[next_i]
                self._found.append(DifferenceRow(SAME, name, (Piece(SAME, text),)))
            i, j = next_i + 1, next_j + 1
        return self._found

    def _changed(self, old: Sequence[Block], new: Sequence[Block]) -> None:
        """Blocks between two equal ones: those that are alike are compared by words."""
        bags = [_bag(each) for each in new]
        j = 0
        for block in old:
            bag = _bag(block)
            near = range(j, min(j + _NEAR, len(new)))
            match = next((at for at in near if self._are_alike(bag, bags[at])), None)
            if match is None:
                self._found.append(_whole(REMOVED, block))
                continue
            self._found += (_whole(ADDED, each) for each in new[j:match])
            name = new[match].name
            if block.name != name:
                name = f"{block.name or 'Paragraph'} → {name or 'Paragraph'}"
            pieces = self.words(block.text, new[match].text)
            self._found.append(DifferenceRow(CHANGED, name, pieces))
            j = match + 1
        self._found += (_whole(ADDED, each) for each in new[j:])

    def _are_alike(self, one: _Bag, other: _Bag) -> bool:
        """Half of the words of the shorter one are in both."""
        shorter, longer = sorted((one, other), key=lambda each: len(each.words))
        self.steps -= len(shorter.words) + 1
        if self.steps <= 0:
            self.is_rough = True
            return False
        fewer = min(one.total, other.total)
        common = sum(min(count, longer.words[word]) for word, count in shorter.words.items())
        return fewer > 0 and common * 2 >= fewer

    def words(self, old: str, new: str) -> tuple[Piece, ...]:
        a, b = _words(_WORD, old), _words(_WORD, new)
        runs: list[tuple[str, list[str]]] = []
        i = j = 0
        for next_i, next_j in (*self._common(a, b), (len(a), len(b))):
            _append(runs, REMOVED, a[i:next_i])
            _append(runs, ADDED, b[j:next_j])
            _append(runs, SAME, a[next_i : next_i + 1])
            i, j = next_i + 1, next_j + 1
        # Joined once: a text that grew word by word would be copied for each of them.
        return tuple(Piece(kind, "".join(words)) for kind, words in runs)

    def _common(self, a: Sequence[Hashable], b: Sequence[Hashable]) -> list[tuple[int, int]]:
        """The positions of what both have, in order."""
        before = 0
        while before < min(len(a), len(b)) and a[before] == b[before]:
            before += 1
        after = 0
        while after < min(len(a), len(b)) - before and a[-1 - after] == b[-1 - after]:
            after += 1
        middle = self._shortest(a[before : len(a) - after], b[before : len(b) - after])
        return [
            *((at, at) for at in range(before)),
            *((before + i, before + j) for i, j in middle),
            *((len(a) - at, len(b) - at) for at in range(after, 0, -1)),
        ]

    def _shortest(self, a: Sequence[Hashable], b: Sequence[Hashable]) -> list[tuple[int, int]]:
        """Along the shortest edit script (Myers, 1986); nothing where it takes too many steps."""
        if not a or not b:
            return []
        # How far scripts of each length come in `a`, by diagonal.
        trail: list[list[int]] = []
        while self.steps > 0:
            length = len(trail)
            self.steps -= length + 1
            reached: list[int] = []
            before = trail[-1] if trail else [0]
            for index in range(length + 1):
                diagonal = 2 * index - length
                x = before[index] if _is_down(before, index) else before[index - 1] + 1
                while x < len(a) and x - diagonal < len(b) and a[x] == b[x - diagonal]:
                    x += 1
                    self.steps -= 1
                reached.append(x)
                if x >= len(a) and x - diagonal >= len(b):
                    return _matches(trail, len(a), len(b))
            trail.append(reached)
        self.is_rough = True
        return []


def _is_down(before: Sequence[int], index: int) -> bool:
    """Whether the best script goes on with a word of the new text rather than without one of the
    old."""
    return index == 0 or (index < len(before) and before[index - 1] < before[index])


def _matches(trail: Sequence[Sequence[int]], x: int, y: int) -> list[tuple[int, int]]:
    """Back from the end of both texts."""
    found: list[tuple[int, int]] = []
    for length in range(len(trail), -1, -1):
        from_x = from_y = 0
        if length:
            before = trail[length - 1]
            index = (x - y + length) // 2
            is_down = _is_down(before, index)
            from_x = before[index if is_down else index - 1]
            from_y = from_x - (x - y) - (1 if is_down else -1)
        while x > from_x and y > from_y:
            x, y = x - 1, y - 1
            found.append((x, y))
        x, y = from_x, from_y
    return found[::-1]


def _append(runs: list[tuple[str, list[str]]], kind: str, words: Sequence[str]) -> None:
    if not words:
        return
    if not runs or runs[-1][0] != kind:
        runs.append((kind, []))
    runs[-1][1].extend(words)


def _words(pattern: re.Pattern[str], text: str) -> list[str]:
    """One by one: all of a long text in one step would keep the event loop waiting."""
    return [found[0] for found in pattern.finditer(text)]


def _bag(block: Block) -> _Bag:
    words = Counter(_words(_LETTERS, block.text))
    return _Bag(words, words.total())


def _whole(kind: str, block: Block) -> DifferenceRow:
    return DifferenceRow(kind, block.name, (Piece(kind, block.text),))


def _shortened(rows: Sequence[DifferenceRow]) -> Iterator[DifferenceRow]:
    """Only so much of what is the same as shows where a change is."""
    shown = [False] * len(rows)
    for at, row in enumerate(rows):
        if row.kind != SAME:
            for near in range(max(at - _AROUND, 0), min(at + _AROUND + 1, len(rows))):
                shown[near] = True
    skipped = 0
    for row, is_shown in zip(rows, shown, strict=True):
        if not is_shown:
            skipped += 1
            continue
        if skipped:
            yield DifferenceRow(SKIPPED, count=skipped)
        skipped = 0
        yield row
    if skipped:
        yield DifferenceRow(SKIPPED, count=skipped)
