"""Our importers read our own exports without a loss."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import closing
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import msgspec
import pytest
from tests.faces.importers.write.exports import WRITTEN, imported, rows
from tests.faces.site_export.filled import Filled, export, picture, upload
from tests.world import TenantWorld

from masthead.base.caller import system
from masthead.engine.records.collection import Record
from masthead.faces.importers.convert.content import prepare
from masthead.faces.importers.platforms.ghost.reader import open_ghost
from masthead.faces.importers.platforms.wordpress.source import open_wordpress
from masthead.faces.importers.source import Options, Skipped, Source, SourceMember, SourcePost
from masthead.faces.importers.write.drafts import Body, draft_of, key_of_post

OPTIONS = Options(include_pages=True)
FIELDS = (
    *("title", "slug", "content_html", "excerpt", "status", "visibility", "published_at"),
    *("tags", "featured_image", "seo_title", "seo_description"),
)
OF_A_PAGE = ("title", "slug", "content_html", "status", "published_at")


@pytest.fixture(params=["wxr", "ghost"])
async def source(
    request: pytest.FixtureRequest, filled: Filled, tmp_path: Path
) -> AsyncIterator[Source]:
    path = tmp_path / "site"
    await filled.export(request.param, path)
    opened = (open_wordpress if request.param == "wxr" else open_ghost)(path, OPTIONS)
    yield opened
    opened.close()


def texts(source: Source) -> dict[str, SourcePost]:
    return {each.source_id: each for each in source.posts() if isinstance(each, SourcePost)}


def values(post: SourcePost) -> dict[str, Any]:
    """Returns what the import would store, its pictures still at their old place."""
    prepared = prepare(post, "")
    draft = draft_of(post, Body(prepared.html, None, post.featured_image))
    assert draft.warnings == ()
    return {"published_at": "", **draft.values, "slug": draft.slug}


def expected(source: Source, filled: Filled, record: Record, names: tuple[str, ...]) -> Any:
    there = {name: record[name] for name in names}
    if source.overview.platform == "ghost":
        for item, folder in ((filled.picture, "images"), (filled.notes, "files")):
            new = f"/content/{folder}/{item['id']}/{item['file']}"
            relative = f"/media/{item['id']}/{item['file']}"
            for name in {"content_html", "featured_image"} & there.keys():
                there[name] = there[name].replace(item["url"], new)
                there[name] = there[name].replace(f"{relative}?thumb=100x100", new)
    else:
        host = f"http://{filled.tenant.host}"
        there["content_html"] = there["content_html"].replace('src="/', f'src="{host}/')
    # Sanitizing writes the same HTML in its own way.
    there["content_html"] = there["content_html"].replace("]]> &&", "]]&gt; &amp;&amp;")
    return there


async def test_posts_and_pages_are_what_they_were(source: Source, filled: Filled) -> None:
    found = texts(source)
    posts = [each for each in filled.posts.values() if each["slug"] != "later"]
    assert set(found) == {each["id"] for each in (*posts, filled.page)}
    for record in posts:
        read = values(found[record["id"]])
        assert {name: read[name] for name in FIELDS} == expected(source, filled, record, FIELDS)
    read = values(found[filled.page["id"]])
    assert found[filled.page["id"]].kind == "page"
    assert {name: read[name] for name in OF_A_PAGE} == expected(
        source, filled, filled.page, OF_A_PAGE
    )


async def test_nothing_has_to_be_said_about_them(source: Source) -> None:
    said = {warning for post in texts(source).values() for warning in post.warnings}
    relative = {each for each in said if "links to it were made relative" in each}
    assert said == relative


async def test_only_the_scheduled_post_and_the_attachments_are_skipped(source: Source) -> None:
    skipped = [each for each in source.posts() if isinstance(each, Skipped)]
    reasons = {each.title: each.reason for each in skipped if each.reason != "media file"}
    assert reasons == {"Later": "scheduled"}


async def test_pictures_come_with_the_words_about_them(source: Source, filled: Filled) -> None:
    post = texts(source)[filled.posts["tea-toast-for-two"]["id"]]
    assert post.featured_image_alt == "The harbour"
    if source.overview.platform == "ghost":
        entry = source.overview.files[post.featured_image]
        assert source.read_file(entry) == picture()


async def test_members_of_a_ghost_export_are_who_they_were(filled: Filled, tmp_path: Path) -> None:
    records = filled.tenant.world.parts.records
    there = await records.find_related(
        system(filled.tenant.id),
        filled.tenant.world.collection("blog_members"),
        "tenant_id",
        [filled.tenant.id],
        limit=100,
    )
    await filled.export("ghost", tmp_path / "site.zip")
    names = ("email", "name", "tier", "newsletter", "payment_customer_id", "created")
    with closing(open_ghost(tmp_path / "site.zip", OPTIONS)) as source:
        found = {
            each.email: {name: getattr(each, name) for name in names}
            for each in source.members()
            if isinstance(each, SourceMember)
        }
    wanted = {each["email"]: {name: each[name] for name in names} for each in there}
    # Nobody becomes a payer by coming back.
    wanted["di@example.com"]["payment_customer_id"] = ""
    assert found == wanted


async def test_a_whole_import_gives_another_tenant_the_same(
    source: Source, filled: Filled, other_tenant: TenantWorld
) -> None:
    report = (await imported(other_tenant, source)).summary()
    assert (report["posts"]["imported"], report["posts"]["failed"]) == (6, 0)
    copies = {each["filename"]: place(each) for each in await rows(other_tenant, "media")}
    assert len(copies) == (2 if source.overview.platform == "ghost" else 0)
    found = {each["slug"]: each for each in await rows(other_tenant, "posts")}
    assert set(found) == set(filled.posts) - {"later"}
    for slug, record in found.items():
        record["tags"] = msgspec.json.decode(record["tags"])
        there = expected(source, filled, filled.posts[slug], FIELDS)
        for name, url in copies.items():
            old = next(each for each in source.overview.files if each.endswith(name))
            for each in ("content_html", "featured_image"):
                there[each] = there[each].replace(old, url)
        assert {name: record[name] for name in FIELDS} == there
    (page,) = await rows(other_tenant, "pages")
    assert {name: page[name] for name in OF_A_PAGE} == expected(
        source, filled, filled.page, OF_A_PAGE
    )


async def test_recordings_and_files_come_with_a_ghost_export(
    tenant: TenantWorld, other_tenant: TenantWorld, tmp_path: Path
) -> None:
    contents = {
        "talk.mp3": b"ID3\x03" + bytes(60),
        "film.webm": b"\x1aE\xdf\xa3webm" + bytes(60),
        "words.vtt": b"WEBVTT\n",
        "paper.pdf": b"%PDF-1.7\n",
    }
    kept = {name: await upload(tenant, name, content) for name, content in contents.items()}
    html = (
        '<p><a href="{paper.pdf}">Paper</a> <a href="https://else.example/a.pdf">Other</a></p>'
        '<audio src="{talk.mp3}" controls=""></audio>'
        '<video controls=""><source src="{film.webm}"><track src="{words.vtt}"></video>'
    )
    await tenant.post(title="Listen", content_html=_with_addresses(html, kept))
    await export(tenant, "ghost", tmp_path / "site.zip")

    with closing(open_ghost(tmp_path / "site.zip", OPTIONS)) as source:
        foreseen = await imported(other_tenant, source, dry_run=True)
        report = await imported(other_tenant, source)
        again = await imported(other_tenant, source)

    assert foreseen.images.copied == report.images.copied == len(contents)
    assert (report.images.failed, again.images.copied) == (0, 0)
    found = await rows(other_tenant, "media")
    # Exports name files as they are stored, with some letters more.
    copies = {
        name: next(each for each in found if each["filename"].startswith(name.partition(".")[0]))
        for name in contents
    }
    (post,) = await rows(other_tenant, "posts")
    places = {name: {"url": place(each)} for name, each in copies.items()}
    assert post["content_html"] == _with_addresses(html, places)
    # The post is a draft, and so its files are for staff.
    reader = await other_tenant.owner()
    for name, content in contents.items():
        served = await reader.api.get(urlsplit(copies[name]["url"]).path)
        assert served.content == content


def place(item: Record) -> str:
    """Where an imported text has it: on the own site, whatever its host."""
    return f"/media/{item['id']}/{item['file']}"


def _with_addresses(html: str, media: dict[str, Any]) -> str:
    for name, record in media.items():
        html = html.replace(f"{{{name}}}", record["url"])
    return html


async def test_a_whole_import_gives_another_tenant_the_same_members(
    filled: Filled, other_tenant: TenantWorld, tmp_path: Path
) -> None:
    await filled.export("ghost", tmp_path / "site.zip")
    with closing(open_ghost(tmp_path / "site.zip", OPTIONS)) as source:
        await imported(other_tenant, source)
    names = ("email", "name", "tier", "newsletter")

    async def members_of(tenant: TenantWorld) -> list[tuple[Any, ...]]:
        found = await rows(tenant, "blog_members")
        return sorted(tuple(each[name] for name in names) for each in found)

    assert await members_of(other_tenant) == await members_of(filled.tenant)


async def test_a_second_import_changes_nothing(source: Source, other_tenant: TenantWorld) -> None:
    await imported(other_tenant, source)
    before = {table: await rows(other_tenant, table) for table in WRITTEN}
    again = (await imported(other_tenant, source)).summary()
    assert (again["posts"]["imported"], again["posts"]["updated"]) == (0, 0)
    assert {table: await rows(other_tenant, table) for table in WRITTEN} == before


async def test_a_second_export_names_every_post_the_same(filled: Filled, tmp_path: Path) -> None:
    """Numbers in a WXR move with every new post; what the importer goes by does not."""
    await filled.export("wxr", tmp_path / "first.xml")
    await filled.tenant.post(title="One more")
    await export(filled.tenant, "wxr", tmp_path / "second.xml")
    first, second = titles(tmp_path / "first.xml"), titles(tmp_path / "second.xml")
    assert first.items() < second.items()
    assert len(second) == len(first) + 1


def titles(path: Path) -> dict[str, str]:
    with closing(open_wordpress(path, OPTIONS)) as source:
        return {key_of_post(each): each.title for each in texts(source).values()}


async def test_languages_come_back(
    tenant: TenantWorld, other_tenant: TenantWorld, tmp_path: Path
) -> None:
    await tenant.published(title="Phare", slug="phare", language="fr")
    # Ghost has six characters for it.
    await tenant.published(title="Long", slug="long", language="zh-Hant-TW")
    await tenant.create("blog_members", {"email": "ana@example.com", "language": "pt-BR"})
    await tenant.create("blog_members", {"email": "bo@example.com"})
    await export(tenant, "ghost", tmp_path / "ghost.zip")
    with closing(open_ghost(tmp_path / "ghost.zip", OPTIONS)) as source:
        await imported(other_tenant, source)
    found = {each["slug"]: each["language"] for each in await rows(other_tenant, "posts")}
    assert found == {"phare": "fr", "long": ""}
    people = {each["email"]: each["language"] for each in await rows(other_tenant, "blog_members")}
    assert people == {"ana@example.com": "pt-BR", "bo@example.com": ""}
    await export(tenant, "wxr", tmp_path / "wxr")
    with closing(open_wordpress(tmp_path / "wxr", OPTIONS)) as source:
        told = {each.slug: each.language for each in texts(source).values()}
    assert told == {"phare": "fr", "long": "zh-Hant-TW"}
