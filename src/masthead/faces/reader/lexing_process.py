"""Runs lexers in a separate process, because a lexer may take far too long."""

from __future__ import annotations

from masthead.base.limited_process import LimitedProcess, TookTooLong
from masthead.faces.reader.lexing import MAX_SECONDS, Lexed, lexed


class LexingProcess:
    """One block at a time, for all threads."""

    def __init__(self) -> None:
        self._process = LimitedProcess(lexed)

    def lexed(self, language: str, code: str) -> Lexed:
        """Blocks, so never call it in the event loop. Raises Unavailable."""
        try:
            answer: Lexed = self._process.ask(language, code)
        except TookTooLong:
            return Lexed(None, MAX_SECONDS)
        return answer
