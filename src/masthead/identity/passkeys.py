"""Passkeys (WebAuthn): how they are asked for, checked and kept on an account.

A passkey belongs to the host where it was made. As a second factor it only has to be there; in
place of a password it must also have recognized its owner, by a finger, a face or a PIN.
"""

from __future__ import annotations

import asyncio
import struct
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import msgspec

from masthead.base import ids
from masthead.base.errors import BadRequest
from masthead.base.ids import TenantId
from masthead.base.languages.words import staff_words
from masthead.engine.records.collection import Record

MAX_PASSKEYS = 20
MAX_NAME = 60
MAX_ANSWER = 32 * 1024
TIMEOUT_MS = 5 * 60 * 1000


class PasskeyRefused(BadRequest):
    """The same for every reason, of which the log has more."""

    message = staff_words(
        "That passkey was not accepted here. Try again, or use another way to sign in."
    )


class Passkey(msgspec.Struct, frozen=True):
    id: str
    """The credential's id, in base64url."""
    public_key: str
    sign_count: int
    host: str
    name: str = ""
    created: str = ""
    last_used: str = ""


class Party(msgspec.Struct, frozen=True):
    """The site that a passkey is made for: what the browser vouches for."""

    host: str
    origin: str
    name: str = ""


def passkeys_of(account: Mapping[str, Any]) -> list[Passkey]:
    return msgspec.convert(account.get("passkeys") or [], list[Passkey])


def stored(passkeys: Sequence[Passkey]) -> list[dict[str, Any]]:
    return [msgspec.structs.asdict(each) for each in passkeys]


def handle_of(account: Record) -> str:
    """The handle by which a passkey knows its account: no name and no address."""
    return f"{account['tenant_id']}/{account['id']}"


def account_named_by(answer: Mapping[str, Any]) -> tuple[TenantId, str]:
    """The account that a passkey says it belongs to; its signature has to show it."""
    from webauthn.helpers import base64url_to_bytes

    response = answer.get("response")
    handle = response.get("userHandle") if isinstance(response, dict) else None
    try:
        text = base64url_to_bytes(handle if isinstance(handle, str) else "").decode()
    except ValueError as error:
        raise PasskeyRefused from error
    tenant_id, _, account_id = text.partition("/")
    if not ids.is_id(account_id) or (tenant_id and not ids.is_id(tenant_id)):
        raise PasskeyRefused
    return TenantId(tenant_id), account_id


def read_answer(text: str) -> dict[str, Any]:
    """Parses the answer that the browser's script has put into the form."""
    try:
        if len(text) <= MAX_ANSWER:
            return msgspec.json.decode(text, type=dict[str, Any])
    except (msgspec.DecodeError, RecursionError, UnicodeError):
        pass
    raise PasskeyRefused


def creation_options(account: Record, party: Party, challenge: bytes) -> str:
    """For `navigator.credentials.create`, as JSON."""
    from webauthn import generate_registration_options, options_to_json
    from webauthn.helpers.structs import (
        AuthenticatorSelectionCriteria,
        ResidentKeyRequirement,
        UserVerificationRequirement,
    )

    options = generate_registration_options(
        rp_id=party.host,
        rp_name=party.name,
        user_id=handle_of(account).encode(),
        user_name=account["email"],
        user_display_name=account["name"] or account["email"],
        challenge=challenge,
        timeout=TIMEOUT_MS,
        authenticator_selection=AuthenticatorSelectionCriteria(
            resident_key=ResidentKeyRequirement.PREFERRED,
            user_verification=UserVerificationRequirement.PREFERRED,
        ),
        exclude_credentials=_described(passkeys_of(account), party.host),
    )
    return options_to_json(options)


