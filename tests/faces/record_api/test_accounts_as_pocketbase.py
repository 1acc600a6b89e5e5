"""Calls about accounts, put to PocketBase itself and to the record store: the same statuses and the
same problems, by the same requests."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import httpx
import pytest
from aiosmtpd.controller import Controller
from aiosmtpd.handlers import Sink
from tests.faces.record_api.peer import Peer, running_peer
from tests.world import PASSWORD, TenantWorld

CALLS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("request-verification", {}),
    ("request-verification", {"email": "x"}),
    ("request-verification", {"email": "nobody@example.com"}),
    ("request-verification", {"email": "member@example.com"}),
    ("confirm-verification", {}),
    ("confirm-verification", {"token": "x"}),
    ("request-email-change", {}),
    ("request-email-change", {"newEmail": "x"}),
    ("request-email-change", {"newEmail": "member@example.com"}),
    ("request-email-change", {"newEmail": "new@example.com"}),
    ("confirm-email-change", {}),
    ("confirm-email-change", {"token": "x"}),
    ("confirm-email-change", {"password": "y"}),
    ("confirm-email-change", {"token": "x", "password": "y"}),
    ("request-password-reset", {}),
    ("request-password-reset", {"email": "x"}),
    ("request-password-reset", {"email": "nobody@example.com"}),
    ("confirm-password-reset", {}),
    ("confirm-password-reset", {"token": "x"}),
    ("confirm-password-reset", {"password": "long enough", "passwordConfirm": "long enough"}),
    ("confirm-password-reset", {"token": "x", "password": PASSWORD, "passwordConfirm": PASSWORD}),
    ("request-otp", {}),
    ("request-otp", {"email": "x"}),
    ("request-otp", {"email": "nobody@example.com"}),
    ("request-otp", {"email": "member@example.com"}),
    ("auth-with-otp", {}),
    ("auth-with-otp", {"otpId": "x"}),
    ("auth-with-otp", {"otpId": "x", "password": "y"}),
    ("auth-with-otp", {"otpId": "x", "password": "y" * 100}),
    ("auth-with-password", {}),
    ("auth-with-password", {"identity": "member@example.com", "password": "wrong password"}),
    ("auth-refresh", {}),
    ("impersonate/nonenonenonenon", {}),
    ("impersonate/{member}", {}),
    ("impersonate/{member}", {"duration": "x"}),
    ("impersonate/{member}", {"duration": -5}),
    ("impersonate/{member}", {"duration": 100}),
)
TOKENS = {
    # Ours are no JWT, so nothing in them can be missing.
    "validation_invalid_token_claims": "validation_invalid_token",
    "validation_invalid_token_payload": "validation_invalid_token",
}


@pytest.fixture(scope="module")
def peer(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Peer]:
    with running_peer(tmp_path_factory.mktemp("pocketbase")) as peer:
        rules = dict.fromkeys(("listRule", "viewRule", "updateRule"), "id = @request.auth.id")
        members = {"name": "blog_members", "type": "auth", "createRule": "", **rules}
        otp = {"enabled": True, "duration": 900, "length": 6}
        peer.post("/api/collections", {**members, "otp": otp})
        peer.patch("/api/collections/_superusers", {"otp": otp, "mfa": {"enabled": False}})
        with _mail_server() as port:
            server = {"enabled": True, "host": "127.0.0.1", "port": port}
            peer.patch("/api/settings", {"smtp": server})
            yield peer


@contextmanager
def _mail_server() -> Iterator[int]:
    """Without one, PocketBase answers what it can't send with a 400."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = int(free.getsockname()[1])
    controller = Controller(Sink(), hostname="127.0.0.1", port=port)
    controller.start()
    yield port
    controller.stop()


async def test_accounts_have_the_answers_of_pocketbase(peer: Peer, tenant: TenantWorld) -> None:
    member = await tenant.member(email="member@example.com")
    operator = await tenant.world.operator()
    ours = {
        "guest": tenant.guest,
        "member": member.api,
        "superuser": tenant.world.client(tenant.host, token=operator.token),
    }
    async with httpx.AsyncClient(base_url=peer.url) as guest:
        theirs_id, token = await _peer_member(peer, guest)
        theirs = {
            "guest": ({}, theirs_id),
            "member": ({"authorization": token}, theirs_id),
            "superuser": (peer.signed, theirs_id),
        }
        for collection in ("blog_members", "_superusers", "posts"):
            for path, sent in CALLS:
                for who, api in ours.items():
                    address = f"/api/collections/{collection}/{path}"
                    headers, peer_id = theirs[who]
                    there = await guest.post(
                        address.format(member=peer_id), json=sent, headers=headers
                    )
                    here = await api.post(address.format(member=member.id), json=sent)
                    assert essence(here) == essence(there), (who, address, sent, here.text)
                    if len(here.content) and here.status_code == 200:
                        assert set(here.json()) == set(there.json())


async def test_the_ways_to_sign_in_are_told_as_by_pocketbase(
    peer: Peer, tenant: TenantWorld
) -> None:
    for collection in ("blog_members", "_superusers"):
        path = f"/api/collections/{collection}/auth-methods"
        ours, theirs = (await tenant.guest.get(path)).json(), peer.get(path)
        if collection == "_superusers":
            # Beside codes, PocketBase's superusers always need a password as well.
            assert theirs.pop("mfa") != ours.pop("mfa")
        assert ours == theirs


async def test_a_guest_who_joins_gets_the_problems_of_pocketbase(
    peer: Peer, tenant: TenantWorld
) -> None:
    await tenant.settings(members_enabled=True)
    right = {"email": "joins@example.com", "password": PASSWORD, "passwordConfirm": PASSWORD}
    path = "/api/collections/blog_members/records"
    async with httpx.AsyncClient(base_url=peer.url) as guest:
        for changed in (
            {},
            {"email": ""},
            {"email": "x"},
            {"password": ""},
            {"passwordConfirm": "other"},
            {"password": "short", "passwordConfirm": "short"},
            {"email": "joins-too@example.com", "passwordConfirm": ""},
        ):
            sent = {**right, **changed}
            here, there = (
                await tenant.guest.post(path, json=sent),
                await guest.post(path, json=sent),
            )
            assert essence(here) == essence(there), (changed, here.text, there.text)


async def _peer_member(peer: Peer, guest: httpx.AsyncClient) -> tuple[str, str]:
    credentials = {"password": PASSWORD, "passwordConfirm": PASSWORD}
    path = "/api/collections/blog_members"
    sent = {"email": "member@example.com", **credentials}
    made = peer.post(f"{path}/records", sent)
    identity = {"identity": sent["email"], "password": PASSWORD}
    signed_in = await guest.post(f"{path}/auth-with-password", json=identity)
    return str(made["id"]), str(signed_in.json()["token"])


def essence(answer: httpx.Response) -> Any:
    """The status, and the codes of problems: the wording differs."""
    if answer.status_code in (200, 204):
        return answer.status_code
    problems = {
        name: TOKENS.get(each["code"], each["code"]) for name, each in answer.json()["data"].items()
    }
    return answer.status_code, problems
