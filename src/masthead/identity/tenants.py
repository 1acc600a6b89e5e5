"""Tenants and their administrators: the two collections that everything else belongs to."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from enum import StrEnum
from typing import Any, Final
from urllib.parse import quote

from masthead.base.languages.translators import ADMIN_LANGUAGES
from masthead.base.languages.words import staff_words
from masthead.engine.links.file_uses import Uses
from masthead.engine.links.moves import Move, Moves
from masthead.engine.records.accounts import ACCOUNT_FIELDS
from masthead.engine.records.changes import Change, Save
from masthead.engine.records.collection import Collection, Index, Rules, SiteRules
from masthead.engine.records.fields.base import Access
from masthead.engine.records.fields.relation import Relation
from masthead.engine.records.fields.text import Email, Slug, Text, Url
from masthead.engine.records.fields.values import Date, Flag, Number, Select
from masthead.identity.factor_fields import FACTOR_FIELDS
from masthead.identity.limits.plans import Plan

SLUG = re.compile(r"[a-z0-9-]{1,63}")

COMMENT_MAILS_OFF = Flag(
    name="comment_mails_off",
    write=Access.MEMBER,
    help="Gets no emails about comments.",
)
SELF = "@request.auth.collectionName = '_superusers' && @request.auth.id = id"


class Role(StrEnum):
    """The role of a member of a tenant's staff; the collections' rules say what it may do."""

    OWNER = "owner"
    EDITOR = "editor"
    AUTHOR = "author"
    CONTRIBUTOR = "contributor"


def author_moves(change: Change) -> Iterator[Move]:
    """The page of an author stays reachable at its old address."""
    old, new = change.old, change.new
    if old and new and old["tenant_id"] and old["slug"] and old["slug"] != new["slug"]:
        yield Move(*(f"/authors/{quote(each['slug'])}" for each in (old, new)))


_FILES = Uses(("picture",))
superusers = Collection(
    "_superusers",
    (
        Email(name="email", required=True, unique=True, personal=True, write=Access.ADMIN),
        Select(
            name="role",
            values=tuple(Role),
            default=Role.OWNER,
            write=Access.ADMIN,
            help="What the account may do.",
        ),
        # What readers may learn of an author, and nothing else of the account.
        Text(name="name", max=255, personal=True),
        Slug(name="slug", source="name", optional=True, write=Access.ADMIN),
        Text(name="bio", max=2000, personal=True),
        Url(name="picture", personal=True),
        Select(
            name="language",
            values=tuple(ADMIN_LANGUAGES),
            help="The language of the admin. If empty, it is the one that the browser asks for.",
        ),
        COMMENT_MAILS_OFF,
        *ACCOUNT_FIELDS,
        *FACTOR_FIELDS,
    ),
    editors=Rules(read=SELF, update=SELF),
    authors=Rules(read=SELF, update=SELF),
    contributors=Rules(read=SELF, update=SELF),
    site=SiteRules(read="name != ''", fields=("name", "slug", "bio", "picture")),
    listings=(_FILES.listings,),
    followers=(_FILES, Moves(author_moves)),
    required_value=("role", Role.OWNER),
    is_auth=True,
    is_identity=True,
    # Platform operators are administrators without a tenant.
    platform_records=True,
    indexes=(Index(("email",), across_tenants=True),),
    audited="email",
    audited_without=frozenset({"totp_step"}),
    help="The staff of a tenant, each with a role, and platform operators (no tenant).",
    called=staff_words("staff accounts"),
)

MAX_REASON = 1_000


class TenantStatus(StrEnum):
    ACTIVE = "active"
    SUSPENDED = "suspended"
    """Closed by an operator: see `web/suspension.py` for what that means."""


def stamp_suspension(save: Save) -> Mapping[str, Any]:
    """A site that is not suspended has neither a date nor a reason."""
    if save.new["status"] != TenantStatus.SUSPENDED:
        return {"suspended_at": "", "suspension_reason": ""}
    was_suspended = save.old is not None and save.old["status"] == TenantStatus.SUSPENDED
    return {} if was_suspended else {"suspended_at": save.now}


_CALL_LIMITS: Final = ("per_minute", "per_hour", "per_day")
OWN_LIMITS: Final = (*_CALL_LIMITS, "mails_per_month")
"""The fields with limits of one tenant, instead of its plan's."""

# A tenant's own row belongs to the tenant itself: `tenant_id` equals `id`, so that one rule holds
# for every table.
tenants = Collection(
    "tenants",
    (
        Text(
            name="slug",
            required=True,
            max=63,
            pattern=SLUG,
            allowed=staff_words("May hold a-z, 0-9 and hyphens."),
            immutable=True,
            write=Access.PLATFORM,
            help="The first part of the site's host name.",
        ),
        Text(name="name", required=True, max=255),
        Select(
            name="plan",
            values=tuple(Plan),
            default=Plan.FREE,
            write=Access.PLATFORM,
            help="Decides API access and rate limits.",
        ),
        Relation(
            name="owner_id",
            to="_superusers",
            write=Access.PLATFORM,
            help="Gets the emails about data protection.",
        ),
        *(
            Number(
                name=name,
                nullable=True,
                min=0,
                write=Access.PLATFORM,
                help="API calls. If empty, the plan's limit applies.",
            )
            for name in _CALL_LIMITS
        ),
        Number(
            name="mails_per_month",
            nullable=True,
            min=0,
            write=Access.PLATFORM,
            help="Newsletter recipients a month. If empty, the plan's limit applies.",
        ),
        Select(
            name="status",
            values=tuple(TenantStatus),
            default=TenantStatus.ACTIVE,
            write=Access.PLATFORM,
            help="A suspended site is closed for its readers, its staff and its API keys.",
        ),
        Date(
            name="suspended_at",
            write=Access.ENGINE,
            help="When it was suspended; empty if it is not.",
        ),
        Text(
            name="suspension_reason",
            max=MAX_REASON,
            write=Access.PLATFORM,
            help="The reason that the staff of a suspended site sees.",
        ),
    ),
    before_save=stamp_suspension,
    audited="name",
    help="A tenant is one site with its own records, staff and members.",
    is_identity=True,
    owner_may_delete=False,
    indexes=(
        Index(("slug",), unique=True, across_tenants=True),
        Index(("status", "created", "id"), across_tenants=True),
        # The operators' list.
        Index(("created", "id"), across_tenants=True),
    ),
    called=staff_words("sites"),
)