def request_options(party: Party, challenge: bytes, account: Record | None = None) -> str:
    """For `navigator.credentials.get`, as JSON: for one account, or for whichever the person
    chooses."""
    from webauthn import generate_authentication_options, options_to_json
    from webauthn.helpers.structs import UserVerificationRequirement

    needs = UserVerificationRequirement
    options = generate_authentication_options(
        rp_id=party.host,
        challenge=challenge,
        timeout=TIMEOUT_MS,
        allow_credentials=_described(passkeys_of(account), party.host) if account else None,
        user_verification=needs.PREFERRED if account else needs.REQUIRED,
    )
    return options_to_json(options)


async def verify_new(
    answer: Mapping[str, Any], party: Party, challenge: bytes, *, name: str, now: str
) -> Passkey:
    """The passkey that a browser has made; raises PasskeyRefused."""
    made = await asyncio.to_thread(_verify_new, dict(answer), party, challenge)
    return msgspec.structs.replace(made, name=name, created=now)


async def verify_use(
    passkey: Passkey,
    answer: Mapping[str, Any],
    party: Party,
    challenge: bytes,
    *,
    needs_owner: bool,
) -> int:
    """The passkey's new count of uses; raises PasskeyRefused, also if the count has not grown, as
    with a copy of the passkey. `needs_owner`: it must have recognized the person."""
    check = partial(_verify_use, passkey, dict(answer), party, challenge)
    return await asyncio.to_thread(check, needs_owner=needs_owner)


def with_use(passkeys: Sequence[Passkey], used: str, count: int, now: str) -> list[Passkey] | None:
    """The account's passkeys after one was used; None if another request was first."""
    found = next((each for each in passkeys if each.id == used), None)
    if found is None or (found.sign_count and count <= found.sign_count):
        return None
    changed = msgspec.structs.replace(found, sign_count=count, last_used=now)
    return [changed if each.id == used else each for each in passkeys]


def _verify_new(answer: dict[str, Any], party: Party, challenge: bytes) -> Passkey:
    from webauthn import verify_registration_response
    from webauthn.helpers import bytes_to_base64url

    try:
        made = verify_registration_response(
            credential=answer,
            expected_challenge=challenge,
            expected_rp_id=party.host,
            expected_origin=party.origin,
        )
    except _unreadable() as error:
        raise PasskeyRefused from error
    return Passkey(
        id=bytes_to_base64url(made.credential_id),
        public_key=bytes_to_base64url(made.credential_public_key),
        sign_count=made.sign_count,
        host=party.host,
    )


def _verify_use(
    passkey: Passkey, answer: dict[str, Any], party: Party, challenge: bytes, *, needs_owner: bool
) -> int:
    from webauthn import verify_authentication_response
    from webauthn.helpers import base64url_to_bytes

    try:
        used = verify_authentication_response(
            credential=answer,
            expected_challenge=challenge,
            expected_rp_id=party.host,
            expected_origin=party.origin,
            credential_public_key=base64url_to_bytes(passkey.public_key),
            credential_current_sign_count=passkey.sign_count,
            require_user_verification=needs_owner,
        )
    except _unreadable() as error:
        raise PasskeyRefused from error
    return used.new_sign_count


def _unreadable() -> tuple[type[Exception], ...]:
    """The errors that the library raises for answers that no browser sends."""
    from cryptography.exceptions import UnsupportedAlgorithm
    from webauthn.helpers.exceptions import WebAuthnException

    return (
        WebAuthnException,
        UnsupportedAlgorithm,
        ValueError,
        LookupError,
        TypeError,
        AttributeError,
        OverflowError,
        RecursionError,
        struct.error,
    )


def _described(passkeys: Sequence[Passkey], host: str) -> list[Any]:
    from webauthn.helpers import base64url_to_bytes
    from webauthn.helpers.structs import PublicKeyCredentialDescriptor

    return [
        PublicKeyCredentialDescriptor(id=base64url_to_bytes(each.id))
        for each in passkeys
        if each.host == host
    ]


def new_name(given: str, passkeys: Sequence[Passkey]) -> str:
    """As typed, in one line; otherwise a number."""
    name = " ".join(given.split())[:MAX_NAME]
    printable = "".join(each for each in name if each.isprintable())
    return printable or f"Passkey {len(passkeys) + 1}"
