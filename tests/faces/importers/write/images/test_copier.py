"""Pictures of imported posts become the site's own media, each once."""

from __future__ import annotations

import asyncio
import base64
import io
from typing import Any

import pytest
from PIL import Image
from tests.faces.importers.write.images.conftest import MakeCopier
from tests.features.media.pictures import GPS_PART, exif, picture
from tests.outside.outbound.names import NameServer
from tests.tls import Behaviour, Exchange, Receiver, answer, cut, flood, redirect
from tests.world import TenantWorld

from masthead.faces.importers.convert.image_urls import ImageRef, find_pictures
from masthead.faces.importers.write.images.archived import Archive
from masthead.faces.importers.write.images.copying import ImageCopier
from masthead.outside.outbound.downloads import MAX_PER_HOST

PNG = picture("PNG")
HTML_PAGE = b"<!doctype html><title>Not found</title>"


def refs(site: Receiver, *paths: str, source_id: str = "1") -> list[ImageRef]:
    return find_pictures(paths, site.url(""), source_id)


async def media_of(tenant: TenantWorld) -> list[dict[str, Any]]:
    owner = await tenant.owner()
    found = await owner.api.get("/api/collections/media/records?perPage=100")
    items: list[dict[str, Any]] = found.json()["items"]
    return items


async def served(tenant: TenantWorld, url: str) -> bytes:
    answer = await tenant.guest.get(url.removeprefix(f"http://{tenant.host}"))
    assert answer.status_code == 200
    return answer.content


def reasons(copier: ImageCopier) -> list[tuple[str, str]]:
    return [(failure.source_id, failure.reason) for failure in copier.failures]


async def test_a_picture_is_copied_like_an_upload(
    make_copier: MakeCopier, tenant: TenantWorld, old_site: Receiver
) -> None:
    old_site.at("/wp-content/My%20Photo.png", answer(200, PNG, Content_Type="text/html"))
    copier = make_copier()
    mapping = await copier.copy(refs(old_site, "/wp-content/My Photo.png"))
    (item,) = await media_of(tenant)
    assert mapping == {"/wp-content/My Photo.png": f"/media/{item['id']}/{item['file']}"}
    assert (item["filename"], item["mime_type"]) == ("My Photo.png", "image/png")
    assert (item["width"], item["height"], item["size"]) == (64, 48, len(PNG))
    assert await served(tenant, item["url"]) == PNG
    assert (copier.copied, copier.failures) == (1, [])
    assert "media.uploaded" not in await tenant.event_names()


async def test_events_are_told_where_they_are_wanted(
    make_copier: MakeCopier, tenant: TenantWorld, old_site: Receiver
) -> None:
    old_site.default = answer(200, PNG)
    await make_copier(emit_events=True).copy(refs(old_site, "/a.png"))
    assert (await tenant.event_names()).count("media.uploaded") == 1


async def test_all_sizes_lead_to_one_copy(
    make_copier: MakeCopier, tenant: TenantWorld, old_site: Receiver
) -> None:
    old_site.at("/wp-content/a.png", answer(200, PNG))
    paths = ["/wp-content/a-300x200.png", "/wp-content/a.png", "/wp-content/a-scaled.png"]
    mapping = await make_copier().copy(refs(old_site, *paths))
    assert set(mapping) == set(paths)
    assert len(set(mapping.values())) == 1
    assert [request.path for request in old_site.requests] == ["/wp-content/a.png"]


async def test_where_the_original_is_gone_the_size_that_is_shown_is_copied(
    make_copier: MakeCopier, tenant: TenantWorld, old_site: Receiver
) -> None:
    old_site.at("/wp-content/a.png", answer(200, HTML_PAGE))
    old_site.at("/wp-content/a-300x200.png", answer(200, PNG))
    copier = make_copier()
    mapping = await copier.copy(refs(old_site, "/wp-content/a-300x200.png"))
    assert await served(tenant, mapping["/wp-content/a-300x200.png"]) == PNG
    assert copier.failures == []


async def test_a_second_run_asks_nobody(
    make_copier: MakeCopier, tenant: TenantWorld, old_site: Receiver
) -> None:
    old_site.default = answer(200, PNG)
    # Two addresses with the same content: one media item.
    wanted = refs(old_site, "/a.png", "/b.png")
    first = await make_copier().copy(wanted)
    assert len(set(first.values())) == 1
    assert len(await media_of(tenant)) == 1
    await old_site.refuse()
    copier = make_copier()
    assert await copier.copy(wanted) == first
    assert (copier.copied, copier.failures) == (0, [])


