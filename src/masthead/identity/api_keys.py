"""API keys: shown once, stored as a SHA-256 digest only."""

from __future__ import annotations

from masthead.records.collection import Collection, Index
from masthead.records.fields.base import Access
from masthead.records.fields.documents import TextList
from masthead.records.fields.secrets import Hash
from masthead.records.fields.text import Text
from masthead.records.fields.values import Date

api_keys = Collection(
    "api_keys",
    (
        Text(name="name", required=True, max=100),
        TextList(name="scopes"),
        # The first characters, so that a person can tell keys apart.
        Text(name="prefix", max=20, write=Access.ENGINE),
        Hash(name="key_hash", max=64),
        Date(name="expires_at"),
        Date(name="revoked_at"),
        Date(name="last_used_at", write=Access.ENGINE),
    ),
    indexes=(Index(("key_hash",), unique=True, across_tenants=True, skip_empty="key_hash"),),
)
