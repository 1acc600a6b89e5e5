"""Draws the two parts of a letter from the same values: HTML with its styles inlined, and text."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any, Final

from css_inline import CSSInliner
from jinja2 import Environment, FileSystemLoader, StrictUndefined, Template, select_autoescape
from markupsafe import Markup

from masthead.base.languages.in_templates import EXTENSION, install_words
from masthead.features.mailings.letter_html import HtmlWriter
from masthead.features.mailings.letter_text import TextWriter
from masthead.features.mailings.letter_values import LetterValues
from masthead.outside.mail.directions import with_directions

FOLDER: Final = Path(__file__).parent / "templates"


def draw_parts(
    subject: str, values: LetterValues, *, to: str, unsubscribe: str, notice: str = ""
) -> tuple[str, str]:
    """May block. `notice` tells readers what is counted."""
    given: dict[str, Any] = {
        **values.shown,
        "subject": subject,
        "wall": None if values.is_cut else values.wall,
        "rest": values.is_cut,
        "to": to,
        "unsubscribe": unsubscribe,
        "notice": notice,
    }
    body = HtmlWriter(values.tokens, values.pictures, values.addresses).run()
    html = _template("letter.html").render(
        {**given, "body": Markup(body)}  # noqa: S704  (clean, and written anew)
    )
    text = TextWriter(values.tokens, values.addresses).run()
    html = with_directions(html, values.shown["direction"])
    return _inliner().inline(html), _template("letter.txt").render({**given, "body": text})


@cache
def _inliner() -> CSSInliner:
    # Nothing is ever fetched: a text holds neither style sheets nor links to them.
    return CSSInliner(load_remote_stylesheets=False)


@cache
def _template(name: str) -> Template:
    return _environment().get_template(name)


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=FileSystemLoader(FOLDER),
        autoescape=select_autoescape(["html"]),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        extensions=[EXTENSION],
    )
    install_words(environment)
    return environment