async def test_one_batch_after_the_other(
    make_copier: MakeCopier, tenant: TenantWorld, old_site: Receiver
) -> None:
    old_site.at("/a.png", answer(200, PNG))
    copier = make_copier()
    first = await copier.copy(refs(old_site, "/a.png", "/gone.png"))
    assert await copier.copy(refs(old_site, "/a.png", "/gone.png", source_id="2")) == first
    assert len(old_site.requests) == 2
    assert reasons(copier) == [
        ("1", "The server answered 404."),
        ("2", "The server answered 404."),
    ]


async def test_what_was_deleted_here_is_copied_again(
    make_copier: MakeCopier, tenant: TenantWorld, old_site: Receiver
) -> None:
    old_site.default = answer(200, PNG)
    wanted = refs(old_site, "/a.png")
    first = await make_copier().copy(wanted)
    (item,) = await media_of(tenant)
    owner = await tenant.owner()
    await owner.api.delete(f"/api/collections/media/records/{item['id']}")
    second = await make_copier().copy(wanted)
    assert second.keys() == first.keys()
    assert second != first
    assert await served(tenant, second["/a.png"]) == PNG


async def test_tenants_do_not_share(
    make_copier: MakeCopier, tenant: TenantWorld, other_tenant: TenantWorld, old_site: Receiver
) -> None:
    old_site.default = answer(200, PNG)
    wanted = refs(old_site, "/a.png")
    mine = await make_copier().copy(wanted)
    theirs = await make_copier(other_tenant).copy(wanted)
    for owner, places in ((tenant, mine), (other_tenant, theirs)):
        (item,) = await media_of(owner)
        assert places == {"/a.png": f"/media/{item['id']}/{item['file']}"}


async def test_pictures_inside_of_an_address(make_copier: MakeCopier, tenant: TenantWorld) -> None:
    url = f"data:image/png;base64,{base64.b64encode(PNG).decode()}"
    spaced = url[:40] + "%0A " + url[40:]
    broken = ["data:image/png;base64,@@@", "data:image/png", "data:image/png,text"]
    copier = make_copier()
    mapping = await copier.copy(find_pictures([url, spaced, *broken], "", "1"))
    assert mapping.keys() == {url, spaced}
    assert await served(tenant, mapping[url]) == PNG
    assert len(await media_of(tenant)) == 1
    assert reasons(copier) == [
        ("1", "The picture in the address is not base64."),
        ("1", "The picture in the address is cut off."),
        ("1", "The file at this address is not a picture."),
    ]


async def test_pictures_that_came_with_the_export(
    make_copier: MakeCopier, tenant: TenantWorld, old_site: Receiver
) -> None:
    def read(entry: str) -> bytes:
        if entry == "bad.png":
            raise OSError("cut off")
        return {"zip/content/images/a b.png": PNG}[entry]

    files = {
        "/content/images/a b.png": "zip/content/images/a b.png",
        "/content/bad.png": "bad.png",
        "/content/lost.png": "lost.png",
    }
    copier = make_copier(archive=Archive(files, read))
    urls = ["/content/images/a%20b.png", "/content/images/size/w600/a b.png"]
    mapping = await copier.copy(
        [
            *refs(old_site, *urls),
            *find_pictures(["/content/bad.png", "/content/lost.png", "/nowhere.png"], "", "2"),
        ]
    )
    assert mapping.keys() == set(urls)
    assert await served(tenant, mapping[urls[0]]) == PNG
    assert old_site.requests == []
    assert reasons(copier) == [
        ("2", "The file in the archive can't be read: cut off"),
        ("2", "It can't be copied (KeyError)."),
        ("2", "The address is relative, and the export has no site address."),
    ]


async def test_the_place_where_it_was_taken_is_removed(
    make_copier: MakeCopier, tenant: TenantWorld, old_site: Receiver
) -> None:
    photo = picture("JPEG", exif=exif(orientation=6))
    assert b"SECRET" in photo
    old_site.default = answer(200, photo)
    mapping = await make_copier().copy(refs(old_site, "/a.jpg"))
    kept = await served(tenant, mapping["/a.jpg"])
    assert b"SECRET" not in kept
    assert not Image.open(io.BytesIO(kept)).getexif().get_ifd(GPS_PART)


async def test_drawings_are_cleaned(
    make_copier: MakeCopier, tenant: TenantWorld, old_site: Receiver
) -> None:
    drawing = b'<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script><g/></svg>'
    old_site.at("/a.svg", answer(200, drawing))
    old_site.at("/b.svg", answer(200, drawing[:-10]))
    copier = make_copier()
    mapping = await copier.copy(refs(old_site, "/a.svg", "/b.svg"))
    assert b"script" not in await served(tenant, mapping["/a.svg"])
    assert "not well-formed" in reasons(copier)[0][1]


