"""Gives people access to their accounts again: by an invitation, by a new password, or without the
second factor that they have lost."""

from __future__ import annotations

from masthead.base.caller import shell
from masthead.base.ids import TenantId
from masthead.engine.records.collection import Record
from masthead.engine.records.versions import TenantVersions
from masthead.features.factors.enrolment import Factors
from masthead.features.password_reset.invitations import Invitations
from masthead.identity.accounts import Accounts
from masthead.identity.given_passwords import new_credentials
from masthead.identity.limits.sign_in_throttle import LoginThrottle
from masthead.identity.sign_ins import SignIns
from masthead.identity.tenants import superusers
from masthead.outside.mail.outbox import Outbox
from masthead.service.installation import Installation


async def set_password(parts: Installation, account: Record, password: str) -> None:
    credentials = await new_credentials(
        {"password": password}, required=True, email=account["email"]
    )
    await SignIns(parts.records).set_password(shell(), superusers, account, credentials)


async def reset_factors(parts: Installation, account: Record) -> None:
    records = parts.records
    outbox = Outbox(parts.database, parts.keyring, parts.settings, records.clock)
    factors = Factors(records, outbox, parts.sites)
    await factors.reset(shell(TenantId(account["tenant_id"])), account)


def invitations(parts: Installation) -> Invitations:
    records, database = parts.records, parts.database
    throttle = LoginThrottle(database, records.clock)
    accounts = Accounts(records, parts.keyring, throttle, TenantVersions(database))
    outbox = Outbox(database, parts.keyring, parts.settings, records.clock)
    return Invitations(records, accounts, throttle, outbox, parts.sites)
