"""Requests of readers by a form or a client, and the member that a confirmed sign-up makes."""

from __future__ import annotations

import json
from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType
from typing import Any

import msgspec

from masthead.base.config.keyring import DecryptionError, KeyRing
from masthead.base.errors import BadRequest, Forbidden
from masthead.base.ids import TenantId
from masthead.base.languages.words import words
from masthead.engine.records.accounts import credentials, new_token_key
from masthead.engine.records.collection import Record
from masthead.engine.records.write.unit import Unit
from masthead.features.members.collection import MAX_OFF, SIGN_UP_FORM, blog_members, consent
from masthead.features.members.convincing import convincing_post
from masthead.features.members.newsletters import newsletters
from masthead.features.site.record_view import as_settings
from masthead.identity.suspension import is_suspended

CLOSED = words("You can’t join this site at the moment.")
UNREADABLE = words("This link can no longer be used. Request a new one.")
_PURPOSE = "sign-ups"


class Purpose(StrEnum):
    SIGN_UP = "sign_up"
    SIGN_IN = "sign_in"
    VERIFY = "verify"
    """Only that the address is theirs."""


class Link(msgspec.Struct, frozen=True):
    purpose: Purpose
    email: str
    member_id: str
    account_mark: str
    newsletter: bool
    back: str
    newsletters: tuple[str, ...] = ()
    details: str = ""
    """The encrypted details of a sign-up through the record store."""

    @property
    def has_password(self) -> bool:
        """One was chosen when the reader signed up."""
        return bool(self.details)


class EmailRequest(msgspec.Struct, frozen=True):
    """A reader's request by a form."""

    purpose: Purpose
    email: str
    newsletter: bool = False
    back: str = ""
    newsletters: tuple[str, ...] = ()
    """The slugs of those that were chosen; none where the form does not ask for them."""
    details: Mapping[str, str] = msgspec.field(default_factory=dict)
    """`id`, `name` and `password_hash` of the member, for a sign-up through the record store."""
    edition: str = ""
    """The language of the page: see `content/texts/languages.py`."""


class Details(msgspec.Struct, frozen=True):
    """The details of a sign-up while they wait: nobody has confirmed that they may be stored."""

    keyring: KeyRing

    def seal(self, tenant_id: TenantId, details: Mapping[str, str]) -> str:
        if not details:
            return ""
        return self.keyring.encrypt(_PURPOSE, json.dumps(dict(details)), tenant_id)

    def open(self, tenant_id: TenantId, sealed: str) -> dict[str, str]:
        if not sealed:
            return {}
        try:
            details: dict[str, str] = json.loads(self.keyring.decrypt(_PURPOSE, sealed, tenant_id))
        except DecryptionError:
            # Its root secret was removed within the day.
            raise BadRequest(UNREADABLE) from None
        return details


def is_open(unit: Unit) -> bool:
    """The site takes new members."""
    return as_settings(unit.tenant.site.settings)["members_enabled"]


async def sign_up(
    unit: Unit, link: Link, details: Mapping[str, str], *, page: str, language: str = ""
) -> Record:
    """The new member; or the one that the address has by now, such as by a payment. `page` is where
    the form was, `language` that of the page on which they confirm, if it is not the site's own."""
    if unit.tenant.site.read_only or not is_open(unit) or await is_suspended(unit):
        raise Forbidden(CLOSED)
    found = await unit.find_one(blog_members, {"email": link.email})
    if not found:
        return await _create(unit, link, details, page, language=language)
    wants: dict[str, Any] = {"newsletter": True} if link.newsletter else {}
    if wants and link.newsletters:
        off = await _not_chosen(unit, link.newsletters)
        if found["newsletter"]:
            # What they got before they still get.
            off = [each for each in found["newsletters_off"] if each in off]
        wants["newsletters_off"] = off
    agreed = consent(SIGN_UP_FORM, unit.now, page) if wants else {}
    return await confirm(unit, found, wants, agreed)


async def confirm(
    unit: Unit,
    member: Record,
    changes: Mapping[str, Any],
    agreed: Mapping[str, str] = MappingProxyType({}),
) -> Record:
    """The link came by email, so the address is verified. An imported account has no key yet."""
    stamped: dict[str, Any] = dict(agreed)
    if not member["verified"]:
        stamped["verified"] = True
    if not member["token_key"]:
        stamped["token_key"] = new_token_key()
    if not stamped and not changes:
        return member
    return await unit.update(blog_members, member["id"], changes, stamped=stamped)


async def _create(
    unit: Unit, link: Link, details: Mapping[str, str], page: str, *, language: str
) -> Record:
    given: dict[str, Any] = {
        "email": link.email,
        "newsletter": link.newsletter,
        "language": language,
    }
    given["newsletters_off"] = await _not_chosen(unit, link.newsletters)
    stamped: dict[str, Any] = {
        "verified": True,
        "token_key": new_token_key(),
        "joined_from": await convincing_post(unit, page),
    }
    if details:
        given |= {"id": details["id"], "name": details["name"]}
        stamped |= credentials(details["password_hash"])
    if link.newsletter:
        stamped |= consent(SIGN_UP_FORM, unit.now, page)
    return await unit.create(blog_members, given, stamped=stamped)


async def _not_chosen(unit: Unit, chosen: tuple[str, ...]) -> list[str]:
    """The newsletters that a new member does not get: all others, or where the reader was not asked
    those that are not for new members."""
    others = await unit.find(newsletters, {} if chosen else {"is_default": False}, limit=MAX_OFF)
    return [each["slug"] for each in others if each["slug"] not in chosen]
