"""The element of a card in `content_html`: its parts are written, and read from clean tokens."""

from __future__ import annotations

from collections.abc import Sequence

from masthead.content.cards.values import one_line
from masthead.content.html.card_attributes import class_of
from masthead.content.html.markup import Attributes, Token, written


def root(name: str, tag: str, more: Attributes | None = None) -> str:
    return written(tag, {"data-card": name, "class": class_of(name), **(more or {})})


class Parts:
    """The parts of an element, found by the names of the tags."""

    def __init__(self, tokens: Sequence[Token]) -> None:
        self.tokens = tokens

    def attributes(self, tag: str) -> Attributes:
        """Those of the first element of this name; none if there is none."""
        return next((each.attributes for each in self.tokens if each[:2] == ("start", tag)), {})

    def all(self, tag: str) -> list[Attributes]:
        return [each.attributes for each in self.tokens if each[:2] == ("start", tag)]

    def text(self, tag: str) -> str:
        """The words in the first element of this name."""
        pieces: list[str] = []
        depth = 0
        for token in self.tokens:
            if token[:2] == ("start", tag):
                depth += 1
            elif token[:2] == ("end", tag):
                depth -= 1
                if depth == 0:
                    break
            elif depth and token.kind == "text":
                pieces.append(token.name)
        return one_line("".join(pieces))


def plain(text: str) -> str:
    """Text between tags, as the sanitizer writes it: quotes stay."""
    return (
        text.replace("&", "&amp;")
        .replace("<", "&lt;")
        .replace(">", "&gt;")
        .replace("\xa0", "&nbsp;")
    )


def element(tag: str, text: str, attributes: Attributes | None = None) -> str:
    """'' without text."""
    return f"{written(tag, attributes or {})}{plain(text)}</{tag}>" if text else ""


def picture(source: str, alt: str = "", width: int = 0, height: int = 0) -> str:
    if not source:
        return ""
    sizes = {name: str(each) for name, each in (("width", width), ("height", height)) if each}
    return written("img", {"src": source, "alt": alt, **sizes})


def rewritten(tokens: Sequence[Token]) -> str:
    """Clean tokens as clean HTML."""
    pieces: list[str] = []
    for token in tokens:
        if token.kind == "text":
            pieces.append(plain(token.name))
        elif token.kind == "end":
            pieces.append(f"</{token.name}>")
        else:
            pieces.append(written(token.name, token.attributes))
    return "".join(pieces)
