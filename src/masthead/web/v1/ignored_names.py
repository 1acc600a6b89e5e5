"""`X-Ignored`: the body fields and query parameters of a call that have no effect."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain, islice
from typing import Final
from urllib.parse import quote

from masthead.web.request import Request

HEADER: Final = "X-Ignored"
MAX_NAMES: Final = 20
MAX_LENGTH: Final = 60

# A caller chooses the names, and they must neither end the header nor look like two names.
_PLAIN: Final = "!#$&'*+-.^_`|~[]"


def name_ignored(request: Request, *names: Iterable[str]) -> None:
    """Adds the header to the answer, also to a refusal. Called once for each request."""
    if not any(names):
        return
    written = (_written(each) for each in chain(*names) if each)
    ignored = dict.fromkeys(islice(written, MAX_NAMES))
    if ignored:
        request.added.append((HEADER.lower().encode(), ", ".join(ignored).encode()))


def _written(name: str) -> str:
    return quote(name[:MAX_LENGTH], safe=_PLAIN, errors="replace")[:MAX_LENGTH]
