"""Forms with files: how large they may be, by the settings, and their reading."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from masthead.base.config.settings import Settings
from masthead.base.errors import TooLarge
from masthead.base.languages.formats import Numeral
from masthead.base.languages.words import staff_words
from masthead.web.multipart import MAX_FIELD_BYTES, Form, read_form
from masthead.web.policy import Body
from masthead.web.request import Request


async def read_files(request: Request, body: Body, settings: Settings) -> Form:
    """The form, whose files are open until the handler has answered."""
    largest = body.largest(settings)
    limit = body.files * largest + MAX_FIELD_BYTES
    with _too_large_message(largest):
        form = await request.resources.enter_async_context(
            read_form(request.scope, request.receive, limit=limit)
        )
    request.form, request.files = dict(form.fields), form.files
    return form


@contextmanager
def _too_large_message(largest: int) -> Iterator[None]:
    """A message for people, who know files but not request bodies."""
    try:
        yield
    except TooLarge as error:
        raise TooLarge(
            staff_words(
                "The file is larger than the %(size)s MB allowed here. Choose a smaller one, or "
                "ask the operator of this service to allow more.",
                size=Numeral(largest // 1_000_000),
            )
        ) from error
