"""Numbers in the sentences of commands."""

from __future__ import annotations


def counted(number: int, noun: str, plural: str = "") -> str:
    """`1 stored file`, `1,204 stored files`."""
    return f"{number:,} {noun if number == 1 else plural or f'{noun}s'}"


def records_and_files(records: int, files: int) -> str:
    return f"{counted(records, 'record')} and {counted(files, 'stored file')}"


def files_are(number: int) -> str:
    return f"{counted(number, 'stored file')} {'is' if number == 1 else 'are'}"
