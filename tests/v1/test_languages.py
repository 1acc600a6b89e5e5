"""The language of posts and pages, and their translations, in the public API."""

from __future__ import annotations

from typing import Any

import pytest
from lxml import html
from tests.tiers import representatives
from tests.v1.keys import key_client
from tests.world import TenantWorld

from masthead.base.languages.alphabet import by_letters

DE = [{"language": "de", "url": "/posts/turm"}]
SCOPES = ("posts:read", "posts:write", "pages:read", "pages:write")


async def test_a_text_has_its_language_and_its_translations(tenant: TenantWorld) -> None:
    await tenant.settings(language="de", languages=["fr"])
    api = await key_client(tenant, *SCOPES)
    for path, prefix in (("/api/v1/posts", "/fr/posts/"), ("/api/v1/pages", "/fr/")):
        given: dict[str, Any] = {"title": "Phare", "slug": "phare", "status": "published"}
        answer = await api.post(path, json=given | {"language": "FR", "translations": DE})
        made = answer.json()["data"]
        assert (made["language"], made["translations"]) == ("fr", DE)
        assert made["url"].endswith(f"{tenant.host}{prefix}phare")
        plain = (await api.post(path, json={"title": "Turm"})).json()["data"]
        assert not {"language", "translations", "edition"} & set(plain)
        for wanted, titles in (("fr", ["Phare"]), ("FR", ["Phare"]), ("es", [])):
            found = (await api.get(path, params={"language": wanted})).json()["items"]
            assert [each["title"] for each in found] == titles
        empty = {"language": None, "translations": None}
        kept = (await api.patch(f"{path}/{made['id']}", json=empty)).json()["data"]
        assert not {"language", "translations"} & set(kept)
        assert "/fr/" not in kept["url"]
        for wrong in ({"language": "x"}, {"language": 5}, {"translations": [{"language": "de"}]}):
            answer = await api.patch(f"{path}/{made['id']}", json=wrong)
            assert answer.status_code == 422, wrong
            assert set(answer.json()["error"]["details"]) == set(wrong)


HOSTILE = (
    "javascript:alert(1)",
    "JaVaScRiPt:alert(1)",
    "java\tscript:alert(1)",
    " javascript:alert(1)",
    "data:text/html,<script>alert(1)</script>",
    "vbscript:x",
    "file:///etc/passwd",
    "//evil.example/posts/turm",
    "/\\evil.example",
    "http:evil.example",
    "https:///evil.example",
    "https://[evil",
    'https://a.example/"onclick="alert(1)',
    "https://a.example/<script>",
    "https://a.example/\nSet-Cookie: a=b",
    "posts/turm",
    "",
)


@pytest.mark.parametrize("url", representatives(HOSTILE))
async def test_a_translation_is_a_web_address(tenant: TenantWorld, url: str) -> None:
    api = await key_client(tenant, *SCOPES)
    given = {"title": "Phare", "translations": [{"language": "de", "url": url}]}
    for path in ("/api/v1/posts", "/api/v1/pages"):
        assert (await api.post(path, json=given)).status_code == 422
    owner = await tenant.owner()
    made = await owner.api.post("/api/collections/posts/records", json=given)
    assert made.status_code == 400


async def test_a_translation_breaks_out_of_no_attribute(tenant: TenantWorld) -> None:
    await tenant.settings(languages=["de"])
    address = "https://a.example/'onclick='alert(1)&amp;quot;>x`"[:-4]
    link = {"language": "de", "url": address}
    post = await tenant.published(title="Phare", translations=[link])
    page = (await tenant.guest.get(f"/posts/{post['slug']}")).text
    tree = html.fromstring(page)
    found = tree.xpath("//*[@hreflang='de']")
    assert {each.get("href") for each in found} >= {address}
    assert not tree.xpath("//*[@onclick]")


TITLES = {
    "The lighthouse": "the-lighthouse",
    "Öl auf der Straße": "ol-auf-der-strasse",
    "L’été à Noël": "lete-a-noel",
    "¿Qué pasó mañana?": "que-paso-manana",
    "Coração às três": "coracao-as-tres",
    "Perché no?": "perche-no",
    "’s Ochtends": "s-ochtends",
    "Zażółć gęślą jaźń": "zazolc-gesla-jazn",
    "ひらがなとカタカナ": "hiraganatokatakana",
    "الضباب فوق الميناء": "ldbb-fwq-lmyn",
}
"""One in each language with a catalog, with its slug: ASCII, so that an address can be typed and
copied anywhere."""


async def test_titles_of_every_language_have_slugs_and_one_order_on_both_databases(
    tenant: TenantWorld,
) -> None:
    api = await key_client(tenant, *SCOPES)
    for title in reversed(TITLES):
        made = (await api.post("/api/v1/posts", json={"title": title})).json()["data"]
        assert made["slug"] == TITLES[title]
        again = (await api.post("/api/v1/posts", json={"title": title})).json()["data"]
        assert again["slug"] == f"{TITLES[title]}-2"
    listed = await api.get("/api/v1/posts", params={"sort": "title", "per_page": 50})
    titles = [each["title"] for each in listed.json()["items"]]
    # By letters, whatever the locale of the database is.
    assert titles == [each for title in sorted(TITLES, key=by_letters) for each in (title, title)]
    assert titles[::2][:3] == ["Coração às três", "L’été à Noël", "Öl auf der Straße"]
