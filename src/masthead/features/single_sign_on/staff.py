"""Staff who come from a provider: which account is theirs, and with which role.

A link of provider and subject decides. Without one, a verified email address finds the account of
staff, but never that of an owner: they connect it themselves while they are signed in. Operators
belong to no site, so no provider of a site can sign one in.
"""

from __future__ import annotations

from datetime import timedelta

import msgspec

from masthead.base.caller import Caller, system
from masthead.base.config.tokens import Sealed
from masthead.base.errors import BadRequest, Invalid
from masthead.base.ids import TenantId
from masthead.base.languages.words import staff_words
from masthead.base.logs import log
from masthead.engine.audit.collection import CHANGED, CONNECTED, CREATED, DISCONNECTED
from masthead.engine.audit.entries import log_action
from masthead.engine.records.accounts import new_token_key
from masthead.engine.records.collection import Record
from masthead.engine.records.engine import Records
from masthead.engine.records.write.unit import Unit
from masthead.features.single_sign_on.collection import GIVEN_ROLES, STAFF, sign_in_providers
from masthead.features.single_sign_on.errors import not_admitted
from masthead.features.single_sign_on.links import (
    Connection,
    add_link,
    connected_staff,
    connections_of,
    is_linked,
    link_of,
    remove_link,
)
from masthead.features.single_sign_on.person import Person
from masthead.identity.account_callers import account_caller
from masthead.identity.accounts import Accounts, SignedIn
from masthead.identity.sign_ins import Client
from masthead.identity.tenants import Role, superusers

CONNECTING = Sealed("sign-in to connect", timedelta(minutes=30), tuple[str, str])
"""The provider's id and the person's subject, between the way back from the provider and the press
of “Connect”: the page holds them for the sign-in that asked."""
UNVERIFIED = staff_words(
    "The sign-in provider does not say that your email address is verified. "
    "Sign in another way, and connect the provider in your account."
)
NO_ACCOUNT = staff_words("You have no account here yet. Ask an owner of this site to invite you.")
OWNERS = staff_words(
    "This address belongs to an owner of the site. Sign in another way first, and connect the "
    "provider in your account."
)
NO_ROLE = staff_words(
    "The sign-in provider gives you no role at this site. Ask an owner of the site."
)
OTHER_DOMAIN = staff_words("People with your email address can’t sign in here this way.")
ANOTHER = staff_words(
    "The account with your email address belongs to somebody else at the sign-in provider. "
    "Ask an owner of this site."
)
TAKEN = staff_words("Another person on this site already signs in with that account.")


class StaffSignOns(msgspec.Struct, frozen=True):
    records: Records
    accounts: Accounts

    async def sign_in(self, tenant_id: TenantId, person: Person, client: Client) -> SignedIn:
        """Raises NotAdmitted, or SecondStepNeeded as after a password."""
        async with self.records.unit(system(tenant_id)) as unit:
            account, refusal = await _admit(unit, person)
        if refusal:
            raise not_admitted(person, refusal)
        if not person.has_done_second_step:
            self.accounts.check_second_step(superusers, account)
        return await self.accounts.begin(superusers, account, client, tenant_id)

    async def connect(self, caller: Caller, provider_id: str, subject: str) -> None:
        """Connects the account of the caller; raises BadRequest if the person is another account
        here."""
        assert caller.tenant_id is not None
        async with self.records.unit(system(caller.tenant_id)) as unit:
            provider = await unit.require(sign_in_providers, {"id": provider_id})
            account = await unit.require(superusers, {"id": caller.id})
            person = Person(provider, subject, {})
            link = await link_of(unit, person, STAFF)
            if link is not None and link["staff_id"] != caller.id:
                raise BadRequest(TAKEN)
            if link is None:
                await _connect(unit, person, account, caller)

    async def connections(self, tenant_id: TenantId, account: Record) -> list[Connection]:
        return await connections_of(self.records, tenant_id, STAFF, account["id"])

    async def connected(self, tenant_id: TenantId) -> set[str]:
        """The ids of the accounts that a provider signs in."""
        return await connected_staff(self.records, tenant_id)

    async def disconnect(self, caller: Caller, account: Record, link_id: str) -> str:
        """The name of the provider."""
        async with self.records.unit(system(TenantId(account["tenant_id"]))) as unit:
            name = await remove_link(unit, STAFF, account["id"], link_id)
            log_action(unit, DISCONNECTED, label=name, by=caller)
        return name


async def _admit(unit: Unit, person: Person) -> tuple[Record, str]:
    """The account, or why they may not sign in. What a refusal takes away is stored as well."""
    link = await link_of(unit, person, STAFF)
    if link is None:
        return await _by_email(unit, person)
    [account] = await unit.find(superusers, {"id": link["staff_id"]}, limit=1)
    refusal = "" if person.is_of_allowed_domain else OTHER_DOMAIN
    if account["role"] == Role.OWNER or not person.provider["role_claim"]:
        return account, refusal
    if refusal or not person.role:
        # What the provider took away ends everywhere.
        stamped = {"token_key": new_token_key()}
        await unit.update(superusers, account["id"], {}, stamped=stamped)
        return account, refusal or NO_ROLE
    return await _with_role(unit, person, account), ""


async def _by_email(unit: Unit, person: Person) -> tuple[Record, str]:
    email = person.verified_email
    if not email:
        return {}, UNVERIFIED
    if not person.is_of_allowed_domain:
        return {}, OTHER_DOMAIN
    account = await unit.find_one(superusers, {"email": email})
    if not account:
        return await _create(unit, person)
    if account["role"] == Role.OWNER:
        return {}, OWNERS
    # An address may be given to somebody else at the provider.
    if await is_linked(unit, person, STAFF, account["id"]):
        return {}, ANOTHER
    if person.provider["role_claim"]:
        if not person.role:
            return {}, NO_ROLE
        account = await _with_role(unit, person, account)
    await _connect(unit, person, account, account_caller(superusers, account))
    return account, ""


async def _create(unit: Unit, person: Person) -> tuple[Record, str]:
    if not person.provider["creates_accounts"]:
        return {}, NO_ACCOUNT
    if not person.role:
        return {}, NO_ROLE
    given = {"email": person.verified_email, "role": person.role, "name": person.name}
    try:
        account = await unit.create(superusers, given, stamped={"token_key": new_token_key()})
    except Invalid as error:
        log.warning("single_sign_on.not_created", why=str(error))
        return {}, NO_ACCOUNT
    caller = account_caller(superusers, account)
    about = (superusers.name, account["id"])
    log_action(unit, CREATED, label=account["email"], by=caller, about=about)
    await _connect(unit, person, account, caller)
    return account, ""


async def _with_role(unit: Unit, person: Person, account: Record) -> Record:
    """The account with the role of the provider. A lower one ends every session with the higher."""
    if account["role"] == person.role:
        return account
    is_lower = GIVEN_ROLES.index(person.role) > GIVEN_ROLES.index(account["role"])
    stamped = {"token_key": new_token_key()} if is_lower else {}
    changed = await unit.update(superusers, account["id"], {"role": person.role}, stamped=stamped)
    about = (superusers.name, account["id"])
    by = account_caller(superusers, account)
    log_action(unit, CHANGED, label=account["email"], by=by, about=about)
    return changed


async def _connect(unit: Unit, person: Person, account: Record, by: Caller) -> None:
    await add_link(unit, person, STAFF, account["id"])
    log_action(unit, CONNECTED, label=person.provider["name"], by=by)
