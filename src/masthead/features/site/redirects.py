"""Old addresses of a site and where they lead now: of imported posts, and of changed slugs."""

from __future__ import annotations

import re

from masthead.engine.links.moves import REDIRECTS
from masthead.engine.records.collection import Collection
from masthead.engine.records.fields.text import Text, Url
from masthead.engine.records.fields.values import Number

MAX_PATH = 600
"""Characters. PostgreSQL's unique index takes no more than about 2,700 bytes."""
SAFE_IN_PATH = "/%:@!$&'()*+,;=-._~"
"""Characters that stand as they are in the source of a redirect; others are percent-encoded."""

redirects = Collection(
    REDIRECTS,
    (
        Text(
            name="source",
            required=True,
            max=MAX_PATH,
            unique=True,
            pattern=re.compile(r"/[^\s\\\x00-\x1f]*"),
            help="The old path, with its query if it has one.",
        ),
        Url(name="destination", required=True),
        Number(name="status_code", min=301, max=308, default=301),
    ),
    audited="source",
    help="Old addresses, such as those of an imported site, and where they lead now.",
)
