"""Every page and email in a language that is made of the source: a word in Latin letters is one
that can't be translated."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from msgspec.structs import replace
from tests.catalogs.pseudo import LANGUAGE, is_latin, latin_words, pseudo_language
from tests.faces.reader.shop import Shop
from tests.faces.reader.shop import api as api
from tests.faces.reader.shop import shop as shop
from tests.outside.mail.test_message import EVE, MAILS
from tests.world import TenantWorld

from masthead.outside.mail.rendering import render

OWN = {"sec-fetch-site": "same-origin"}
TEXT = "<p>Ο φάρος στέκεται στην άκρη.</p><hr class='paywall'><p>Το υπόλοιπο.</p>"
KNOWN = ("Masthead", "DELETE MY DATA", "Supporter", "Website", "application/x-www-form-urlencoded")


@pytest.fixture(autouse=True)
def _greek(tmp_path: Path) -> Iterator[None]:
    with pseudo_language(tmp_path):
        yield


async def test_every_page_that_readers_see_is_translated(shop: Shop) -> None:
    tenant = shop.tenant
    await _fill(tenant)
    free = await tenant.member(name="Δανάη", tier="free")
    paid = await tenant.member(name="Πέτρος", tier="paid", status="active")
    found: dict[str, list[str]] = {}

    def look(where: str, page: httpx.Response) -> None:
        if page.headers.get("content-type", "").startswith("text/html"):
            words = latin_words(page.text, *KNOWN, str(page.status_code))
            found.update({where: words} if words else {})

    for who, account in (("guest", None), ("free", free), ("paid", paid)):
        reader = shop.reader(account)
        for path in PATHS:
            look(f"{who} {path}", await reader.get(path, headers={"accept": "text/html"}))
        for path, form in FORMS:
            look(f"{who} sends {path}", await _send(reader, path, form))
    assert found == {}


async def _send(reader: httpx.AsyncClient, path: str, form: dict[str, str]) -> httpx.Response:
    page = (await reader.get("/member/account")).text
    token = page.partition('name="form_token" value="')[2].partition('"')[0]
    data = {**form, **({"form_token": token} if token else {})}
    return await reader.post(path, data=data, headers=OWN | {"accept": "text/html"})


async def _fill(tenant: TenantWorld) -> None:
    await tenant.settings(
        language=LANGUAGE, site_name="Το Λιμάνι", site_description="Νέα", comments_by="everyone"
    )
    owner = await tenant.owner(name="Άννα")
    common = {"content_html": TEXT, "tags": ["θάλασσα"], "authors": [owner.id]}
    for slug, visibility in (("a", "public"), ("b", "members"), ("c", "paid")):
        await tenant.published(title=f"Ο φάρος {slug}", slug=slug, visibility=visibility, **common)
    await tenant.create(
        "pages", {"title": "Σχετικά", "slug": "about", "content_html": TEXT, "status": "published"}
    )


PATHS = (
    *("/", "/archive", "/search", "/search?q=φάρος", "/search?q=τίποτα", "/about", "/nothing-here"),
    *("/posts/a", "/posts/b", "/posts/c", "/tags/thalassa", "/authors/anna", "/tags/x"),
    *("/member/sign-up", "/member/sign-in", "/member/forgot", "/member/account", "/member/tiers"),
    *("/member/delete", "/member/gift", "/member/redeem", "/member/offer/none", "/member/link"),
    *("/member/gift?bought=1", "/member/account?done=joined", "/member/account?done=email"),
    *("/member/account?checkout=1", "/member/unsubscribe", "/member/confirm-email"),
    *("/member/reset-password?token=x", "/member/comment-mails", "/api/gdpr/download/x"),
    "/member/link?token=x",
)
FORMS = (
    ("/member/sign-in", {"email": "ada@example.com", "back": "/"}),
    ("/member/sign-in", {"email": "nonsense", "back": "/"}),
    ("/member/sign-in", {"email": "ada@example.com", "password": "wrong", "back": "/"}),
    ("/member/sign-up", {"email": "ada@example.com", "back": "/"}),
    ("/member/sign-up", {"email": "", "back": "/"}),
    ("/member/forgot", {"email": "ada@example.com"}),
    ("/member/code", {"code_id": "x", "code": "123456", "email": "ada@example.com"}),
    ("/member/gift", {"tier": "", "months": "", "email": "nonsense", "send_on": "never"}),
    ("/member/redeem", {"code": "nothing"}),
    ("/member/redeem", {"code": ""}),
    ("/member/account/name", {"name": "ά" * 300}),
    ("/member/account/email", {"email": "nonsense"}),
    ("/member/account/password", {"oldPassword": "x", "password": "y", "passwordConfirm": "z"}),
    ("/member/account/export", {}),
    ("/member/delete", {"phrase": "no"}),
    ("/posts/a/comments", {"body": "", "name": "", "email": ""}),
    ("/posts/a/comments", {"body": "Καλό", "name": "Εύα", "email": "eva@example.com"}),
    ("/posts/a/comments/none/delete", {}),
    ("/member/upgrade", {"tier": "none"}),
)


def test_every_email_is_translated() -> None:
    known = (*KNOWN, EVE, "Die Zeitung", "TXT", "then")
    for mail in MAILS:
        rendered = render(replace(mail, language=LANGUAGE))
        texts = [rendered.subject, *rendered.text.splitlines()]
        found = [text for text in texts if is_latin(text, *known, *map(str, mail.values.values()))]
        assert found == [], mail.template
