"""Two processes on one database, one of which is killed: a client that says where it was misses
nothing and hears nothing twice."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack
from pathlib import Path

import httpx
import pytest
from tests.durability.servers import Running, Site, environment, new_sites, ready, servers
from tests.faces.record_api.listener import Listener, Message, listening

POSTS = "/api/collections/posts/records"
CHANGES = 60
HEARD_FIRST = 20


async def test_a_client_goes_on_where_it_was(database_url: str, tmp_path: Path) -> None:
    environ = environment(tmp_path, database_url)
    [site] = await new_sites(environ, "demo")
    with servers(environ) as started:
        first, second = started.start(), started.start()
        async with AsyncExitStack() as stack:
            apis = [
                await stack.enter_async_context(
                    httpx.AsyncClient(base_url=each.url, headers=site.headers, timeout=30)
                )
                for each in (first, second)
            ]
            for api in apis:
                await ready(api)
            subscribed = asyncio.Event()
            writing = asyncio.create_task(_write(apis, subscribed))
            heard = await _listen(first, apis[1], site, subscribed)
            first.kill()
            apis.pop(0)
            heard += await _go_on(second, heard[-1].id, site)
            await writing
        titles = [each.record["title"] for each in heard]
        assert titles == [str(number) for number in range(CHANGES)]


async def _write(apis: list[httpx.AsyncClient], subscribed: asyncio.Event) -> None:
    """One change after another, at either process. An answer that is lost with its process is asked
    for again at the other."""
    await subscribed.wait()
    number = 0
    while number < CHANGES:
        api = apis[number % len(apis)]
        body = {"id": f"change{number:09}", "title": str(number)}
        try:
            answer = await api.post(POSTS, json=body)
        except httpx.TransportError:
            await asyncio.sleep(0.01)
            continue
        assert answer.status_code in (200, 400), answer.text
        number += 1


async def _listen(
    running: Running, other: httpx.AsyncClient, site: Site, subscribed: asyncio.Event
) -> list[Message]:
    """On one process, with a subscription that reaches the other one."""
    async with listening(running.url, f"{site.slug}.localhost") as listener:
        body = {"clientId": listener.client_id, "subscriptions": ["posts"]}
        answer = await other.post("/api/realtime", json=body)
        assert answer.status_code == 204, answer.text
        subscribed.set()
        return await listener.some(HEARD_FIRST)


async def _go_on(running: Running, last_id: str, site: Site) -> list[Message]:
    async with listening(running.url, f"{site.slug}.localhost", last_id=last_id) as listener:
        assert "gap" not in listener.hello.data
        await listener.subscribe("posts", token=site.token)
        messages = await listener.some(CHANGES - HEARD_FIRST)
        await listener.nothing_more()
        return messages


@pytest.mark.sweep
async def test_other_processes_refuse_what_is_not_theirs(database_url: str, tmp_path: Path) -> None:
    """Another account, and a connection that is gone."""
    environ = environment(tmp_path, database_url)
    sites = await new_sites(environ, "demo", "other")
    with servers(environ) as started:
        first, second = started.start(), started.start()
        async with httpx.AsyncClient(base_url=second.url, timeout=30) as api:
            await ready(api)
            async with listening(first.url, "demo.localhost") as listener:
                assert await _status(api, listener, sites[0].headers) == 204
                assert await _status(api, listener, {"Host": "demo.localhost"}) == 403
                assert await _status(api, listener, sites[1].headers) == 403
            await asyncio.sleep(0.2)
            assert await _status(api, listener, sites[0].headers) == 404


async def _status(api: httpx.AsyncClient, listener: Listener, headers: dict[str, str]) -> int:
    body = {"clientId": listener.client_id, "subscriptions": ["posts"]}
    return (await api.post("/api/realtime", json=body, headers=headers)).status_code
