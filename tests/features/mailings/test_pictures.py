"""A letter with any picture is drawn: of every size and kind, foreign, and deleted."""

from __future__ import annotations

import re
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import pytest
from PIL import Image
from tests.faces.admin.visitor import OWN, staff
from tests.features.mailings.conftest import MAILINGS, Press
from tests.features.mailings.sound import problems
from tests.features.media.pictures import picture, saved
from tests.outside.mail.offices import text_of
from tests.v1.keys import key_client
from tests.world import TenantWorld

from masthead.base.caller import Audience, Reader
from masthead.features.mailings.digests import Digests
from masthead.features.mailings.letter import Letter, draw_letter
from masthead.features.site.address import Site

SITE = "https://coast.example"
WIDE = 3_000
NEWSLETTER: dict[str, Any] = {"slug": "main", "name": "Weekly"}


def svg(attributes: str) -> bytes:
    return f'<svg xmlns="http://www.w3.org/2000/svg" {attributes}><path d="M0 0"/></svg>'.encode()


class Case(NamedTuple):
    name: str
    content: bytes
    thumb: str
    """The size in the address that is mailed."""
    width: str
    """As it is shown."""
    height: str | None


CASES = [
    Case("tiny.png", picture("PNG", (10, 10)), "", "10", "10"),
    Case("small.jpg", picture("JPEG", (536, 40)), "", "536", "40"),
    Case("most.jpg", picture("JPEG", (1200, 60)), "", "536", "27"),
    Case("wider.jpg", picture("JPEG", (1201, 60)), "?thumb=1200x0", "536", "27"),
    Case("camera.jpg", picture("JPEG", (6000, 4000)), "?thumb=1200x0", "536", "357"),
    Case("line.png", picture("PNG", (6000, 1)), "?thumb=1200x0", "536", "1"),
    Case("tower.png", picture("PNG", (20, 6000)), "", "20", "6000"),
    Case("wide.webp", picture("WEBP", (WIDE, 30)), "?thumb=1200x0", "536", "5"),
    Case("moving.gif", saved(Image.new("P", (WIDE, 30)), "GIF"), "", "536", "5"),
    Case("wide.svg", svg('width="3000" height="30"'), "", "536", "5"),
    Case("unsized.svg", svg(""), "", "536", None),
    Case("broken.png", picture("PNG", (2_000, 20))[:20], "", "536", None),
]


async def uploaded(tenant: TenantWorld, content: bytes, name: str) -> dict[str, Any]:
    api = await key_client(tenant)
    answer = await api.post("/api/v1/media", files={"file": (name, content)})
    assert answer.status_code == 201, answer.text
    item: dict[str, Any] = answer.json()["data"]
    return item


async def path_of(tenant: TenantWorld, content: bytes, name: str) -> str:
    return urlsplit((await uploaded(tenant, content, name))["url"]).path


async def drawn(tenant: TenantWorld, **values: Any) -> Letter:
    look = {"header_image": values.pop("header_image", "")}
    return await draw_letter(
        tenant.world.parts.records,
        tenant_id=tenant.id,
        site=Site("The Coast", SITE),
        newsletter={**NEWSLETTER, **look},
        post=await tenant.published(**values),
        reader=Reader(Audience.FREE),
    )


def images(html: str) -> list[dict[str, str]]:
    return [
        dict(re.findall(r'(\w+)="([^"]*)"', image)) for image in re.findall(r"<img\b[^>]*>", html)
    ]


@pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])
async def test_a_picture_of_the_site(tenant: TenantWorld, case: Case) -> None:
    path = await path_of(tenant, case.content, case.name)
    letter = await drawn(tenant, content_html=f'<p><img src="{path}" alt="Tide"></p>')
    assert problems(letter) == []
    [shown] = images(letter.html)
    assert shown["src"] == f"{SITE}{path}{case.thumb}"
    assert (shown["width"], shown.get("height")) == (case.width, case.height)
    opened = await tenant.guest.get(f"{path}{case.thumb}")
    assert opened.status_code == 200


@pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])
async def test_around_the_text(tenant: TenantWorld, case: Case) -> None:
    path = await path_of(tenant, case.content, case.name)
    letter = await drawn(tenant, featured_image=path, header_image=path)
    assert [each["src"] for each in images(letter.html)] == [f"{SITE}{path}{case.thumb}"] * 2


