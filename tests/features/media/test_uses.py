"""Which records use an uploaded file: counted and listed in the change that makes the use."""

from __future__ import annotations

from typing import Any

import pytest
from tests.features.media.pictures import picture
from tests.features.privacy.requests import run_jobs
from tests.world import Account, TenantWorld, World, records_of

from masthead.base.caller import Audience, system
from masthead.engine.links.file_readers import Part, ShownParts
from masthead.engine.links.file_uses import USES, Uses
from masthead.engine.records.read.page import ListRequest
from masthead.features.media.use_counts import COUNT_JOB

MEDIA = records_of("media")


async def uploaded(account: Account, name: str = "fog.png", **fields: str) -> dict[str, Any]:
    files = {"file": (name, picture("PNG"))}
    answer = await account.api.post(MEDIA, files=files, data=fields)
    assert answer.status_code == 200, answer.text
    item: dict[str, Any] = answer.json()
    return item


async def counts(owner: Account, item: dict[str, Any]) -> tuple[int, int]:
    found = (await owner.api.get(records_of("media", item["id"]))).json()
    return found["uses"], found["draft_uses"]


async def found(owner: Account, name: str) -> list[str]:
    query = {"filter": f"library_lists ?= '{name}'"}
    page = (await owner.api.get(MEDIA, params=query)).json()
    assert page["totalItems"] == len(page["items"])
    return sorted(each["filename"] for each in page["items"])


async def using(tenant: TenantWorld, collection: str, item: dict[str, Any]) -> list[str]:
    records = tenant.world.parts.records
    wanted = ListRequest(listing=(USES, item["id"]), sort="-created", skip_total=True)
    page = await records.page(system(tenant.id), tenant.world.collection(collection), wanted)
    return [each["id"] for each in page.items]


def path_of(item: dict[str, Any]) -> str:
    return f"/media/{item['id']}/{item['file']}"


async def test_a_post_counts_as_a_use_until_it_is_changed_or_deleted(
    tenant: TenantWorld, owner: Account
) -> None:
    item = await uploaded(owner)
    assert await counts(owner, item) == (0, 0)
    html = f'<figure><img src="{item["url"]}"></figure><p>{path_of(item)}</p>'
    post = await tenant.post(title="Fog", content_html=html, featured_image=path_of(item))
    assert await counts(owner, item) == (1, 0)
    assert await using(tenant, "posts", item) == [post["id"]]
    await tenant.update("posts", post["id"], {"content_html": "<p>None.</p>"})
    assert await counts(owner, item) == (1, 0)
    await tenant.update("posts", post["id"], {"featured_image": ""})
    assert await counts(owner, item) == (0, 0)
    assert await using(tenant, "posts", item) == []
    await tenant.update("posts", post["id"], {"content_html": html})
    await owner.api.delete(records_of("posts", post["id"]))
    assert await counts(owner, item) == (0, 0)


async def test_the_file_address_of_the_record_store_is_a_use(
    tenant: TenantWorld, owner: Account
) -> None:
    item = await uploaded(owner)
    for collection in ("media", tenant.world.collection("media").id):
        address = f"https://far.example/api/files/{collection}/{item['id']}/{item['file']}"
        post = await tenant.post(title="Fog", content_html=f'<a href="{address}">fog</a>')
        assert await counts(owner, item) == (1, 0)
        await owner.api.delete(records_of("posts", post["id"]))


async def test_a_document_of_the_editor_a_page_and_the_site_use_files(
    tenant: TenantWorld, owner: Account
) -> None:
    item = await uploaded(owner)
    figure = {"type": "figure", "attrs": {"src": item["url"], "alt": "Fog"}}
    document = {"type": "doc", "content": [figure]}
    page = await tenant.create("pages", {"title": "About", "content_json": document})
    assert await counts(owner, item) == (1, 0)
    assert await using(tenant, "pages", item) == [page["id"]]
    await tenant.settings(site_logo=item["url"], site_favicon=item["url"])
    assert await counts(owner, item) == (2, 0)
    await tenant.settings(site_logo="")
    assert await counts(owner, item) == (2, 0)
    await tenant.settings(site_favicon="")
    assert await counts(owner, item) == (1, 0)


async def test_a_change_that_is_not_on_the_site_yet_is_a_use_of_its_own_kind(
    tenant: TenantWorld, owner: Account
) -> None:
    from masthead.content.texts.editing import open_text, put_live, save_text
    from masthead.features.posts.collection import POSTS

    records = tenant.world.parts.records
    caller = system(tenant.id)
    item = await uploaded(owner)
    post = await tenant.published(title="Fog", content_html="<p>None.</p>")
    opened = await open_text(records, caller, POSTS, post["id"])
    shown = {"content_html": f'<img src="{item["url"]}">'}
    saved = await save_text(records, caller, POSTS, post["id"], version=opened.version, given=shown)
    assert await counts(owner, item) == (0, 1)
    assert await found(owner, "unused") == []
    await put_live(records, caller, POSTS, post["id"], version=saved.version)
    assert await counts(owner, item) == (1, 0)


