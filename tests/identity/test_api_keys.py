from __future__ import annotations

import hashlib
import re

import pytest

from masthead.identity.api_keys import generate_key, hash_key, is_well_formed
from masthead.identity.scopes import ALIASES, SCOPES, granted


def test_a_new_key_is_well_formed_and_unique() -> None:
    keys = [generate_key() for _ in range(200)]
    assert len({each.key for each in keys}) == 200
    for each in keys:
        assert re.fullmatch(r"mh_live_[0-9A-Za-z]{46}", each.key)
        assert is_well_formed(each.key)
        assert each.key.startswith(each.prefix)
        assert each.key_hash == hash_key(each.key) == hashlib.sha256(each.key.encode()).hexdigest()


def test_the_checksum_detects_any_typo() -> None:
    key = generate_key().key
    for position in range(len("mh_live_"), len(key)):
        other = "a" if key[position] != "a" else "b"
        assert not is_well_formed(key[:position] + other + key[position + 1 :])


@pytest.mark.parametrize(
    "text", ["", "mh_live_", "mh_live_abc", "eyJhbGciOi", "mh_test_" + "a" * 46]
)
def test_other_text_is_no_key(text: str) -> None:
    assert not is_well_formed(text)


def test_a_cut_off_or_padded_key_is_no_key() -> None:
    key = generate_key().key
    assert not is_well_formed(key[:-1])
    assert not is_well_formed(key + "\n")


def test_alternative_scope_names_grant_the_same_rights() -> None:
    assert granted(["uploads:write", "settings:read"]) == {"media:write", "site-settings:read"}
    assert granted(["settings:write"]) == {"settings:write"}
    assert set(ALIASES.values()) <= set(SCOPES)
    assert granted(["posts:everything"]) == frozenset()
