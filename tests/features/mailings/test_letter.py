"""The email of a post has what its reader may read, and the places of one recipient."""

from __future__ import annotations

import time
from typing import Any

import pytest
from tests.world import TenantWorld

from masthead.base.caller import Audience, Reader
from masthead.features.mailings.letter import Letter, Recipient, draw_letter
from masthead.features.mailings.letter_values import mailed_tokens
from masthead.features.site.address import Site

GATED = "<p>The opening.</p><!--members-only--><p>The secret rest.</p>"
NEWSLETTER: dict[str, Any] = {
    "slug": "main",
    "name": "Weekly",
    "description": "",
    "sender_name": "",
    "reply_to": "",
}


async def drawn(tenant: TenantWorld, audience: Audience, **values: Any) -> Letter:
    post = await tenant.published(**values)
    return await draw_letter(
        tenant.world.parts.records,
        tenant_id=tenant.id,
        site=Site("The Coast", "https://coast.example"),
        newsletter=NEWSLETTER,
        post=post,
        reader=Reader(audience),
    )


@pytest.mark.parametrize(
    ("visibility", "audience", "is_whole"),
    [
        ("public", Audience.FREE, True),
        ("members", Audience.FREE, True),
        ("paid", Audience.FREE, False),
        ("paid", Audience.PAID, True),
    ],
)
async def test_a_reader_gets_what_the_site_shows_to_them(
    tenant: TenantWorld, visibility: str, audience: Audience, is_whole: bool
) -> None:
    letter = await drawn(tenant, audience, visibility=visibility, content_html=GATED)
    for part in (letter.html, letter.text):
        assert "The opening." in part
        assert ("The secret rest." in part) is is_whole
        assert ("for paid members" in part) is not is_whole


async def test_scripts_are_not_mailed(tenant: TenantWorld) -> None:
    html = "<p>Text</p><script>alert(1)</script>"
    letter = await drawn(tenant, Audience.FREE, content_html=html)
    assert "alert" not in letter.html + letter.text


async def test_each_recipient_gets_their_own_values(tenant: TenantWorld) -> None:
    letter = await drawn(tenant, Audience.FREE, title="News & views")
    own = letter.for_recipient(
        Recipient("ada@example.com", "Ada <b>", "https://coast.example/u?email=a&token=t")
    )
    assert own.subject == "News & views"
    assert 'href="https://coast.example/u?email=a&amp;token=t"' in own.html
    assert "Unsubscribe: https://coast.example/u?email=a&token=t" in own.text
    assert "ada@example.com" in own.html
    assert "<b>" not in own.html


async def test_a_text_that_is_too_long_ends_with_a_link_to_the_rest(tenant: TenantWorld) -> None:
    html = "".join(f"<p>Paragraph {number}. {'word ' * 100}</p>" for number in range(2_000))
    letter = await drawn(tenant, Audience.FREE, title="Long", content_html=html, slug="long")
    assert letter.html_bytes < 1_000_000
    assert "Read the rest on the site: https://coast.example/posts/long" in letter.text
    assert "Paragraph 1999." not in letter.text


def test_a_long_text_is_read_no_further_than_it_is_mailed() -> None:
    html = f"<p>{'word ' * 20}</p>" * 5_000
    tokens, is_cut = mailed_tokens(html, has_page=True)
    assert is_cut
    assert tokens[-1] == ("end", "p", {})
    assert len(tokens) < 15_000
    # To read the rest, too, would take twenty times as long.
    assert mailing_seconds(html * 20) < 4 * mailing_seconds(html)

    # Without a page for the rest it is mailed as a whole.
    tokens, is_cut = mailed_tokens(html, has_page=False)
    assert (len(tokens), is_cut) == (15_000, False)


def mailing_seconds(html: str) -> float:
    """The least of several, of the processor."""
    found: list[float] = []
    for _ in range(5):
        began = time.thread_time()
        mailed_tokens(html, has_page=True)
        found.append(time.thread_time() - began)
    return min(found)


async def test_authors_can_make_no_placeholder_and_no_markup(tenant: TenantWorld) -> None:
    letter = await drawn(tenant, Audience.FREE, title="<b>{{ to }}</b>", excerpt="<script>")
    assert "&lt;b&gt;{{ to }}&lt;/b&gt;" in letter.html
    assert "<script>" not in letter.html


async def test_a_newsletter_has_its_own_look(tenant: TenantWorld) -> None:
    look = {
        "header_image": "/media/x/top.png",
        "accent_color": "#0044cc",
        "footer": "4 Harbour Row",
    }
    letter = await draw_letter(
        tenant.world.parts.records,
        tenant_id=tenant.id,
        site=Site("The Coast", "https://coast.example"),
        newsletter={**NEWSLETTER, **look},
        post=await tenant.published(content_html='<p><a href="/x">x</a></p>'),
        reader=Reader(Audience.FREE),
    )
    assert 'src="https://coast.example/media/x/top.png"' in letter.html
    assert "color: #0044cc" in letter.html
    assert "4 Harbour Row" in letter.html
    assert "4 Harbour Row" in letter.text
