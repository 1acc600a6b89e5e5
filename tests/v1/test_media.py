"""Media through the public API: uploads, lists, deletion, and the address an item is served at.

Each test runs on both databases and on both kinds of object store.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest
from tests.databases import fresh_url
from tests.features.media.pictures import GPS_PART, exif, picture
from tests.object_stores import S3Server
from tests.tiers import representatives
from tests.world import TenantWorld, World, open_world

from masthead.engine.jobs.runner import JobRunner
from masthead.engine.records.collection import file_key
from masthead.features.media.collection import media
from masthead.features.media.jobs import handlers
from masthead.features.trash.emptying import delete_expired
from masthead.identity.api_keys import create_key

MAX_UPLOAD = 300 * 1024
MEDIA = "/api/v1/media"
FIELDS = ["id", "filename", "url", "mime_type", "size", "width", "height", "alt", "created"]
SVG = b'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 30 20">%s</svg>'


@dataclass
class Site:
    """A tenant whose key may do everything with media."""

    tenant: TenantWorld
    api: httpx.AsyncClient

    @property
    def world(self) -> World:
        return self.tenant.world

    async def upload(
        self, content: bytes, name: str = "file.bin", alt: str | None = None, **headers: str
    ) -> httpx.Response:
        data = {} if alt is None else {"alt": alt}
        named = {key.replace("_", "-"): value for key, value in headers.items()}
        return await self.api.post(MEDIA, files={"file": (name, content)}, data=data, headers=named)

    async def uploaded(self, content: bytes, name: str = "file.bin", **more: str) -> dict[str, Any]:
        answer = await self.upload(content, name, **more)
        assert answer.status_code == 201, answer.text
        item: dict[str, Any] = answer.json()["data"]
        return item

    async def open(self, url: str, **options: Any) -> httpx.Response:
        """Fetches an item's URL from its own host, as a browser does."""
        parts = urlsplit(url)
        client = self.world.client(parts.netloc)
        return await client.get(f"{parts.path}?{parts.query}", **options)

    async def key(self, *scopes: str) -> httpx.AsyncClient:
        _, token = await create_key(self.world.parts.records, self.tenant.id, "k", scopes)
        return self.world.client(self.tenant.host, token=token)

    async def stored(self) -> list[str]:
        keys = self.world.parts.objects.list_keys(self.tenant.id)
        return [key async for key in keys]

    async def work_off(self) -> None:
        """Runs the worker's jobs of the next two hours."""
        self.world.clock.advance(hours=2)
        parts = self.world.parts
        runner = JobRunner(parts.database, handlers(parts.records, parts.objects), self.world.clock)
        while await runner.run_due():
            pass


@pytest.fixture(scope="module", params=representatives(["folder", "s3"]))
def store(request: pytest.FixtureRequest) -> Iterator[dict[str, str]]:
    """Settings of the object store."""
    if request.param == "folder":
        yield {}
        return
    server: S3Server = request.getfixturevalue("s3_server")
    with pytest.MonkeyPatch.context() as patch:
        for name, value in server.environ.items():
            patch.setenv(name, value)
        yield {"MASTHEAD_STORAGE_URL": server.new_url()}


@pytest.fixture(scope="module", params=["sqlite", "postgresql"])
async def world(
    request: pytest.FixtureRequest,
    store: dict[str, str],
    tmp_path_factory: pytest.TempPathFactory,
) -> AsyncIterator[World]:
    folder = tmp_path_factory.mktemp("media")
    environ = {"MASTHEAD_MAX_UPLOAD": f"{MAX_UPLOAD}", "MASTHEAD_RATE_LIMITS": "off", **store}
    opened = await open_world(fresh_url(request.param, folder), folder, **environ)
    yield opened
    await opened.parts.close()


@pytest.fixture
async def site(world: World) -> Site:
    return await new_site(world)


@pytest.fixture
async def other_site(world: World) -> Site:
    return await new_site(world)


async def new_site(world: World) -> Site:
    tenant = await world.new_tenant("media")
    site = Site(tenant, world.client())
    site.api = await site.key("media:read", "media:write")
    return site


def problem(answer: httpx.Response, status: int, code: str) -> dict[str, Any]:
    assert answer.status_code == status, answer.text
    error: dict[str, Any] = answer.json()["error"]
    assert error["code"] == code
    return error


