"""Caches hold no more bytes than they may."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.v1.keys import key_client
from tests.world import Account, TenantWorld, World

from masthead.base.byte_cache import OVERHEAD_BYTES, ByteCache
from masthead.base.caller import system
from masthead.base.counters import CACHES, CacheCounts
from masthead.engine.records.read.page import ListRequest
from masthead.engine.records.read.query import Queries
from masthead.faces.reader import code_blocks
from masthead.faces.record_api import parameters
from masthead.features.posts.collection import posts
from masthead.identity.api_keys import hash_key
from masthead.service.schema import tables
from masthead.web import compression

PAGE = Path(__file__).parents[2] / "docs" / "operations.md"


@given(st.lists(st.tuples(st.sampled_from("abcdef"), st.integers(0, 5_000)), max_size=50))
def test_a_cache_never_holds_more_than_its_bytes(puts: list[tuple[str, int]]) -> None:
    counts = CacheCounts(8_000)
    cache: ByteCache[str, int] = ByteCache(counts)
    for key, size in puts:
        cache.put(key, size, size)
        assert cache.get(key) == size
        held = [cache.get(each) for each in "abcdef"]
        assert counts.bytes == sum(each + OVERHEAD_BYTES for each in held if each is not None)
        assert counts.bytes <= counts.max_bytes


def test_what_was_used_longest_ago_leaves_and_what_is_too_large_never_comes() -> None:
    cache: ByteCache[str, str] = ByteCache(CacheCounts(3 * OVERHEAD_BYTES))
    for key in "abc":
        cache.put(key, key, 0)
    assert cache.get("a") == "a"
    cache.put("d", "d", 0)
    assert [cache.get(key) for key in "abcd"] == ["a", None, "c", "d"]
    cache.put("a", "large", 3 * OVERHEAD_BYTES)
    assert [cache.get(key) for key in "acd"] == [None, "c", "d"]


async def test_compressed_answers_stay_within_their_bytes() -> None:
    counts = CACHES["compressed"]
    headers = [(b"content-type", b"text/html")]
    for _ in range(2 * counts.max_bytes // (2 * compression.MAX_INLINE_BYTES)):
        body = os.urandom(compression.MAX_INLINE_BYTES)
        await compression.encode(b"zstd", 200, headers, body)
    assert counts.max_bytes * 0.9 < counts.bytes <= counts.max_bytes


def test_code_blocks_stay_within_their_bytes() -> None:
    counts = CACHES["code"]
    for number in range(300):
        shown = f"{number}" + "x" * 20_000
        code_blocks._cache.put(("text", shown), (shown, 0.0), 4 * 2 * len(shown))
        assert counts.bytes <= counts.max_bytes


async def test_long_query_strings_are_not_remembered(tenant: TenantWorld) -> None:
    before = parameters._list_with_cache.cache_info().currsize
    for number in range(5):
        query = f"unknown={number}{'x' * 5_000}"
        answer = await tenant.guest.get(f"/api/collections/posts/records?{query}")
        assert answer.status_code == 200
    assert parameters._list_with_cache.cache_info().currsize == before


async def test_prepared_queries_stay_within_their_bytes(
    app: World, tenant: TenantWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    counts = CacheCounts(64 * 1024)
    monkeypatch.setitem(CACHES, "queries", counts)
    records = app.parts.records
    queries = Queries(app.parts.database, records.registry, tables)
    monkeypatch.setattr(records, "_queries", queries)
    shown = set()
    for number in range(2, 12):
        wanted = " && ".join(["title != 'x'"] * number)
        page = await records.page(system(tenant.id), posts, ListRequest(filter=wanted))
        assert page.items == []
        shown.add(counts.bytes)
        assert 0 < counts.bytes <= counts.max_bytes
    assert len(shown) == 10
    assert max(shown) > counts.max_bytes * 0.7


async def test_tenants_keys_and_sessions_count_towards_their_caches(
    tenant: TenantWorld, member: Account
) -> None:
    names = ("tenants", "keys", "sessions")
    before = [CACHES[name].bytes for name in names]
    assert (await (await key_client(tenant)).get("/api/v1/posts")).status_code == 200
    assert (await member.api.get("/api/collections/posts/records")).status_code == 200
    for name, size in zip(names, before, strict=True):
        assert CACHES[name].bytes > size


async def test_the_hash_of_a_long_token_is_not_remembered(tenant: TenantWorld) -> None:
    before = hash_key.cache_info().currsize
    for number in range(5):
        headers = {"authorization": f"Bearer {number}{'x' * 5_000}"}
        assert (await tenant.guest.get("/api/v1/posts", headers=headers)).status_code == 401
    assert hash_key.cache_info().currsize == before


@pytest.mark.parametrize("name", CACHES)
def test_the_docs_name_each_cache_with_its_limit(name: str) -> None:
    limit = CACHES[name].max_bytes // (1024 * 1024)
    assert re.search(rf"\| `{name}` \|[^|]*\| {limit} MiB \|", PAGE.read_text())
