"""Renders email templates: pairs of files `name.txt` and `name.html` in `templates/`."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from masthead.outside.mail.message import Mail, RenderedMail

if TYPE_CHECKING:
    from jinja2 import Environment

FOLDER = Path(__file__).parent / "templates"


@cache
def _environment() -> Environment:
    # Imported on first use, because few commands render emails.
    from jinja2 import Environment, FileSystemLoader, StrictUndefined, select_autoescape

    return Environment(
        loader=FileSystemLoader(FOLDER),
        autoescape=select_autoescape(["html"]),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )


def render(mail: Mail) -> RenderedMail:
    values = {"subject": mail.subject, "unsubscribe_url": mail.unsubscribe_url, **mail.values}
    return RenderedMail(
        to=mail.to,
        subject=mail.subject,
        text=_environment().get_template(f"{mail.template}.txt").render(values),
        html=_environment().get_template(f"{mail.template}.html").render(values),
        to_name=mail.to_name,
        reply_to=mail.reply_to,
        unsubscribe_url=mail.unsubscribe_url,
    )