class TestUpload:
    async def test_answers_with_the_item(self, site: Site) -> None:
        content = picture("PNG", (64, 48))
        item = await site.uploaded(content, "My Cat.png", alt="A cat")
        assert list(item) == FIELDS
        assert (item["filename"], item["mime_type"]) == ("My Cat.png", "image/png")
        assert (item["width"], item["height"], item["size"]) == (64, 48, len(content))
        assert item["alt"] == "A cat"
        assert (await site.api.get(f"{MEDIA}/{item['id']}")).json() == item
        assert (await site.tenant.event_names())[-1] == "media.uploaded"

    async def test_fields_without_a_value_are_null(self, site: Site) -> None:
        item = await site.uploaded(b"plain words", "notes.txt")
        assert (item["width"], item["height"], item["alt"]) == (None, None, None)
        assert item["mime_type"] == "text/plain"

    async def test_the_type_is_detected_from_the_content(self, site: Site) -> None:
        item = await site.uploaded(picture("JPEG"), "innocent.html")
        assert item["mime_type"] == "image/jpeg"

    async def test_a_stored_name_without_an_extension_gets_the_types(self, site: Site) -> None:
        item = await site.uploaded(b"plain words", "notes")
        assert item["filename"] == "notes"
        assert item["url"].endswith(".txt")

    async def test_the_location_is_removed_from_a_picture(self, site: Site) -> None:
        original = picture("JPEG", exif=exif(orientation=6))
        item = await site.uploaded(original, "photo.jpg")
        # On its side: the orientation is applied to the size and stays in the file.
        assert (item["width"], item["height"]) == (48, 64)
        served = (await site.open(item["url"])).content
        assert b"SECRET" in original
        assert b"SECRET" not in served
        assert GPS_PART.to_bytes(2) not in served
        assert item["size"] == len(served)

    @pytest.mark.parametrize(
        ("sent", "kept"),
        [
            ("C:\\fakepath\\cat.png", "cat.png"),
            ("../../etc/passwd", "passwd"),
            ("Grüße ✉.png", "Grüße ✉.png"),
            ("x" * 300 + ".png", "x" * 251 + ".png"),
        ],
    )
    async def test_the_name_is_stored_without_folders(
        self, site: Site, sent: str, kept: str
    ) -> None:
        item = await site.uploaded(picture("PNG"), sent)
        assert item["filename"] == kept
        assert (await site.open(item["url"])).status_code == 200

    async def test_a_private_file_opens_with_a_key(self, site: Site) -> None:
        answer = await site.api.post(
            MEDIA, files={"file": ("a.txt", b"text")}, data={"private": "true"}
        )
        item = answer.json()["data"]
        assert item["private"] is True
        path = urlsplit(item["url"]).path
        assert (await site.open(item["url"])).status_code == 404
        opened = await (await site.key("media:read")).get(path, headers={"range": "bytes=1-2"})
        assert (opened.status_code, opened.content) == (206, b"ex")
        assert "private" not in (await site.uploaded(b"open"))

    @pytest.mark.parametrize("sent", ["", "1", "on", "True", "null"])
    async def test_private_is_true_or_false(self, site: Site, sent: str) -> None:
        answer = await site.api.post(
            MEDIA, files={"file": ("a.txt", b"text")}, data={"private": sent}
        )
        assert list(problem(answer, 422, "VALIDATION_ERROR")["details"]) == ["private"]

    async def test_alt_has_a_limit(self, site: Site) -> None:
        assert (await site.uploaded(b"x", alt="é" * 1000))["alt"] == "é" * 1000
        error = problem(await site.upload(b"x", alt="é" * 1001), 422, "VALIDATION_ERROR")
        assert list(error["details"]) == ["alt"]

    async def test_an_upload_of_the_exact_limit_passes(self, site: Site) -> None:
        assert (await site.uploaded(bytes(MAX_UPLOAD)))["size"] == MAX_UPLOAD

    async def test_one_byte_more_is_refused(self, site: Site) -> None:
        problem(await site.upload(bytes(MAX_UPLOAD + 1)), 413, "BAD_REQUEST")
        assert await site.stored() == []

    @pytest.mark.parametrize(
        ("headers", "body"),
        [
            ({"content-type": "application/json"}, b"{}"),
            ({}, b""),
            ({"content-type": "multipart/form-data"}, b"x"),
            ({"content-type": "multipart/form-data; boundary=b"}, b""),
            ({"content-type": "multipart/form-data; boundary=b"}, b"nonsense"),
            (
                {"content-type": "multipart/form-data; boundary=b"},
                b'--b\r\nContent-Disposition: form-data; name="file"; filename="a"\r\n\r\nx',
            ),
        ],
    )
    async def test_an_invalid_form_is_a_bad_request(
        self, site: Site, headers: dict[str, str], body: bytes
    ) -> None:
        answer = await site.api.post(MEDIA, content=body, headers=headers)
        problem(answer, 400, "BAD_REQUEST")

    @pytest.mark.parametrize(
        "parts",
        [
            {"alt": (None, "words")},
            {"file": (None, "text where a file belongs")},
            {"picture": ("a.png", b"x")},
        ],
    )
    async def test_a_form_without_the_file_is_invalid(
        self, site: Site, parts: dict[str, Any]
    ) -> None:
        answer = await site.api.post(MEDIA, files=parts)
        error = problem(answer, 422, "VALIDATION_ERROR")
        assert list(error["details"]) == ["file"]

    async def test_two_files_in_one_call_are_refused(self, site: Site) -> None:
        files = [("file", ("a.txt", b"a")), ("file", ("b.txt", b"b"))]
        problem(await site.api.post(MEDIA, files=files), 400, "BAD_REQUEST")

    async def test_text_and_name_change_and_the_address_stays(self, site: Site) -> None:
        item = await site.uploaded(b"a text", "notes.txt", alt="Notes")
        path = f"{MEDIA}/{item['id']}"
        answer = await site.api.patch(path, json={"alt": "Tides", "filename": "a/b/tides.txt"})
        assert answer.status_code == 200, answer.text
        assert answer.json()["data"] == item | {"alt": "Tides", "filename": "tides.txt"}
        assert (await site.api.get(path)).json()["filename"] == "tides.txt"
        assert (await site.open(item["url"])).content == b"a text"
        assert (await site.api.patch(path, json={"alt": None})).json()["data"]["alt"] is None
        for bad in (
            {"filename": ""},
            {"filename": "/"},
            {"filename": None},
            {"filename": "x" * 256},
        ):
            refused = await site.api.patch(path, json=bad)
            assert refused.status_code == 422, bad
            assert refused.json()["error"]["details"].keys() == {"filename"}
        stale = await site.api.patch(path, json={"alt": "x"}, headers={"if-match": '"1"'})
        assert stale.status_code == 412
        ignored = await site.api.patch(path, json={"url": "https://example.com"})
        assert ignored.headers["x-ignored"] == "url"

    async def test_a_read_only_site_stores_nothing(self, site: Site) -> None:
        await site.tenant.settings(read_only_mode=True)
        problem(await site.upload(b"x"), 403, "FORBIDDEN")
        assert await site.stored() == []

    async def test_reading_does_not_allow_writing(self, site: Site) -> None:
        reader = await site.key("media:read")
        problem(await reader.post(MEDIA, files={"file": b"x"}), 403, "INVALID_SCOPE")
        writer = await site.key("media:write")
        problem(await writer.get(MEDIA), 403, "INVALID_SCOPE")

    async def test_an_endless_upload_is_refused_before_its_end(self, site: Site) -> None:
        sent = 0

        async def endless() -> AsyncIterator[bytes]:
            nonlocal sent
            yield b'--b\r\nContent-Disposition: form-data; name="file"; filename="a"\r\n\r\n'
            while True:
                sent += 65_536
                yield bytes(65_536)

        headers = {"content-type": "multipart/form-data; boundary=b"}
        answer = await site.api.post(MEDIA, content=endless(), headers=headers)
        problem(answer, 413, "BAD_REQUEST")
        assert sent < MAX_UPLOAD + 2 * 1024 * 1024

    async def test_a_declared_length_over_the_limit_is_refused_unread(self, site: Site) -> None:
        async def never() -> AsyncIterator[bytes]:
            raise AssertionError("nobody should ask for the body")
            yield b""

        headers = {
            "content-type": "multipart/form-data; boundary=b",
            "content-length": str(1024**3),
        }
        answer = await site.api.post(MEDIA, content=never(), headers=headers)
        problem(answer, 413, "BAD_REQUEST")


