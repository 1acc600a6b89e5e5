"""Uploads and how they are served: by their own name only, and never as a page of ours."""

from __future__ import annotations

import io

import httpx
import pytest
from PIL import Image
from tests.world import Account, TenantWorld, World, records_of

MEDIA = records_of("media")


def png(width: int = 40, height: int = 20) -> bytes:
    file = io.BytesIO()
    Image.new("RGB", (width, height), "teal").save(file, "PNG")
    return file.getvalue()


async def upload(
    api: httpx.AsyncClient, name: str, content: bytes, **fields: str
) -> httpx.Response:
    return await api.post(MEDIA, files={"file": (name, content)}, data=fields)


def address(item: dict[str, str], name: str = "") -> str:
    return f"/api/files/media/{item['id']}/{name or item['file']}"


class TestUpload:
    async def test_a_picture(self, tenant: TenantWorld, owner: Account) -> None:
        answer = await upload(owner.api, "Öl & Co.png", png(), alt="words", tenant_id=tenant.id)
        assert answer.status_code == 200
        item = answer.json()
        assert (item["width"], item["height"], item["mime_type"]) == (40, 20, "image/png")
        assert (item["filename"], item["alt"]) == ("Öl & Co.png", "words")
        assert item["url"] == f"http://{tenant.host}/media/{item['id']}/{item['file']}"
        served = await tenant.guest.get(address(item))
        assert (served.status_code, served.headers["content-type"]) == (200, "image/png")
        assert served.content == png()

    async def test_an_operator_names_the_tenant(
        self, tenant: TenantWorld, operator: Account
    ) -> None:
        named = await upload(operator.api, "a.txt", b"text", tenant_id=tenant.id)
        assert named.json()["tenant_id"] == tenant.id
        assert (await upload(operator.api, "a.txt", b"text")).status_code == 400

    async def test_without_a_file(self, owner: Account) -> None:
        for answer in (
            await owner.api.post(MEDIA, json={"file": "name.txt"}),
            await owner.api.post(MEDIA, files={"other": ("a.txt", b"text")}),
        ):
            assert answer.status_code == 400
            assert answer.json()["data"]["file"]["code"] == "validation_required"

    async def test_only_administrators(self, tenant: TenantWorld, member: Account) -> None:
        assert (await upload(tenant.guest, "a.txt", b"text")).status_code == 401
        assert (await upload(member.api, "a.txt", b"text")).status_code == 403

    async def test_it_is_deleted_with_its_record(self, tenant: TenantWorld, owner: Account) -> None:
        item = (await upload(owner.api, "a.txt", b"text")).json()
        await owner.api.delete(f"{MEDIA}/{item['id']}")
        assert (await tenant.guest.get(address(item))).status_code == 404


class TestServing:
    @pytest.mark.parametrize(
        ("name", "content"),
        [
            ("x.svg", b'<svg xmlns="http://www.w3.org/2000/svg"><script>1</script></svg>'),
            ("x.html", b"<!doctype html><script>alert(1)</script>"),
            ("x.png", b"<!doctype html><script>alert(1)</script>"),
            ("x.jpg", b'<?xml version="1.0"?><svg xmlns="http://www.w3.org/2000/svg"/>'),
            ("x.xml", b'<?xml version="1.0"?><x xmlns="http://www.w3.org/1999/xhtml"/>'),
            ("x.js", b"alert(1)"),
            ("x", b"\x00\x01\x02"),
        ],
    )
    async def test_files_that_may_hold_scripts_are_downloads(
        self, tenant: TenantWorld, owner: Account, name: str, content: bytes
    ) -> None:
        item = (await upload(owner.api, name, content)).json()
        for query in ("", "?thumb=100x100", "?download=0"):
            served = await tenant.guest.get(address(item) + query)
            assert served.status_code == 200
            assert served.headers["content-disposition"].startswith("attachment")
            assert served.headers["x-content-type-options"] == "nosniff"
            assert "sandbox" in served.headers["content-security-policy"]

    async def test_thumbs_only_in_the_sizes_on_the_list(
        self, tenant: TenantWorld, owner: Account
    ) -> None:
        item = (await upload(owner.api, "a.png", png(400, 200))).json()
        sizes = {}
        for thumb in ("100x100", "300x0", "99x99", "100000x100000", "../x", ""):
            served = await tenant.guest.get(address(item), params={"thumb": thumb})
            sizes[thumb] = Image.open(io.BytesIO(served.content)).size
        assert sizes == {
            "100x100": (100, 100),
            "300x0": (300, 150),
            "99x99": (400, 200),
            "100000x100000": (400, 200),
            "../x": (400, 200),
            "": (400, 200),
        }

    @pytest.mark.parametrize(
        "name",
        [
            "nope.txt",
            "..%2f..%2fsecret.key",
            "%2e%2e",
            "..%5c..%5csecret.key",
            "%00",
            "a.txt%00.png",
            "%2fetc%2fpasswd",
        ],
    )
    async def test_a_file_is_served_under_its_own_name_only(
        self, tenant: TenantWorld, owner: Account, name: str
    ) -> None:
        item = (await upload(owner.api, "a.txt", b"text")).json()
        assert (await tenant.guest.get(address(item, name))).status_code == 404

    @pytest.mark.parametrize(
        "path",
        ["/api/files/posts/abcdefghij01234/x", "/api/files/nope/x/y", "/api/files/media/%00/x"],
    )
    async def test_no_file_there(self, tenant: TenantWorld, path: str) -> None:
        assert (await tenant.guest.get(path)).status_code == 404

    async def test_another_tenants_host_does_not_serve_it(
        self, app: World, tenant: TenantWorld, owner: Account, other_tenant: TenantWorld
    ) -> None:
        item = (await upload(owner.api, "a.txt", b"text")).json()
        assert (await other_tenant.guest.get(address(item))).status_code == 404
        assert (await app.client().get(address(item))).content == b"text"

    async def test_the_stored_name_is_harmless(self, owner: Account) -> None:
        for name in ("../../etc/passwd", "a\\b\\c.txt", "C:\\x.png", ".htaccess", "x" * 400):
            stored = (await upload(owner.api, name, b"text")).json()["file"]
            assert "/" not in stored
            assert "\\" not in stored
            assert not stored.startswith(".")
            assert len(stored) < 256
