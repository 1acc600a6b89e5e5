"""The domains that emails are sent from, each with the key that signs them (DKIM)."""

from __future__ import annotations

from masthead.base.languages.words import staff_words
from masthead.engine.records.collection import Collection, Index
from masthead.engine.records.fields.base import Access
from masthead.engine.records.fields.secrets import Secret
from masthead.engine.records.fields.text import Text
from masthead.engine.records.fields.values import Date, Flag

sending_domains = Collection(
    "sending_domains",
    (
        Text(name="domain", max=253, write=Access.ENGINE),
        Text(
            name="selector",
            max=63,
            write=Access.ENGINE,
            help="The key's name: its record is at `<selector>._domainkey.<domain>`.",
        ),
        Text(
            name="public_key",
            max=1_000,
            write=Access.ENGINE,
            help="The value of `p=` in the record.",
        ),
        Secret(name="private_key", max=4_000, write=Access.ENGINE),
        Flag(
            name="is_ready",
            write=Access.ENGINE,
            help="The last check found the records that receivers ask for.",
        ),
        Text(
            name="problem",
            max=1_000,
            write=Access.ENGINE,
            help="What the last check found wrong.",
        ),
        Date(name="checked_at", write=Access.ENGINE),
        Date(
            name="check_at",
            write=Access.ENGINE,
            help="When the records are looked up again.",
        ),
    ),
    audited="domain",
    help="The domains that emails are sent from, with their keys. That of the installation belongs "
    "to no site.",
    made_by="the admin",
    owner_may_delete=False,
    platform_records=True,
    indexes=(
        Index(("domain",), unique=True),
        Index(("check_at",), across_tenants=True, skip_empty="check_at"),
    ),
    called=staff_words("sending domains"),
)