class TestIdempotencyKey:
    async def test_a_repeated_upload_gets_the_first_answer(self, site: Site) -> None:
        first = await site.upload(b"words", "a.txt", alt="x", idempotency_key="one")
        again = await site.upload(b"words", "a.txt", alt="x", idempotency_key="one")
        assert first.status_code == again.status_code == 201
        assert first.json() == again.json()
        assert (await site.api.get(MEDIA)).json()["total"] == 1

    @pytest.mark.parametrize(("content", "alt"), [(b"other", "x"), (b"words", "y")])
    async def test_another_upload_under_the_same_key_is_invalid(
        self, site: Site, content: bytes, alt: str
    ) -> None:
        await site.upload(b"words", alt="x", idempotency_key="one")
        answer = await site.upload(content, alt=alt, idempotency_key="one")
        error = problem(answer, 422, "VALIDATION_ERROR")
        assert list(error["details"]) == ["Idempotency-Key"]
        assert (await site.api.get(MEDIA)).json()["total"] == 1

    @pytest.mark.both_databases
    async def test_many_at_once_make_one_item_and_the_rest_is_swept(self, site: Site) -> None:
        uploads = [site.upload(b"words", "a.txt", idempotency_key="one") for _ in range(8)]
        answers = await asyncio.gather(*uploads)
        assert {answer.status_code for answer in answers} == {201}
        assert len({answer.json()["data"]["id"] for answer in answers}) == 1
        item = answers[0].json()["data"]
        await site.work_off()
        name = item["url"].rpartition("/")[2]
        assert await site.stored() == [file_key(site.tenant.id, media, item["id"], name)]

    async def test_none_is_acknowledged_whose_file_the_sweep_has_removed(
        self, site: Site, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """The clock jumps while the bytes are stored, and a worker looks for abandoned uploads."""
        objects = site.world.parts.objects
        put = objects.put

        async def put_and_sweep(*args: Any, **options: Any) -> None:
            await put(*args, **options)
            await site.work_off()

        with monkeypatch.context() as patched:
            patched.setattr(objects, "put", put_and_sweep)
            problem(await site.upload(picture("PNG"), "a.png"), 503, "INTERNAL_ERROR")
        assert (await site.api.get(MEDIA)).json()["total"] == 0
        assert await site.stored() == []
        item = await site.uploaded(picture("PNG"), "a.png")
        await site.work_off()
        assert (await site.open(item["url"])).status_code == 200

    async def test_an_overlong_key_is_refused_before_anything_is_stored(self, site: Site) -> None:
        problem(await site.upload(b"x", idempotency_key="k" * 256), 400, "BAD_REQUEST")
        assert await site.stored() == []


class TestList:
    async def test_newest_first_in_pages(self, site: Site) -> None:
        names = []
        for number in range(5):
            site.world.clock.advance(seconds=1)
            names.insert(0, (await site.uploaded(b"x", f"{number}.txt"))["filename"])
        page = (await site.api.get(MEDIA, params={"page": 2, "per_page": 2})).json()
        assert [item["filename"] for item in page.pop("items")] == names[2:4]
        assert page == {"page": 2, "per_page": 2, "total": 5, "total_pages": 3}

    async def test_a_cursor_continues_after_a_page(self, site: Site) -> None:
        for number in range(3):
            site.world.clock.advance(seconds=1)
            await site.uploaded(b"x", f"{number}.txt")
        first = await site.api.get(MEDIA, params={"per_page": 2})
        following = await site.api.get(first.links["next-cursor"]["url"])
        assert [item["filename"] for item in following.json()["items"]] == ["0.txt"]

    @pytest.mark.parametrize(
        ("wanted", "expected"),
        [
            ("image", {"a.png", "b.jpg", "c.svg"}),
            ("image/", {"a.png", "b.jpg", "c.svg"}),
            ("IMAGE", {"a.png", "b.jpg", "c.svg"}),
            ("image/png", {"a.png"}),
            ("image/svg+xml", {"c.svg"}),
            ("text", {"d.txt", "e.html"}),
            ("text/plain", {"d.txt"}),
            ("im", {"a.png", "b.jpg", "c.svg"}),
            ("image/p", {"a.png"}),
            ("video", set()),
            ("%", set()),
            ("image/_ng", set()),
        ],
    )
    async def test_type_is_a_prefix(self, site: Site, wanted: str, expected: set[str]) -> None:
        for name, content in {
            "a.png": picture("PNG"),
            "b.jpg": picture("JPEG"),
            "c.svg": SVG % b"<rect/>",
            "d.txt": b"words",
            "e.html": b"<html><svg/></html>",
        }.items():
            await site.uploaded(content, name)
        page = (await site.api.get(MEDIA, params={"type": wanted})).json()
        assert {item["filename"] for item in page["items"]} == expected
        assert page["total"] == len(expected)

    async def test_an_overlong_type_is_invalid(self, site: Site) -> None:
        error = problem(
            await site.api.get(MEDIA, params={"type": "x" * 101}), 422, "VALIDATION_ERROR"
        )
        assert list(error["details"]) == ["type"]

    async def test_totals_follow_deletions(self, site: Site) -> None:
        item = await site.uploaded(picture("PNG"), "a.png")
        await site.uploaded(picture("PNG"), "b.png")
        await site.api.delete(f"{MEDIA}/{item['id']}")
        for params in ({"type": "image"}, {"type": "image/png"}, {}):
            assert (await site.api.get(MEDIA, params=params)).json()["total"] == 1


class TestDelete:
    async def test_takes_the_item_its_file_and_its_thumbs(self, site: Site) -> None:
        item = await site.uploaded(picture("PNG"), "a.png")
        await site.open(item["url"] + "?thumb=100x100")
        assert len(await site.stored()) == 2
        answer = await site.api.delete(f"{MEDIA}/{item['id']}")
        assert (answer.status_code, answer.content) == (204, b"")
        problem(await site.api.get(f"{MEDIA}/{item['id']}"), 404, "NOT_FOUND")
        assert (await site.open(item["url"])).status_code == 404
        await site.work_off()
        assert len(await site.stored()) == 2  # they can be restored
        site.world.clock.advance(days=30)
        await delete_expired(site.world.parts.records)
        await site.work_off()
        assert await site.stored() == []

    @pytest.mark.parametrize("record_id", ["nothing", "a" * 15, "%00", "A" * 15, "'"])
    async def test_an_unknown_item_is_not_found(self, site: Site, record_id: str) -> None:
        problem(await site.api.delete(f"{MEDIA}/{record_id}"), 404, "NOT_FOUND")
        problem(await site.api.get(f"{MEDIA}/{record_id}"), 404, "NOT_FOUND")

    async def test_items_of_another_tenant_are_not_there(
        self, site: Site, other_site: Site
    ) -> None:
        item = await other_site.uploaded(b"x")
        problem(await site.api.get(f"{MEDIA}/{item['id']}"), 404, "NOT_FOUND")
        problem(await site.api.delete(f"{MEDIA}/{item['id']}"), 404, "NOT_FOUND")
        assert (await site.api.get(MEDIA)).json()["total"] == 0


class TestServing:
    async def test_the_url_is_on_the_tenants_own_host(self, site: Site) -> None:
        """Also when the upload came by the bare host."""
        _, token = await create_key(site.world.parts.records, site.tenant.id, "k", ["media:write"])
        bare = site.world.client("localhost", token=token)
        content = picture("PNG")
        answer = await bare.post(MEDIA, files={"file": ("a.png", content)})
        url = answer.json()["data"]["url"]
        assert url.startswith(f"http://{site.tenant.host}/media/")
        served = await site.open(url)
        assert (served.status_code, served.content) == (200, content)

    async def test_pictures_are_shown_in_place_and_inert(self, site: Site) -> None:
        item = await site.uploaded(picture("PNG"), "a.png")
        headers = (await site.open(item["url"])).headers
        assert headers["content-type"] == "image/png"
        assert headers["content-disposition"].startswith("inline")
        assert headers["x-content-type-options"] == "nosniff"
        assert "sandbox" in headers["content-security-policy"]
        assert "default-src 'none'" in headers["content-security-policy"]

    async def test_thumbs_are_made_of_the_declared_sizes_only(self, site: Site) -> None:
        content = picture("PNG", (640, 480))
        item = await site.uploaded(content, "a.png")
        thumb = await site.open(item["url"] + "?thumb=100x100")
        assert thumb.headers["content-type"] == "image/png"
        assert thumb.content != content
        undeclared = await site.open(item["url"] + "?thumb=99x99")
        assert undeclared.content == content

    async def test_a_thumbnail_request_for_another_file_gets_the_file(self, site: Site) -> None:
        item = await site.uploaded(b"words", "a.txt")
        assert (await site.open(item["url"] + "?thumb=100x100")).content == b"words"

    async def test_ranges_and_validators(self, site: Site) -> None:
        item = await site.uploaded(b"0123456789", "a.txt")
        part = await site.open(item["url"], headers={"range": "bytes=2-4"})
        assert (part.status_code, part.content) == (206, b"234")
        tag = part.headers["etag"]
        unchanged = await site.open(item["url"], headers={"if-none-match": tag})
        assert (unchanged.status_code, unchanged.content) == (304, b"")

    async def test_an_svg_is_stored_clean_and_served_as_a_download(self, site: Site) -> None:
        item = await site.uploaded(SVG % b"<script>alert(1)</script><rect/>", "a.svg")
        assert (item["mime_type"], item["width"], item["height"]) == ("image/svg+xml", 30, 20)
        served = await site.open(item["url"])
        assert b"<rect" in served.content
        assert b"script" not in served.content
        assert item["size"] == len(served.content)
        assert served.headers["content-type"] == "image/svg+xml"
        assert served.headers["content-disposition"].startswith("attachment")
        assert "sandbox" in served.headers["content-security-policy"]

    async def test_an_svg_that_can_not_be_cleaned_is_invalid(self, site: Site) -> None:
        error = problem(await site.upload(SVG % b"<g>", "a.svg"), 422, "VALIDATION_ERROR")
        assert list(error["details"]) == ["file"]
        assert await site.stored() == []

    @pytest.mark.parametrize(
        "content",
        [
            b"<!doctype html><script>alert(1)</script>",
            b"<html><svg onload='alert(1)'></svg></html>",
            b"<?xml version='1.0'?><x:script xmlns:x='http://www.w3.org/1999/xhtml'/>",
        ],
    )
    async def test_markup_is_only_ever_downloaded_as_text(self, site: Site, content: bytes) -> None:
        item = await site.uploaded(content, "page.png")
        served = await site.open(item["url"])
        assert served.content == content
        assert served.headers["content-type"] == "text/plain; charset=utf-8"
        assert served.headers["content-disposition"].startswith("attachment")
        assert served.headers["x-content-type-options"] == "nosniff"

    async def test_both_urls_serve_the_same(self, site: Site) -> None:
        item = await site.uploaded(picture("PNG"), "a.png")
        name = item["url"].rpartition("/")[2]
        by_media = await site.open(item["url"])
        by_files = await site.tenant.guest.get(f"/api/files/media/{item['id']}/{name}")
        assert by_media.content == by_files.content
        ignored = ("x-request-id", "date")
        shown = [
            {k: v for k, v in answer.headers.items() if k not in ignored}
            for answer in (by_media, by_files)
        ]
        assert shown[0] == shown[1]

    async def test_another_tenants_host_does_not_serve_it(
        self, site: Site, other_site: Site
    ) -> None:
        item = await site.uploaded(b"x")
        path = urlsplit(item["url"]).path
        assert (await other_site.tenant.guest.get(path)).status_code == 404

    @pytest.mark.parametrize("change", ["x", "%00", "/..", "?"])
    async def test_only_the_exact_name_is_served(self, site: Site, change: str) -> None:
        path = urlsplit((await site.uploaded(b"x"))["url"]).path
        expected = 200 if change == "?" else 404
        assert (await site.tenant.guest.get(path + change)).status_code == expected
        assert (await site.tenant.guest.post(path)).status_code == 405


async def test_the_digest_is_of_the_uploaded_bytes(site: Site) -> None:
    """Importers recognize a file by it, although the stored bytes may differ."""
    original = picture("JPEG", exif=exif())
    item = await site.uploaded(original)
    found = await site.world.parts.records.find(media, {"id": item["id"]}, tenant_id=site.tenant.id)
    assert found[0]["sha256"] == hashlib.sha256(original).hexdigest()
