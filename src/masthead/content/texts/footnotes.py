"""Footnotes of Markdown: `text[^label]` and, on a line of its own, `[^label]: the note`.

The parser does not know them. So the notes are taken out of the text first, and a rule of the
parser finds the references to them.
"""

from __future__ import annotations

import re
from typing import Any, Final, NamedTuple

from markdown_it.rules_inline import StateInline

NOTES: Final = "masthead.notes"
"""The key of the document's `Notes` in the parser's environment."""
REFERENCE: Final = "footnote_reference"

_DEFINITION: Final = re.compile(r" {0,3}\[\^([^\]\s\[]{1,100})\]:[ \t]*(.*)")
_REFERENCE: Final = re.compile(r"\[\^([^\]\s\[]{1,100})\]")
_FENCE: Final = re.compile(r" {0,3}(`{3,}|~{3,})([^\n]*)")
_INDENTED: Final = re.compile(r"(?: {4}|\t)(.*)")


class Notes:
    """The notes of one text, numbered in the order of their first references."""

    def __init__(self) -> None:
        self.texts: dict[str, str] = {}
        self.numbers: dict[str, int] = {}
        self.order: list[str] = []
        self.references: dict[str, int] = {}
        """How many there are to each."""

    def refer(self, label: str) -> str:
        """The anchor of a new reference to the note."""
        number = self.number(label)
        count = self.references[label] = self.references.get(label, 0) + 1
        return f"fnref-{number}" if count == 1 else f"fnref-{number}-{count}"

    def number(self, label: str) -> int:
        if label not in self.numbers:
            self.order.append(label)
            self.numbers[label] = len(self.order)
        return self.numbers[label]


class Split(NamedTuple):
    text: str
    notes: Notes


def take_notes(markdown: str) -> Split:
    """The text without its notes, and the notes. Code blocks stay as they are."""
    notes = Notes()
    if "[^" not in markdown:
        return Split(markdown, notes)
    reader = _Lines(notes)
    for line in markdown.splitlines():
        reader.take(line)
    reader.end_note()
    return Split("\n".join(reader.text), notes)


class _Lines:
    def __init__(self, notes: Notes) -> None:
        self.text: list[str] = []
        self._notes = notes
        self._fence = ""
        self._label = ""
        self._note: list[str] = []

    def take(self, line: str) -> None:
        if self._label and self._belongs_to_note(line):
            return
        fence = _FENCE.match(line)
        if fence and not self._fence:
            self._fence = fence[1]
        elif fence and fence[1].startswith(self._fence) and not fence[2].strip():
            self._fence = ""
        elif not self._fence and (found := _DEFINITION.fullmatch(line)):
            self._label, self._note = found[1], [found[2]]
            # Otherwise the lines before and after the note would be one paragraph.
            self.text.append("")
            return
        self.text.append(line)

    def _belongs_to_note(self, line: str) -> bool:
        """Indented lines do, and those that continue a paragraph."""
        indented = _INDENTED.fullmatch(line)
        is_lazy = bool(self._note[-1].strip()) and not _DEFINITION.fullmatch(line)
        if not line.strip():
            self._note.append("")
        elif indented:
            self._note.append(indented[1])
        elif is_lazy and not _FENCE.match(line):
            self._note.append(line)
        else:
            self.end_note()
            return False
        return True

    def end_note(self) -> None:
        if self._label:
            # As elsewhere in Markdown, the first definition counts.
            self._notes.texts.setdefault(self._label, "\n".join(self._note).strip("\n"))
        self._label = ""


def reference_rule(state: StateInline, silent: bool) -> bool:
    """A rule of the parser: `[^label]` where the text has such a note."""
    if state.src[state.pos] != "[":
        return False
    found = _REFERENCE.match(state.src, state.pos)
    notes: Any = state.env.get(NOTES)
    if found is None or notes is None or found[1] not in notes.texts:
        return False
    if not silent:
        token = state.push(REFERENCE, "", 0)
        token.meta = {"id": notes.refer(found[1]), "number": notes.number(found[1])}
    state.pos = found.end()
    return True