@pytest.mark.parametrize(
    "address",
    [
        "https://pictures.example/wide.jpg",
        "//pictures.example/wide.jpg",
        "https://pictures.example/media/aaaaaaaaaaaaaaa/wide.jpg",
        "/media/aaaaaaaaaaaaaaa/never.jpg",
        "/media/wrong/never.jpg",
        "/never.jpg?size=3000#top",
    ],
)
async def test_a_picture_that_the_site_does_not_have(tenant: TenantWorld, address: str) -> None:
    html = f'<p><img src="{address}"></p><p><img src="{address}" width="3000" height="30"></p>'
    letter = await drawn(tenant, content_html=html, header_image=address)
    assert [each["width"] for each in images(letter.html)] == ["600", "536", "536"]


async def test_a_deleted_and_a_replaced_file(tenant: TenantWorld) -> None:
    owner, _ = await staff(tenant, "owner")
    kept = await uploaded(tenant, picture("JPEG", (WIDE, 30)), "first.jpg")
    form = {"form_token": await owner.token()}
    new = {"file": ("second.jpg", picture("JPEG", (WIDE, 60)))}
    url = f"/admin/media/{kept['id']}/file"
    answer = await owner.api.post(url, data=form, files=new, headers=OWN)
    assert answer.status_code == 303, answer.text
    gone = await uploaded(tenant, picture("JPEG", (WIDE, 30)), "gone.jpg")
    api = await key_client(tenant)
    assert (await api.delete(f"/api/v1/media/{gone['id']}")).status_code == 204
    addresses = [urlsplit(each["url"]).path for each in (kept, gone)]
    html = "".join(f'<p><img src="{each}"></p>' for each in addresses)
    replaced, deleted = images((await drawn(tenant, content_html=html)).html)
    assert replaced["src"].endswith(".jpg?thumb=1200x0")
    assert addresses[0] not in replaced["src"]
    assert deleted["src"] == f"{SITE}{addresses[1]}"


class TestEveryWay:
    """A picture as a camera makes it, in each email that shows one."""

    async def test_the_publish_dialog_the_preview_and_the_test(self, press: Press) -> None:
        await press.readers(1)
        path = await path_of(press.tenant, picture("JPEG", (WIDE, 30)), "camera.jpg")
        post = await press.tenant.post(
            content_html=f'<p><img src="{path}"></p>', featured_image=path
        )
        owner, account = await staff(press.tenant, "owner")
        own = f"/admin/posts/{post['id']}"
        for page in ("publish?to=both", "email", "email/page"):
            assert (await owner.get(f"{own}/{page}")).status_code == 200
        page = (await owner.get(f"{own}/email/page")).text
        assert page.count(f"{path}?thumb=1200x0") == 2
        body = {"post_id": post["id"], "to": account.email}
        answer = await press.api.post(f"{MAILINGS}/test", json=body)
        assert answer.status_code == 202, answer.text

    async def test_the_mailing(self, press: Press) -> None:
        await press.readers(1)
        path = await path_of(press.tenant, picture("JPEG", (WIDE, 30)), "camera.jpg")
        post = await press.tenant.published(content_html=f'<p><img src="{path}"></p>')
        mailing = await press.mail(post)
        await press.send()
        assert (await press.state(mailing))["status"] == "sent"
        [letter] = press.postbox.letters
        assert f"{path}?thumb=1200x0" in text_of(letter, "html")

    async def test_a_digest(self, press: Press) -> None:
        await press.readers(1)
        path = await path_of(press.tenant, picture("JPEG", (WIDE, 30)), "camera.jpg")
        parts = press.world.parts
        newsletters = press.world.collection("newsletters")
        [main] = await parts.records.find(newsletters, {}, tenant_id=press.tenant.id)
        digest = {"digest": True, "digest_weekday": "friday", "digest_hour": 9}
        await press.tenant.update("newsletters", main["id"], digest)
        await press.tenant.published(featured_image=path)
        press.world.clock.advance(days=7)
        await Digests(parts.records, parts.mailings.starting).start_due()
        await press.send()
        [letter] = press.postbox.letters
        assert f"{path}?thumb=1200x0" in text_of(letter, "html")

    async def test_a_welcome_email(self, press: Press) -> None:
        path = await path_of(press.tenant, picture("JPEG", (WIDE, 30)), "camera.jpg")
        welcome = {"kind": "free", "is_on": True, "subject": "Welcome"}
        welcome["content_html"] = f'<p><img src="{path}"></p>'
        await press.tenant.create("welcome_emails", welcome)
        await press.tenant.member(verified=True)
        for _ in range(2):
            await press.send()
        [letter] = press.postbox.letters
        assert f"{path}?thumb=1200x0" in text_of(letter, "html")
