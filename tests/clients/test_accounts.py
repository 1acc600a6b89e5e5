"""Accounts by PocketBase's own clients, as they come from their registries, against a real
server."""

from __future__ import annotations

import asyncio
import json
import re
from contextlib import ExitStack
from typing import Any

import pytest
from pocketbase.errors import ClientResponseError
from tests.clients.node import HERE, run_node
from tests.conftest import Server
from tests.faces.admin.visitor import staff
from tests.features.factors.apps import add_app
from tests.outside.mail.offices import Office, text_of
from tests.world import PASSWORD, Account

from pocketbase import PocketBase

NEW_PASSWORD = "another long password"


async def in_mail(server: Server, address: str, pattern: str) -> str:
    """Returns the first group of the pattern in the last email to the address that matches it."""
    office = Office(server.world, server.world.parts.settings.data_dir / "mail")
    texts = [
        text_of(mail)
        for mail in await office.mails()
        if mail["to"].addresses[0].addr_spec == address
    ]
    return [found[1] for text in texts if (found := re.search(pattern, text))][-1]


TOKEN, CODE = r"token=([\w-]+)", r"\b(\d{6})\b"


async def _node(*arguments: str) -> dict[str, str]:
    finished = await run_node(HERE / "accounts.mjs", *arguments)
    assert (finished.code, finished.errors) == (0, "")
    answer: dict[str, str] = json.loads(finished.output)
    return answer


async def test_the_javascript_client(server: Server) -> None:
    await server.tenant.settings(members_enabled=True)
    owner, member = await server.tenant.owner(), await server.tenant.member()
    asked = await _node(server.url, "request", member.email, owner.email, NEW_PASSWORD)
    code = await in_mail(server, member.email, CODE)
    staff_code = await in_mail(server, owner.email, CODE)
    token = await in_mail(server, "js@example.com", TOKEN)
    ids = (asked["otpId"], code, asked["staffOtpId"], staff_code, token)
    await _node(server.url, "confirm", *ids, NEW_PASSWORD, asked["id"], PASSWORD)
    new = await in_mail(server, "js-new@example.com", TOKEN)
    await _node(server.url, "change", new, PASSWORD)


async def test_the_javascript_clients_second_step(server: Server) -> None:
    browser, owner = await staff(server.tenant, "owner")
    app = await add_app(browser, server.tenant.world)
    await _node(server.url, "secondStep", owner.email, PASSWORD, *app.recovery_codes[:2])


async def test_the_python_client(server: Server) -> None:
    await server.tenant.settings(members_enabled=True)
    member = await server.tenant.member()
    with ExitStack() as stack:
        client = PocketBase(server.url)
        stack.callback(client.http_client.close)
        members = client.collection("blog_members")
        await asyncio.to_thread(_request, client, member)
        token = await in_mail(server, "python@example.com", TOKEN)
        assert await asyncio.to_thread(members.confirm_verification, token)
        joined = await asyncio.to_thread(
            members.auth_with_password, "python@example.com", NEW_PASSWORD
        )
        assert joined.record.verified
        await asyncio.to_thread(members.auth_with_password, member.email, PASSWORD)
        assert await asyncio.to_thread(members.request_email_change, "python-new@example.com")
        new = await in_mail(server, "python-new@example.com", TOKEN)
        assert await asyncio.to_thread(members.confirm_email_change, new, PASSWORD)


def _request(client: PocketBase, member: Account) -> None:
    members: Any = client.collection("blog_members")
    sent = {"email": "python@example.com", "password": NEW_PASSWORD}
    made = members.create({**sent, "passwordConfirm": NEW_PASSWORD})
    assert not made.verified
    assert members.request_verification(member.email)
    assert members.request_password_reset(member.email)
    with pytest.raises(ClientResponseError) as refused:
        members.confirm_password_reset("x", NEW_PASSWORD, NEW_PASSWORD)
    assert set(refused.value.data["data"]) == {"token"}
