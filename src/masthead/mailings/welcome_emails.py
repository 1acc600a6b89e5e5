"""The welcome_emails collection: what new free and new paid members get, at most one of each."""

from __future__ import annotations

import re
from typing import Final

from masthead.mailings.collection import ONE_LINE
from masthead.members.welcome import KINDS, WELCOME_EMAILS
from masthead.records.collection import Collection, Index
from masthead.records.fields.text import Text
from masthead.records.fields.values import Flag, Select

MAX_TEXT: Final = 20_000
_NOT_BLANK: Final = re.compile(r"\s*\S.*", re.DOTALL)

welcome_emails = Collection(
    WELCOME_EMAILS,
    (
        Select(
            name="kind",
            values=KINDS,
            required=True,
            immutable=True,
            help="`free`: sent when a free member's address is confirmed. `paid`: sent when a "
            "member first pays.",
        ),
        Flag(name="is_on", help="Whether new members get it."),
        Text(
            name="subject",
            required=True,
            max=255,
            pattern=ONE_LINE,
            allowed="May not be blank or contain line breaks or other control characters.",
        ),
        Text(
            name="text",
            required=True,
            max=MAX_TEXT,
            pattern=_NOT_BLANK,
            allowed="May not be blank.",
            help="Markdown.",
        ),
    ),
    audited="kind",
    help="The emails that welcome new members, one for each tier. Sent once to each member.",
    indexes=(Index(("kind",), unique=True),),
    called="welcome emails",
)
