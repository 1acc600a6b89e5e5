"""Renders email templates: a file `name.html` in `templates/` says what an email holds, once for
its two parts. `base` and `parts`, `.html` and `.txt`, are their frames and macros."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from masthead.base.languages.translators import direction_of, speaking, translator_of
from masthead.outside.mail.directions import with_directions
from masthead.outside.mail.message import Mail, RenderedMail

if TYPE_CHECKING:
    from jinja2 import Environment

FOLDER = Path(__file__).parent / "templates"
_INDENT = re.compile(r"^[ \t]+", re.MULTILINE)


@cache
def templates(kind: str) -> Environment:
    """Those of the emails, as "html" or as "txt"."""
    # Imported on first use, because few commands render emails.
    from jinja2 import Environment, FunctionLoader, StrictUndefined

    from masthead.base.languages.in_templates import EXTENSION, install_words
    from masthead.base.languages.retelling import retold

    environment = Environment(
        loader=FunctionLoader(_source if kind == "html" else _unindented),
        autoescape=kind == "html",  # noqa: S701  (the other part is plain text)
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        extensions=[EXTENSION],
    )
    install_words(environment)
    environment.filters["retold"] = retold
    environment.globals |= {"base": f"base.{kind}", "parts": f"parts.{kind}"}
    return environment


def _source(name: str) -> str:
    return (FOLDER / name).read_text(encoding="utf-8")


def _unindented(name: str) -> str:
    """Without the indent of the source, which would be in the text."""
    source = _source(name)
    return source if name.endswith(".txt") else _INDENT.sub("", source)


def render(mail: Mail) -> RenderedMail:
    translator = translator_of(mail.language)
    values = {
        **mail.values,
        "subject": mail.subject,
        "unsubscribe_url": mail.unsubscribe_url,
        # Without a catalog for its language, an email is English.
        "language": translator.spoken,
        "direction": direction_of(translator.spoken),
    }
    with speaking(translator):
        template = f"{mail.template}.html"
        html = templates("html").get_template(template).render(values)
        return RenderedMail(
            to=mail.to,
            subject=str(mail.subject),
            text=templates("txt").get_template(template).render(values).lstrip("\n"),
            html=with_directions(html, values["direction"]),
            to_name=mail.to_name,
            reply_to=mail.reply_to,
            unsubscribe_url=mail.unsubscribe_url,
        )