async def test_failures_that_pass(
    make_copier: MakeCopier, tenant: TenantWorld, old_site: Receiver
) -> None:
    old_site.next(answer(500), answer(429, Retry_After="1"), cut, answer(503), answer(200, PNG))
    copier = make_copier()
    assert (await copier.copy(refs(old_site, "/a.png"))).keys() == {"/a.png"}
    assert copier.failures == []


@pytest.mark.parametrize(
    ("behaviour", "reason"),
    [
        (answer(404), "The server answered 404."),
        (answer(200, HTML_PAGE), "The file at this address is not a picture."),
        (answer(200), "The file at this address is not a picture."),
        (flood(), "The file has more than 52428800 bytes."),
        (
            redirect("http://169.254.169.254/latest/meta-data/"),
            "address that this service does not",
        ),
        (redirect("http://10.0.0.1/"), "address that this service does not"),
        (redirect("http://inside.hooks.test/"), "address that this service does not"),
        (redirect("file:///etc/passwd"), "Must start with http:// or https://."),
        (redirect("/again.png"), "redirects too often"),
    ],
    ids=["gone", "page", "empty", "flood", "metadata", "private", "name", "file", "circle"],
)
async def test_failures_that_stay_are_listed(
    make_copier: MakeCopier,
    tenant: TenantWorld,
    old_site: Receiver,
    names: NameServer,
    behaviour: Behaviour,
    reason: str,
) -> None:
    names.tell("inside.hooks.test", ["192.168.0.1"])
    old_site.default = behaviour
    old_site.at("/good.png", answer(200, PNG))
    copier = make_copier()
    mapping = await copier.copy(refs(old_site, "/a.png", "/good.png", source_id="42"))
    assert mapping.keys() == {"/good.png"}
    (failure,) = copier.failures
    assert (failure.source_id, failure.url) == ("42", "/a.png")
    assert reason in failure.reason
    assert len(await media_of(tenant)) == 1


@pytest.mark.parametrize(
    "url",
    [
        "http://127.0.0.1/a.png",
        "http://169.254.169.254/latest/meta-data/",
        "http://[::1]/a.png",
        "http://2130706433/a.png",
        "http://0x7f.1/a.png",
        "http://localhost/a.png",
        "http://inside.hooks.test/a.png",
        "http://both.hooks.test/a.png",
        "http://user:pass@a.example/a.png",
        "http://a.example:22/a.png",
        "http://a.example:99999/a.png",
        "http://[bad",
    ],
)
async def test_addresses_that_are_never_called(
    make_copier: MakeCopier, tenant: TenantWorld, names: NameServer, url: str
) -> None:
    names.tell("localhost", ["127.0.0.1"])
    names.tell("inside.hooks.test", ["10.1.2.3"])
    # Public at the first look, and inside at the next.
    names.tell("both.hooks.test", ["93.184.216.34", "127.0.0.1"], ["127.0.0.1"])
    names.tell("a.example", ["93.184.216.34"])
    copier = make_copier(is_strict=True)
    assert await copier.copy(find_pictures([url], "", "1")) == {}
    assert [failure.url for failure in copier.failures] == [url]
    assert await media_of(tenant) == []


async def test_a_few_at_a_time(
    make_copier: MakeCopier, tenant: TenantWorld, old_site: Receiver
) -> None:
    others = asyncio.Event()

    async def together(exchange: Exchange) -> None:
        # Nobody is answered before as many as may come at once have come.
        if old_site.most_at_once == MAX_PER_HOST:
            others.set()
        await others.wait()
        width = int(exchange.request.path.strip("/").removesuffix(".png"))
        await answer(200, picture("PNG", (width, 10)))(exchange)

    old_site.default = together
    paths = [f"/{width}.png" for width in range(10, 40)]
    copier = make_copier()
    mapping = await copier.copy(refs(old_site, *paths))
    assert len(set(mapping.values())) == copier.copied == len(paths)
    assert old_site.most_at_once == MAX_PER_HOST


async def test_the_same_content_at_the_same_time_is_stored_once(
    make_copier: MakeCopier, tenant: TenantWorld, old_site: Receiver
) -> None:
    old_site.default = answer(200, PNG)
    copier = make_copier()
    mapping = await copier.copy(refs(old_site, *(f"/{number}.png" for number in range(20))))
    assert len(set(mapping.values())) == 1
    assert copier.copied == 1