async def test_lists_of_unused_files_and_of_pictures_without_alternative_text(
    tenant: TenantWorld, owner: Account
) -> None:
    bare, told = await uploaded(owner, "bare.png"), await uploaded(owner, "told.png", alt="Fog")
    answer = await owner.api.post(MEDIA, files={"file": ("a.txt", b"words")})
    assert answer.status_code == 200
    assert await found(owner, "unused") == ["a.txt", "bare.png", "told.png"]
    assert await found(owner, "unused/image") == ["bare.png", "told.png"]
    assert await found(owner, "unused/text") == ["a.txt"]
    assert await found(owner, "no-alt") == ["bare.png"]
    assert await found(owner, "unused/no-alt") == ["bare.png"]
    await tenant.post(title="Fog", content_html=f'<img src="{bare["url"]}">')
    assert await found(owner, "unused/image") == ["told.png"]
    assert await found(owner, "unused/no-alt") == []
    assert await found(owner, "no-alt") == ["bare.png"]
    await owner.api.patch(records_of("media", bare["id"]), json={"alt": "The sea"})
    await owner.api.patch(records_of("media", told["id"]), json={"alt": ""})
    assert await found(owner, "no-alt") == ["told.png"]
    await owner.api.delete(records_of("media", told["id"]))
    assert await found(owner, "no-alt") == []
    assert await found(owner, "unused") == ["a.txt"]


async def test_a_use_before_the_file_counts_too(tenant: TenantWorld, owner: Account) -> None:
    chosen = "earlierthanfile"
    await tenant.post(title="Fog", content_html=f'<img src="/media/{chosen}/fog.png">')
    item = await uploaded(owner, id=chosen)
    assert await counts(owner, item) == (1, 0)


async def test_nobody_can_say_what_the_engine_counts(owner: Account) -> None:
    item = await uploaded(owner, uses="7", library_lists="no-alt", uploaded_by="a" * 15)
    assert (item["uses"], item["library_lists"]) == (
        0,
        ["unused", "unused/image", "no-alt", "unused/no-alt"],
    )
    assert item["uploaded_by"] == owner.id
    answer = await owner.api.patch(
        records_of("media", item["id"]), json={"uses": 7, "earlier_files": ["x"]}
    )
    assert answer.json()["uses"] == 0
    assert answer.json()["earlier_files"] == []


async def test_the_job_of_an_upgrade_counts_what_was_there_before(
    app: World, tenant: TenantWorld, owner: Account
) -> None:
    used, unused = await uploaded(owner), await uploaded(owner, "other.png")
    post = await tenant.post(title="Fog", content_html=f'<img src="{used["url"]}">')
    await forget(app, tenant)
    assert await using(tenant, "posts", used) == []
    async with app.parts.records.unit(system(tenant.id)) as unit:
        await unit.enqueue(COUNT_JOB, {})
    await run_jobs(app)
    assert await using(tenant, "posts", used) == [post["id"]]
    assert (await counts(owner, used), await counts(owner, unused)) == ((1, 0), (0, 0))
    assert await found(owner, "unused") == ["other.png"]


async def forget(app: World, tenant: TenantWorld) -> None:
    """As a version that did not count has left it."""
    import sqlalchemy as sa

    from masthead.engine.records.derived.list_items import listed_values
    from masthead.engine.records.tables import record_counts
    from masthead.service.schema import tables

    lists = ("library_lists", USES)
    media = tables["media"]
    statements = (
        sa.delete(listed_values).where(listed_values.c.field.in_(lists)),
        sa.delete(record_counts).where(record_counts.c.counter == "each library_lists"),
        sa.update(media).values(uses=sa.text("0"), library_lists=sa.text("'[]'")),
    )
    database = app.parts.database
    async with app.parts.records.unit(system(tenant.id)) as unit:
        for statement in statements:
            await unit.execute(database.compile(statement), {})


@pytest.mark.parametrize("role", ["editor", "author"])
async def test_authors_change_only_what_they_have_uploaded(
    tenant: TenantWorld, owner: Account, role: str
) -> None:
    account = await tenant.owner(role=role)
    own, others = await uploaded(account), await uploaded(owner)
    expected = 404 if role == "author" else 200
    for item, status in ((own, 200), (others, expected)):
        address = records_of("media", item["id"])
        assert (await account.api.get(address)).status_code == 200
        assert (await account.api.patch(address, json={"alt": "Fog"})).status_code == status
        gone = await account.api.delete(address)
        assert gone.status_code == (204 if status == 200 else 404)


def test_a_text_without_files_is_searched_once() -> None:
    asked = []

    def parts(record: dict[str, Any]) -> list[Part]:
        asked.append(record["text"])
        return [Part((record["text"],), Audience.GUEST, "")]

    uses = Uses(("text",), shown=ShownParts((), parts))
    record = {"created": "", "updated": "", "text": "<p>Words of <b>megabytes</b></p>"}
    assert list(uses.listings.of(record)) == []
    assert asked == []
    record["text"] = f'<img src="/media/{"a" * 15}/x.png">'
    assert {each.value for each in uses.listings.of(record)} == {"a" * 15}
    assert asked == [record["text"]]
