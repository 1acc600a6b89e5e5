"""Which addresses belong to the service and which to the pages of a site."""

from __future__ import annotations

import pytest
from tests.web.test_openapi_service import routes_of
from tests.world import TenantWorld, World, records_of

from masthead.features.pages.addresses import FACES, RESERVED

HTML = {"accept": "text/html"}


@pytest.mark.parametrize(
    "slug", ["administration", "admin-team", "api-docs", "media-kit", "members", "archived", "_x"]
)
async def test_a_page_may_begin_like_another_face(tenant: TenantWorld, slug: str) -> None:
    await tenant.create("pages", {"title": "Our team", "slug": slug, "status": "published"})
    answer = await tenant.guest.get(f"/{slug}", headers=HTML)
    assert answer.status_code == 200
    assert "Our team" in answer.text
    assert (await tenant.guest.get(f"/{slug}")).status_code == 200


@pytest.mark.parametrize("slug", sorted(RESERVED))
async def test_a_page_can_not_take_an_address_of_the_service(
    tenant: TenantWorld, slug: str
) -> None:
    owner = (await tenant.owner()).api
    refused = await owner.post(records_of("pages"), json={"title": "x", "slug": slug})
    assert refused.status_code == 400
    assert f"/{slug}" in refused.json()["data"]["slug"]["message"]
    page = await tenant.create("pages", {"title": "x", "slug": "mine"})
    renamed = await owner.patch(records_of("pages", page["id"]), json={"slug": slug})
    assert renamed.status_code == 400


async def test_a_page_named_as_the_archive_gets_a_number(tenant: TenantWorld) -> None:
    for slug in ("archive-2", "archive-3"):
        page = await tenant.create("pages", {"title": "Archive", "status": "published"})
        assert page["slug"] == slug
        assert "Archive" in (await tenant.guest.get(f"/{slug}", headers=HTML)).text
    post = await tenant.published(title="Archive")
    assert post["slug"] == "archive"


async def test_every_address_of_the_service_is_reserved(app: World) -> None:
    firsts = {each.path[1:].partition("/")[0] for each in routes_of(app)} - {""}
    assert firsts <= RESERVED
    assert FACES - {"_"} <= firsts


@pytest.mark.parametrize("slug", [".", ".."])
async def test_a_slug_that_browsers_resolve_is_refused(tenant: TenantWorld, slug: str) -> None:
    owner = (await tenant.owner()).api
    for collection in ("posts", "pages"):
        answer = await owner.post(records_of(collection), json={"title": "x", "slug": slug})
        assert answer.status_code == 400
        assert answer.json()["data"].keys() == {"slug"}
    assert (await tenant.published(slug="...", title="x"))["slug"] == "..."


@pytest.mark.parametrize("path", ["/api", "/api/", "/api/nothing"])
async def test_the_bare_api_answers_in_the_envelope_of_v1(tenant: TenantWorld, path: str) -> None:
    answer = await tenant.guest.get(path)
    assert answer.status_code == 404
    assert answer.json()["error"]["code"] == "NOT_FOUND"


async def test_unknown_addresses_of_the_admin_stay_its_own(tenant: TenantWorld) -> None:
    answer = await tenant.guest.get("/admin/nothing", headers=HTML)
    assert answer.status_code in (303, 404)
    assert (await tenant.guest.get("/adminnothing", headers=HTML)).status_code == 404
