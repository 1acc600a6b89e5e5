"""A tenant that has some of everything, and its export as a test reads it."""

from __future__ import annotations

import io
import json
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from PIL import Image
from tests.world import TenantWorld, records_of

from masthead.engine.records.collection import Record
from masthead.faces.site_export.formats import Format
from masthead.faces.site_export.run import ExportCounts, export_site
from masthead.identity.tenants import tenants


def picture(colour: str = "teal") -> bytes:
    file = io.BytesIO()
    Image.new("RGB", (40, 20), colour).save(file, "PNG")
    return file.getvalue()


@dataclass
class Filled:
    tenant: TenantWorld
    posts: dict[str, Record]
    """The posts by slug."""
    page: Record
    picture: Record
    notes: Record

    async def export(self, form: str, path: Path) -> ExportCounts:
        return await export(self.tenant, form, path)


async def export(tenant: TenantWorld, form: str, path: Path) -> ExportCounts:
    (record,) = await tenant.world.parts.records.find(tenants, {"id": tenant.id})
    return await export_site(tenant.world.parts, record, Format(form), path)


async def fill(tenant: TenantWorld) -> Filled:
    shown = await upload(tenant, "Harbour view.png", picture(), alt="The harbour")
    notes = await upload(tenant, "notes.txt", b"Some notes\n")
    posts = [await tenant.post(**values) for values in texts(shown, notes)]
    page = await tenant.create(
        "pages",
        {"title": "About us", "content_html": "<p>Who we are</p>", "status": "published"},
    )
    await members(tenant)
    return Filled(tenant, {each["slug"]: each for each in posts}, page, shown, notes)


def texts(shown: Record, notes: Record) -> list[dict[str, Any]]:
    relative = f"/media/{shown['id']}/{shown['file']}"
    return [
        {
            "title": 'Tea & "toast" <for two>',
            "content_html": (
                f'<p>One\ntwo</p><p><img src="{shown["url"]}" alt=""></p>'
                f'<p><img src="{relative}?thumb=100x100"> <a href="{notes["url"]}">notes</a></p>'
                "<pre>a[0]]&gt; &amp;&amp; [b]</pre>"
            ),
            "excerpt": "Short & <sweet>",
            "status": "published",
            "published_at": "2025-03-04T05:06:07.089Z",
            "tags": ["Food & drink", "C++", "C", "Reisen, Wandern"],
            "featured_image": shown["url"],
            "seo_title": "Tea for search engines",
            "seo_description": "All about tea & toast",
        },
        {
            "title": "Über uns",
            "slug": "über-uns",
            "content_html": "Words without a paragraph",
            "status": "published",
            "published_at": "2025-01-01T00:00:00.000Z",
            "visibility": "paid",
            "featured_image": "https://pictures.example/a%20b.jpg",
        },
        {
            "title": "For members",
            "content_html": (
                "<p>Secretly</p>\n<pre>a\n\nb</pre>"
                '<aside data-card="callout" class="mh-card mh-callout"><p class="mh-emoji">💡</p>'
                '<p>Words</p><figure data-card="gallery" class="mh-card mh-gallery">'
                f'<img src="{shown["url"]}" alt="Here" width="40" height="20">'
                f'<img src="{relative}?thumb=100x100" alt=""><figcaption>Both</figcaption></figure>'
                '</aside><p data-card="file" class="mh-card mh-file">'
                f'<a href="{notes["url"]}">notes.txt</a></p>\n<p>After</p>'
            ),
            "status": "published",
            "published_at": "2024-12-31T23:59:59.000Z",
            "visibility": "members",
            "featured_image": "https://pictures.example/a%20b.jpg",
        },
        {"title": "A draft", "content_html": "<p>Not yet</p>", "tags": ["C"]},
        {
            "title": "Later",
            "content_html": "<p>Soon</p>",
            "status": "published",
            "published_at": "2099-01-01T08:00:00.000Z",
        },
        {"title": "Empty", "status": "published", "published_at": "2023-01-01T00:00:00.000Z"},
    ]


async def members(tenant: TenantWorld) -> None:
    for values in (
        {"email": "ann@example.com", "name": "Ann", "newsletter": True},
        {"email": "=sum@example.com", "name": "=HYPERLINK(1)"},
        {"email": "bo@example.com", "tier": "paid", "payment_customer_id": "cus_1"},
        {"email": "cy@example.com", "tier": "paid", "newsletter": True, "status": "past_due"},
        {"email": "di@example.com", "payment_customer_id": "cus_2", "status": "cancelled"},
    ):
        await tenant.create("blog_members", values)


async def upload(tenant: TenantWorld, name: str, content: bytes, **values: str) -> Record:
    owner = await tenant.owner()
    made = await owner.api.post(records_of("media"), files={"file": (name, content)}, data=values)
    assert made.status_code == 200, made.text
    record: Record = made.json()
    return record


def entries(path: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(path) as archive:
        assert archive.testzip() is None
        return {info.filename: archive.read(info) for info in archive.infolist()}


def ghost_tables(found: dict[str, bytes]) -> Any:
    (name,) = (name for name in found if name.endswith(".json"))
    return json.loads(found[name])["db"][0]["data"]
