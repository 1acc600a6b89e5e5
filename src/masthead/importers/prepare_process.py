"""What a process that prepares posts runs. It loads this and no more, so that it is ready soon."""

from __future__ import annotations

import multiprocessing
import os
import re
import signal
import threading
from collections.abc import Sequence
from typing import Final

from masthead.importers.content import prepare
from masthead.importers.prepared import Prepared
from masthead.importers.source import SourcePost

MOST_TAGS: Final = 200_000
MOST_REFERENCES: Final = 500_000
MOST_PICTURES: Final = 10_000
"""Of one text; a long book has a tenth of each."""
_PICTURE: Final = re.compile(r"<img\b", re.IGNORECASE)


def begin() -> None:
    """In a new process: whoever interrupts the import speaks to its parent, and when that one is
    killed, nobody is left to end this one."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    assert parent is not None
    parent.join()
    os._exit(1)


def prepare_all(posts: Sequence[SourcePost], site_url: str) -> list[Prepared | str]:
    """In the order of the posts; a text says why one could not be prepared."""
    return [_prepared(post, site_url) for post in posts]


def _prepared(post: SourcePost, site_url: str) -> Prepared | str:
    if (
        post.html.count("<") > MOST_TAGS
        or post.html.count("&") > MOST_REFERENCES
        or len(_PICTURE.findall(post.html)) > MOST_PICTURES
    ):
        return (
            f"Its text has more than {MOST_TAGS:,} tags, {MOST_REFERENCES:,} references such as "
            f"&amp; or {MOST_PICTURES:,} pictures."
        )
    try:
        return prepare(post, site_url)
    # One of the service's outermost edges, an importer's row: one post that can't be read is
    # reported, and all the others come over.
    except Exception as error:
        return f"Its text can't be read ({type(error).__name__})."
