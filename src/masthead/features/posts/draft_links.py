"""Share links of drafts: they show one to people without an account, for thirty days.

Only the hash of a link's token is stored, so nobody can read a link twice, not even from a copy of
the database."""

from __future__ import annotations

from datetime import timedelta
from typing import Final

from masthead.base import clock
from masthead.base.access_log import DRAFT
from masthead.base.caller import Caller
from masthead.base.config.tokens import hash_token, new_token
from masthead.base.errors import WrongState
from masthead.base.ids import TenantId
from masthead.base.languages.words import staff_words
from masthead.content.texts.copied_fields import pointer
from masthead.content.texts.editing import Opened
from masthead.content.texts.publication import PUBLISHED
from masthead.engine.records.collection import Collection, Index, Record, Rules
from masthead.engine.records.engine import Records
from masthead.engine.records.fields.base import Access
from masthead.engine.records.fields.text import Text
from masthead.engine.records.fields.values import Date
from masthead.features.posts.collection import (
    OWN_POST,
    OWN_POST_DRAFT,
    POSTS,
    post_working_copies,
    posts,
)

LIFETIME: Final = timedelta(days=30)
MOST: Final = 50
"""Links of one post at a time."""
ADDRESS: Final = DRAFT
_MAX_TOKEN: Final = 100

draft_links = Collection(
    "draft_links",
    (
        pointer("post"),
        Text(name="token_hash", max=64, read=Access.ENGINE, write=Access.ENGINE),
        Text(
            name="made_by",
            max=15,
            read=Access.CONTRIBUTOR,
            write=Access.ENGINE,
            help="The account that made it.",
        ),
        Date(
            name="expires_at",
            read=Access.CONTRIBUTOR,
            write=Access.ENGINE,
            help="When it ends. Deleting it ends it at once.",
        ),
    ),
    help="Links that show a draft to people without an account.",
    editors=Rules(read="", create="", delete=""),
    authors=Rules(read=OWN_POST, create=OWN_POST, delete=OWN_POST),
    contributors=Rules(read=OWN_POST, create=OWN_POST_DRAFT, delete=OWN_POST_DRAFT),
    made_by="the admin",
    audited="",
    indexes=(
        Index(("post_id", "created", "id")),
        Index(("token_hash",), unique=True),
        Index(("expires_at",), across_tenants=True, skip_empty="expires_at"),
    ),
    called=staff_words("share links"),
)


async def make_link(records: Records, caller: Caller, post_id: str) -> tuple[Record, str]:
    """The link's record, and its token, which is shown once."""
    token = new_token()
    async with records.unit(caller) as unit:
        # That the caller may do it is checked by the rule, for the record that is written.
        post = await unit.require(posts, {"id": post_id})
        if post["status"] == PUBLISHED:
            raise WrongState(staff_words("The post is published: share its own address."))
        if len(await unit.find(draft_links, {"post_id": post_id}, limit=MOST)) == MOST:
            raise WrongState(
                staff_words("The post has %(number)s links. End one of them first.", number=MOST)
            )
        stamped = {
            "token_hash": hash_token(token),
            "made_by": caller.id,
            "expires_at": clock.to_text(clock.from_text(unit.now) + LIFETIME),
        }
        link = await unit.create(draft_links, {"post_id": post_id}, stamped=stamped)
    return link, token


async def draft_of(
    records: Records, tenant_id: TenantId, token: str
) -> tuple[Opened, Record] | None:
    """The post of a link that has not ended, with its changes that are not live; and the link."""
    if not 0 < len(token) <= _MAX_TOKEN:
        return None
    wanted = {"token_hash": hash_token(token)}
    link = await records.find_one(draft_links, wanted, tenant_id=tenant_id)
    if link is None or link["expires_at"] <= clock.to_text(records.clock()):
        return None
    text = await records.require(posts, {"id": link["post_id"]}, tenant_id=tenant_id)
    of_post = {"post_id": text["id"]}
    copy = await records.find_one(post_working_copies, of_post, tenant_id=tenant_id)
    return Opened(POSTS, text, copy), link
