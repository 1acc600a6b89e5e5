"""Readers who come from a provider: which member they are, or whether they may join."""

from __future__ import annotations

import msgspec

from masthead.base.caller import system
from masthead.base.errors import Forbidden, Invalid
from masthead.base.ids import TenantId
from masthead.base.languages.translators import primary_language
from masthead.base.languages.words import words
from masthead.content.texts.languages import editions_of
from masthead.engine.records.accounts import new_token_key
from masthead.engine.records.collection import Record
from masthead.engine.records.engine import Records
from masthead.engine.records.write.unit import Unit
from masthead.features.members.collection import blog_members
from masthead.features.members.record_view import MemberRecord
from masthead.features.members.sign_up import Link, Purpose, confirm, sign_up
from masthead.features.single_sign_on.collection import MEMBERS
from masthead.features.single_sign_on.errors import NotAdmitted, not_admitted
from masthead.features.single_sign_on.links import (
    Connection,
    add_link,
    connections_of,
    is_linked,
    link_of,
    remove_link,
)
from masthead.features.single_sign_on.person import Person
from masthead.identity.accounts import Accounts, SignedIn
from masthead.identity.sign_ins import Client

UNVERIFIED = words(
    "The sign-in provider does not say that your email address is verified. "
    "Sign in with a link by email."
)
NO_ACCOUNT = words("You are not a member of this site yet. Join first.")
OTHER_DOMAIN = words("People with your email address can’t sign in here this way.")
ANOTHER = words(
    "The member with your email address is somebody else at the sign-in provider. "
    "Sign in with a link by email."
)


class MemberSignOns(msgspec.Struct, frozen=True):
    records: Records
    accounts: Accounts

    async def sign_in(
        self,
        tenant_id: TenantId,
        person: Person,
        client: Client,
        *,
        page: str,
        language: str = "",
    ) -> SignedIn:
        """`page` is where they came from, `language` that of the page, if it is not the site's own.
        Raises NotAdmitted."""
        try:
            async with self.records.unit(system(tenant_id)) as unit:
                member = await _member(unit, person, page, language)
        except (Forbidden, Invalid) as error:
            raise not_admitted(person, str(error)) from error
        return await self.accounts.begin(blog_members, member, client)

    async def connections(self, tenant_id: TenantId, member: MemberRecord) -> list[Connection]:
        return await connections_of(self.records, tenant_id, MEMBERS, member["id"])

    async def disconnect(self, tenant_id: TenantId, member: MemberRecord, link_id: str) -> None:
        async with self.records.unit(system(tenant_id)) as unit:
            await remove_link(unit, MEMBERS, member["id"], link_id)


async def _member(unit: Unit, person: Person, page: str, language: str) -> Record:
    if not person.is_of_allowed_domain:
        raise not_admitted(person, OTHER_DOMAIN)
    link = await link_of(unit, person, MEMBERS)
    if link is not None:
        [member] = await unit.find(blog_members, {"id": link["member_id"]}, limit=1)
        return await confirm(unit, member, {}) if not member["token_key"] else member
    if not person.verified_email:
        raise not_admitted(person, UNVERIFIED)
    found = await unit.find_one(blog_members, {"email": person.verified_email})
    member = (
        await _recognize(unit, person, found)
        if found
        else await _join(unit, person, page, language)
    )
    await add_link(unit, person, MEMBERS, member["id"])
    return member


async def _recognize(unit: Unit, person: Person, member: Record) -> Record:
    if await is_linked(unit, person, MEMBERS, member["id"]):
        raise not_admitted(person, ANOTHER)
    if not member["verified"] and member["password_hash"]:
        # Whoever has chosen that password has not shown that the address is theirs.
        stamped = {"verified": True, "password_hash": "", "token_key": new_token_key()}
        return await unit.update(blog_members, member["id"], {}, stamped=stamped)
    return await confirm(unit, member, {})


async def _join(unit: Unit, person: Person, page: str, language: str) -> Record:
    """As with the button of an email, without any newsletter: nobody has asked for one. In the
    language of the page, or in the one of the site's that the provider names."""
    if not person.provider["creates_accounts"]:
        raise NotAdmitted(NO_ACCOUNT, NO_ACCOUNT)
    joined = Link(Purpose.SIGN_UP, person.verified_email, "", "", newsletter=False, back="")
    editions = editions_of(unit.tenant.site.settings)
    for tag in (person.language.lower(), primary_language(person.language)):
        language = language or (editions.get(tag, "") if tag else "")
    return await sign_up(unit, joined, {}, page=page, language=language)
