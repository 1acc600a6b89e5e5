"""Caches hold no more bytes than they may."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.world import TenantWorld

from masthead.byte_cache import OVERHEAD_BYTES, ByteCache
from masthead.counters import CACHES, CacheCounts
from masthead.reader import code_blocks
from masthead.record_api import parameters
from masthead.web import compression

PAGE = Path(__file__).parents[1] / "docs" / "operations.md"


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


@pytest.mark.parametrize("name", CACHES)
def test_the_docs_name_each_cache_with_its_limit(name: str) -> None:
    limit = CACHES[name].max_bytes // (1024 * 1024)
    assert re.search(rf"\| `{name}` \|[^|]*\| {limit} MiB \|", PAGE.read_text())
