"""API keys: shown once, stored as a SHA-256 digest only.

A key ends in a checksum, so that a mistyped or truncated one is refused without a query.
"""

from __future__ import annotations

import hashlib
import re
import secrets
import string
import zlib
from collections.abc import Sequence
from functools import lru_cache

import msgspec

from masthead.base.caller import Caller, system
from masthead.base.errors import Invalid, NotFound, Problem
from masthead.base.ids import TenantId
from masthead.base.languages.words import staff_words
from masthead.base.suggestions import suggestion
from masthead.engine.records.collection import Collection, Index, Record
from masthead.engine.records.engine import Records
from masthead.engine.records.fields.base import Access
from masthead.engine.records.fields.documents import TextList
from masthead.engine.records.fields.secrets import Hash
from masthead.engine.records.fields.text import Text
from masthead.engine.records.fields.values import Date
from masthead.identity.scopes import SCOPES, is_scope

api_keys = Collection(
    "api_keys",
    (
        Text(name="name", required=True, max=100),
        TextList(name="scopes", help="What the key may do in `/api/v1`."),
        Text(
            name="prefix",
            max=20,
            write=Access.ENGINE,
            help="The first characters of the key, by which you can recognise it.",
        ),
        Hash(name="key_hash", max=64),
        Date(name="expires_at", help="If empty, never."),
        Date(name="revoked_at", help="Since when the key is refused."),
        Date(name="last_used_at", write=Access.ENGINE),
    ),
    is_identity=True,
    made_by="the admin or `masthead key create`, which show the key once",
    audited="name",
    help="Keys for the public API. The key itself is not stored, only its hash.",
    indexes=(Index(("key_hash",), unique=True, across_tenants=True, skip_empty="key_hash"),),
    called=staff_words("API keys"),
)

START = "mh_live_"
RANDOM_LENGTH = 40
CHECKSUM_LENGTH = 6
PREFIX_LENGTH = len(START) + 6
KEY_LENGTH = len(START) + RANDOM_LENGTH + CHECKSUM_LENGTH

_ALPHABET = string.digits + string.ascii_uppercase + string.ascii_lowercase
_SHAPE = re.compile(rf"{START}[0-9A-Za-z]{{{RANDOM_LENGTH + CHECKSUM_LENGTH}}}\Z")


class NewKey(msgspec.Struct, frozen=True):
    key: str
    prefix: str
    key_hash: str


def generate_key() -> NewKey:
    body = START + "".join(secrets.choice(_ALPHABET) for _ in range(RANDOM_LENGTH))
    key = body + _checksum(body)
    return NewKey(key, key[:PREFIX_LENGTH], hash_key(key))


def is_well_formed(key: str) -> bool:
    """Whether prefix, length and checksum are right. The key need not exist."""
    if not _SHAPE.match(key):
        return False
    return _checksum(key[:-CHECKSUM_LENGTH]) == key[-CHECKSUM_LENGTH:]


@lru_cache(maxsize=1_024)
def hash_key(key: str) -> str:
    """Remembered for the keys of the moment: a program sends the same one with every call."""
    # 238 random bits: a slow hash would add nothing.
    return hashlib.sha256(key.encode()).hexdigest()


async def create_key(
    records: Records,
    tenant_id: TenantId,
    name: str,
    scopes: Sequence[str],
    *,
    expires_at: str = "",
    by: Caller | None = None,
) -> tuple[Record, str]:
    """The record and the key, which can't be read again. `by` is a person, for whom the site's
    rules hold; without one it is the service itself."""
    check_scopes(scopes)
    new = generate_key()
    given = {"name": name, "scopes": list(dict.fromkeys(scopes)), "expires_at": expires_at}
    stamped = {"prefix": new.prefix, "key_hash": new.key_hash}
    record = await records.create(by or system(tenant_id), api_keys, given, stamped=stamped)
    return record, new.key


def check_scopes(scopes: Sequence[str]) -> None:
    if not scopes:
        message = staff_words("Give at least one scope. A key without scopes can do nothing.")
        raise Invalid({"scopes": Problem("validation_invalid_value", message)})
    unknown = [name for name in scopes if not is_scope(name)]
    if unknown:
        problem = Problem(
            "validation_invalid_value",
            f"{unknown[0]} is not a scope; {suggestion(unknown[0], SCOPES)}",
        )
        raise Invalid({"scopes": problem})


async def revoke_key(records: Records, key_id: str, *, by: Caller | None = None) -> Record:
    """From now on. Revoking twice keeps the first date, also at the same moment. `by` is as for
    `create_key`."""
    try:
        caller = await records.in_tenant_of(by or system(), api_keys, key_id)
        async with records.unit(caller) as unit:
            found = await unit.require(api_keys, {"id": key_id})
            if found["revoked_at"] and found["revoked_at"] <= unit.now:
                return found
            return await unit.update(api_keys, key_id, {"revoked_at": unit.now})
    except NotFound as error:
        raise NotFound(
            "There is no API key with this id. `masthead key list` shows them."
        ) from error


def _checksum(text: str) -> str:
    number = zlib.crc32(text.encode())
    characters = []
    for _ in range(CHECKSUM_LENGTH):
        number, position = divmod(number, len(_ALPHABET))
        characters.append(_ALPHABET[position])
    return "".join(reversed(characters))
