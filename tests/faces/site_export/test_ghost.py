"""The export in Ghost's own shape, with the members and the media beside it."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

import pytest
from tests import corpus
from tests.faces.site_export import ghost_schema
from tests.faces.site_export.filled import Filled, entries, export, ghost_tables, picture
from tests.world import TenantWorld


@pytest.fixture
async def found(filled: Filled, tmp_path: Path) -> dict[str, bytes]:
    exported = await filled.export("ghost", tmp_path / "site.zip")
    assert (exported.posts, exported.pages, exported.members, exported.media) == (6, 1, 5, 2)
    return entries(tmp_path / "site.zip")


def by_slug(rows: list[Any]) -> dict[str, Any]:
    return {row["slug"]: row for row in rows}


async def test_a_post_has_its_fields(found: dict[str, bytes], filled: Filled) -> None:
    tables = ghost_tables(found)
    record = filled.posts["tea-toast-for-two"]
    post = by_slug(tables["posts"])["tea-toast-for-two"]
    shown = {name: value for name, value in post.items() if value is not None and name != "uuid"}
    image = f"__GHOST_URL__/content/images/{filled.picture['id']}/{filled.picture['file']}"
    notes = f"__GHOST_URL__/content/files/{filled.notes['id']}/{filled.notes['file']}"
    assert shown == {
        "id": record["id"],
        "title": 'Tea & "toast" <for two>',
        "slug": "tea-toast-for-two",
        "html": (
            f'<p>One\ntwo</p><p><img src="{image}" alt=""></p>'
            f'<p><img src="{image}"> <a href="{notes}">notes</a></p>'
            "<pre>a[0]]&gt; &amp;&amp; [b]</pre>"
        ),
        "comment_id": record["id"],
        "feature_image": image,
        "featured": 0,
        "type": "post",
        "status": "published",
        "visibility": "public",
        "email_recipient_filter": "all",
        "created_at": record["created"],
        "updated_at": record["updated"],
        "published_at": "2025-03-04T05:06:07.089Z",
        "custom_excerpt": "Short & <sweet>",
        "show_title_and_feature_image": 1,
    }
    (meta,) = (row for row in tables["posts_meta"] if row["post_id"] == record["id"])
    assert meta["meta_title"] == "Tea for search engines"
    assert meta["meta_description"] == "All about tea & toast"
    assert meta["feature_image_alt"] == "The harbour"


async def test_kinds_states_and_readers(found: dict[str, bytes]) -> None:
    rows = by_slug(ghost_tables(found)["posts"])
    told = {slug: (row["type"], row["status"], row["visibility"]) for slug, row in rows.items()}
    assert told == {
        "tea-toast-for-two": ("post", "published", "public"),
        "über-uns": ("post", "published", "paid"),
        "for-members": ("post", "published", "members"),
        "a-draft": ("post", "draft", "public"),
        "later": ("post", "scheduled", "public"),
        "empty": ("post", "published", "public"),
        "about-us": ("page", "published", "public"),
    }


async def test_tags_keep_their_order_and_have_slugs_of_their_own(
    found: dict[str, bytes], filled: Filled
) -> None:
    tables = ghost_tables(found)
    names = {row["id"]: row["name"] for row in tables["tags"]}
    record = filled.posts["tea-toast-for-two"]
    mine = [row for row in tables["posts_tags"] if row["post_id"] == record["id"]]
    mine.sort(key=lambda row: row["sort_order"])
    assert [names[row["tag_id"]] for row in mine] == record["tags"]
    slugs = [row["slug"] for row in tables["tags"]]
    assert sorted(slugs) == ["c", "c-2", "food-drink", "reisen-wandern"]


async def test_every_post_has_the_owner_for_its_author(found: dict[str, bytes]) -> None:
    tables = ghost_tables(found)
    (user,) = tables["users"]
    assert {row["author_id"] for row in tables["posts_authors"]} == {user["id"]}
    assert len(tables["posts_authors"]) == len(tables["posts"])
    assert user["email"]
    assert "password" not in user


async def test_media_come_along(found: dict[str, bytes], filled: Filled) -> None:
    stored = {name: data for name, data in found.items() if name.startswith("content/")}
    assert stored == {
        f"content/images/{filled.picture['id']}/{filled.picture['file']}": picture(),
        f"content/files/{filled.notes['id']}/{filled.notes['file']}": b"Some notes\n",
    }


async def test_members_in_the_columns_of_ghost(found: dict[str, bytes]) -> None:
    rows = list(csv.DictReader(io.StringIO(found["members.csv"].decode(), newline="")))
    told = {
        row["email"]: (
            row["name"],
            row["subscribed_to_emails"],
            row["complimentary_plan"],
            row["stripe_customer_id"],
            row["labels"],
        )
        for row in rows
    }
    assert told == {
        "ann@example.com": ("Ann", "true", "", "", ""),
        "'=sum@example.com": ("'=HYPERLINK(1)", "false", "", "", ""),
        "bo@example.com": ("", "false", "", "cus_1", ""),
        "cy@example.com": ("", "true", "true", "", "past_due"),
        "di@example.com": ("", "false", "", "", "cancelled"),
    }


async def test_a_long_excerpt_is_cut_to_what_ghost_takes(
    tenant: TenantWorld, tmp_path: Path
) -> None:
    await tenant.post(title="Long", excerpt="word " * 99)
    await export(tenant, "ghost", tmp_path / "site.zip")
    (post,) = ghost_tables(entries(tmp_path / "site.zip"))["posts"]
    assert len(post["custom_excerpt"]) <= 300
    assert post["custom_excerpt"].endswith("word…")


async def test_a_link_to_a_deleted_file_stays_as_it_is(tenant: TenantWorld, tmp_path: Path) -> None:
    gone = f"http://{tenant.host}/media/{'x' * 15}/gone.png"
    foreign = f"https://elsewhere.example/media/{'y' * 15}/other.png"
    html = f'<p><img src="{gone}"><img src="{foreign}"></p>'
    await tenant.post(title="Gone", content_html=html, featured_image=gone)
    await export(tenant, "ghost", tmp_path / "site.zip")
    (post,) = ghost_tables(entries(tmp_path / "site.zip"))["posts"]
    assert (post["html"], post["feature_image"]) == (html, gone)


async def test_nobody_and_nothing_is_a_whole_export(
    other_tenant: TenantWorld, tmp_path: Path
) -> None:
    await export(other_tenant, "ghost", tmp_path / "site.zip")
    tables = ghost_tables(entries(tmp_path / "site.zip"))
    empty = ("posts", "posts_authors", "posts_meta", "posts_tags", "tags")
    assert [tables[name] for name in empty] == [[]] * 5


async def test_tables_and_columns_are_those_of_ghost(found: dict[str, bytes]) -> None:
    (name,) = (name for name in found if name.endswith(".json"))
    ours = json.loads(found[name])["db"][0]
    assert ours["meta"].keys() == {"exported_on", "version"}
    assert ours.keys() == {"meta", "data"}
    for table, rows in ours["data"].items():
        # Ghost's importer takes the columns that it knows.
        for row in rows:
            theirs = {name for name in row if not name.startswith("masthead_")}
            assert theirs <= ghost_schema.TABLES[table], table
    # All that a post has there it has here.
    assert ours["data"]["posts"][0].keys() == ghost_schema.POST


async def test_the_list_of_members_has_the_columns_of_ghost(found: dict[str, bytes]) -> None:
    first = found["members.csv"].decode().splitlines()[0]
    assert first == f"{ghost_schema.MEMBERS_CSV},masthead_language"


def test_an_export_of_the_corpus_has_the_same_columns() -> None:
    for path in corpus.found("ghost/real/v5_export.json"):
        tables = json.loads(path.read_text())["db"][0]["data"]
        for table, columns in ghost_schema.TABLES.items():
            assert all(columns <= row.keys() for row in tables[table][:1]), table
        assert tables["posts"][0].keys() == ghost_schema.POST
    for path in corpus.found("ghost/members-csv/member-csv-export.csv"):
        assert path.read_text().splitlines()[0] == ghost_schema.MEMBERS_CSV
