"""Sensitive steps through the record store: as in the admin, who takes one must have proved within
the last 15 minutes who they are. A program can't be asked for that, so it is refused."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

import msgspec

from masthead.engine.records.collection import Collection
from masthead.faces.record_api.call import Call
from masthead.features.single_sign_on.collection import sign_in_links, sign_in_providers
from masthead.features.site.collection import site_settings
from masthead.features.webhooks.collection import webhook_subscriptions
from masthead.identity.api_keys import api_keys
from masthead.identity.tenants import superusers, tenants
from masthead.web.asking_again import ProofTooOld


class Sensitive(msgspec.Struct, frozen=True):
    """The fields and steps of a collection that only staff who have proved who they are may
    change."""

    fields: frozenset[str] = frozenset()
    creation: bool = False
    deletion: bool = False


SENSITIVE: Final[Mapping[str, Sensitive]] = {
    superusers.name: Sensitive(frozenset({"email", "role"}), creation=True, deletion=True),
    tenants.name: Sensitive(deletion=True),
    api_keys.name: Sensitive(frozenset({"scopes", "expires_at", "revoked_at"}), deletion=True),
    sign_in_providers.name: Sensitive(
        frozenset(each.name for each in sign_in_providers.fields), deletion=True
    ),
    sign_in_links.name: Sensitive(deletion=True),
    webhook_subscriptions.name: Sensitive(frozenset({"url", "headers"})),
    site_settings.name: Sensitive(
        frozenset(
            {
                "require_second_factor",
                "member_payment_secret_key",
                "member_payment_webhook_secret",
                "ai_provider",
                # Where the key is sent.
                "ai_base_url",
                "ai_api_key",
                "ai_for",
            }
        )
    ),
}
"""The passwords of others are as sensitive; one's own asks for the old one in any case."""
_NOTHING: Final = Sensitive()


async def check_creation(call: Call, collection: Collection) -> None:
    if _sensitive(collection).creation:
        await check_proof(call)


async def check_update(call: Call, collection: Collection, names: Iterable[str]) -> None:
    if not _sensitive(collection).fields.isdisjoint(names):
        await check_proof(call)


async def check_deletion(call: Call, collection: Collection) -> None:
    if _sensitive(collection).deletion:
        await check_proof(call)


async def check_proof(call: Call) -> None:
    """Raises ProofTooOld. Whoever is no administrator is refused by the rules."""
    caller = call.caller
    if caller.is_admin and not await call.services.accounts.sign_ins.is_proved(caller):
        raise ProofTooOld


def _sensitive(collection: Collection) -> Sensitive:
    return SENSITIVE.get(collection.name, _NOTHING)
