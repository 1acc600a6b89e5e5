"""A body is read only where its sender may send it, and never more of it than the form needs."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest
from tests.v1.keys import key_client
from tests.world import Account, TenantWorld, records_of

from masthead.engine.records.collection import Record
from masthead.web.bodies import SMALL_FORM_BYTES

BOUNDARY = "boundary"
FORM = {"content-type": f"multipart/form-data; boundary={BOUNDARY}"}
FILE = (
    f'--{BOUNDARY}\r\nContent-Disposition: form-data; name="file"; filename="a.bin"\r\n\r\n'
).encode()


class Sending:
    """An endless body, and how much of it was read."""

    def __init__(self, start: bytes = b"") -> None:
        self.start = start
        self.taken = 0

    async def __aiter__(self) -> AsyncIterator[bytes]:
        self.taken += 1
        yield self.start
        while True:
            self.taken += 1
            yield b"x" * 65_536


async def send(
    api: httpx.AsyncClient, method: str, path: str, body: Sending, headers: dict[str, str]
) -> httpx.Response:
    return await api.request(method, path, content=body.__aiter__(), headers=headers)


@pytest.mark.parametrize("headers", [FORM, {"content-type": "application/json"}])
@pytest.mark.parametrize(
    ("method", "collection", "status"),
    [
        ("POST", "posts", 401),
        ("POST", "media", 401),
        ("PATCH", "posts", 401),
        ("PATCH", "media", 401),
        ("PATCH", "blog_members", 404),
        ("DELETE", "posts", 401),
    ],
)
async def test_the_record_store_takes_no_body_of_a_guest(
    tenant: TenantWorld,
    member: Account,
    method: str,
    collection: str,
    status: int,
    headers: dict[str, str],
) -> None:
    path = records_of(collection, member.id if method != "POST" else "")
    body = Sending(FILE)
    answer = await send(tenant.guest, method, path, body, headers)
    assert (answer.status_code, body.taken) == (status, 0)


async def test_a_member_sends_no_body_to_another_members_account(
    tenant: TenantWorld, member: Account
) -> None:
    other = await tenant.member()
    body = Sending(FILE)
    answer = await send(member.api, "PATCH", records_of("blog_members", other.id), body, FORM)
    assert (answer.status_code, body.taken) == (404, 0)


async def test_a_member_sends_no_file_and_no_long_body(member: Account) -> None:
    path = records_of("blog_members", member.id)
    answer = await send(member.api, "PATCH", path, Sending(FILE), FORM)
    assert answer.status_code == 400
    assert "have no files" in answer.json()["message"]
    answer = await send(member.api, "PATCH", path, Sending(), {"content-type": "application/json"})
    assert answer.status_code == 413


async def test_a_file_is_refused_before_it_is_stored(owner: Account, draft: Record) -> None:
    media = await owner.api.post(records_of("media"), files={"file": ("a.txt", b"text")})
    for path, says in (
        (records_of("posts", draft["id"]), "have no files"),
        (records_of("media", media.json()["id"]), "can't be replaced"),
    ):
        body = Sending(FILE)
        answer = await send(owner.api, "PATCH", path, body, FORM)
        assert answer.status_code == 400
        assert says in answer.json()["message"]
        assert body.taken == 1


@pytest.mark.parametrize("headers", [FORM, {"content-type": "application/json"}])
async def test_the_public_api_takes_no_body_without_a_key_that_may(
    tenant: TenantWorld, headers: dict[str, str]
) -> None:
    reader = await key_client(tenant, "posts:read")
    for api, status in ((tenant.guest, 401), (reader, 403)):
        for path in ("/api/v1/posts", "/api/v1/media"):
            body = Sending(FILE)
            answer = await send(api, "POST", path, body, headers)
            assert (answer.status_code, body.taken) == (status, 0)


async def test_data_protection_takes_no_body_of_a_stranger(tenant: TenantWorld) -> None:
    for path in ("/api/gdpr/export", "/api/gdpr/delete"):
        body = Sending(b"{")
        answer = await send(tenant.guest, "POST", path, body, {})
        assert (answer.status_code, body.taken) == (401, 0)


async def test_an_unsigned_payment_event_is_not_read(tenant: TenantWorld) -> None:
    await tenant.settings(member_payment_webhook_secret="whsec_of_the_tenant")
    body = Sending(b"{")
    answer = await send(tenant.guest, "POST", f"/api/member-webhook/{tenant.slug}", body, {})
    assert (answer.status_code, body.taken) == (400, 0)


@pytest.mark.parametrize(
    "path",
    [
        "/api/admins/auth-with-password",
        "/api/collections/_superusers/auth-with-password",
        "/api/collections/blog_members/auth-with-password",
        "/api/gdpr/export",
        "/api/gdpr/delete",
        "/api/gdpr/delete/abcdefghij01234/cancel?token=a",
        "/api/gdpr/delete/abcdefghij01234/confirm?token=a",
        "/member/unsubscribe",
        "/member/confirm-email",
    ],
)
async def test_a_small_form_takes_16_kib(tenant: TenantWorld, path: str) -> None:
    headers = {"content-type": "application/json", "x-tenant-id": tenant.id}

    async def status(size: int) -> int:
        content = b'{"identity": "' + b"a" * (size - 16) + b'"}'
        answer = await tenant.guest.post(path, content=content, headers=headers)
        return answer.status_code

    assert await status(SMALL_FORM_BYTES) != 413
    assert await status(SMALL_FORM_BYTES + 1) == 413


@pytest.mark.parametrize("path", ["/api/admins/auth-with-password", "/api/ai/generate"])
async def test_a_small_form_of_many_values_is_refused(tenant: TenantWorld, path: str) -> None:
    sent: Any = b'{"identity": [' + b"[]," * 5_000 + b"1]}"
    answer = await tenant.guest.post(
        path, content=sent, headers={"content-type": "application/json"}
    )
    assert answer.status_code == 400
    assert "more than 1,000 values" in answer.text
