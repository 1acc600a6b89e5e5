"""The cost of excerpts is limited for any text."""

from __future__ import annotations

import asyncio

import pytest
from tests.tiers import representatives
from tests.world import TenantWorld, records_of

POSTS = records_of("posts")


@pytest.mark.parametrize("piece", representatives(["&lt;", f"<i>{'w' * 71}</i>"]))
async def test_an_excerpt_that_takes_too_long_is_refused(tenant: TenantWorld, piece: str) -> None:
    post = await tenant.published(content_html=piece * (4_500_000 // len(piece)))
    for path in (POSTS, records_of("posts", post["id"])):
        answer = await tenant.guest.get(f"{path}?fields=content_html:excerpt(9999999)")
        assert answer.status_code == 400
        assert "Ask for shorter ones" in answer.json()["message"]
        answer = await tenant.guest.get(f"{path}?fields=id,content_html:excerpt(10)")
        assert answer.status_code == 200


async def test_a_long_run_of_signs_is_one_text(tenant: TenantWorld) -> None:
    post = await tenant.published(content_html="<" * 100_000)
    path = records_of("posts", post["id"])
    answer = await tenant.guest.get(f"{path}?fields=content_html:excerpt(9999999)")
    assert answer.json() == {"content_html": "<" * 100_000}


async def test_other_requests_have_their_turns_while_long_texts_are_read(
    tenant: TenantWorld,
) -> None:
    post = await tenant.published(content_html="<i></i>" * 59_000)
    path = records_of("posts", post["id"])
    asked = asyncio.create_task(tenant.guest.get(f"{path}?fields=content_html:excerpt(20)"))
    turns = 0
    while not asked.done():
        await asyncio.sleep(0)
        turns += 1
    assert (await asked).json() == {"content_html": ""}
    # The loop turns a few dozen times for a request; here it is free for tenths of a second.
    assert turns > 500
