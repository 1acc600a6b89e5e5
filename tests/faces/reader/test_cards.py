"""Cards on the page of a post, in feeds and as Markdown; and which frames a page may have."""

from __future__ import annotations

import re
from html import unescape

from tests.content.cards.every_card import MASTODON, OWN_HTML, card, document, words
from tests.features.media.test_copies import photo, uploaded
from tests.world import Account, TenantWorld

PLAYER = "https://www.youtube-nocookie.com"


async def test_every_card_is_on_the_page_in_the_feeds_and_in_the_markdown(
    tenant: TenantWorld, owner: Account
) -> None:
    item = await uploaded(owner, photo((600, 400)))
    picture = f"/media/{item['id']}/{item['file']}"
    post = await tenant.published(title="Fog", content_json=document(picture))

    shown = await tenant.guest.get("/posts/fog")
    text = shown.text
    for part in (
        "<small>elsewhere.example</small>",
        '<aside data-card="callout" class="mh-card mh-callout"><p class="mh-emoji">💡</p>',
        "<summary>How does it work?</summary>",
        '<a href="https://elsewhere.example/buy">Buy the book</a>',
        '<audio src="https://files.example/horn.mp3" controls="" preload="none">',
        f'poster="{picture}"',
        "<small>123 KB</small>",
        '<a href="/member/sign-up?back=/posts/fog">Join the coast</a>',
        "<figcaption>Four of them</figcaption>",
    ):
        assert part in text
    # Four pictures are two rows of two, each with its proportions.
    rows = re.findall(r'<div class="mh-row">(.*?)</div>', text)
    assert [re.findall(r"ratio-(\d+)", row) for row in rows] == [["15", "7"], ["10", "20"]]
    # The player's address is in the source of its frame, which is a link; no frame loads it.
    assert f'src="{PLAYER}' not in text
    [source] = re.findall(r'srcdoc="([^"]*)"', text)
    assert f'<a href="{PLAYER}/embed/dQw4w9WgXcQ?autoplay=1">' in unescape(source)
    assert f"frame-src 'self' {PLAYER};" in shown.headers["content-security-policy"]
    assert "<script>document" not in text
    [address] = re.findall(rf'src="(/share/html/posts/{post["id"]}/[0-9a-f]+)"', text)
    framed = await tenant.guest.get(address)
    assert OWN_HTML in framed.text
    assert framed.headers["content-security-policy"].startswith("sandbox allow-scripts ")
    assert "allow-same-origin" not in framed.headers["content-security-policy"]

    feed = (await tenant.guest.get("/feed.json")).json()["items"][0]["content_html"]
    url = feed.partition('">See this part on the site</a>')[0].rpartition('href="')[2]
    assert url.endswith("/posts/fog")
    for part in ("Vote here", "Join the coast", "The horn", "A film", "Four of them", "Mind the"):
        assert part in feed
    for part in ("<script", "<iframe", "data-", "class="):
        assert part not in feed

    markdown = (await tenant.guest.get("/posts/fog.md")).text
    for part in (
        "> 💡 Mind the tide.",
        "**How does it work?**\n\nIt opens.",
        "[Buy the book](<https://elsewhere.example/buy>)",
        "[Tides](<https://files.example/tides.pdf>) (123 KB)",
        "[The horn](<https://files.example/horn.mp3>)",
        "Vote here",
        "![Four](<http",
    ):
        assert part in markdown
    assert "<script" not in markdown


async def test_a_page_names_only_the_frames_that_it_has(tenant: TenantWorld) -> None:
    none = {"type": "doc", "content": [words("Nothing.")]}
    await tenant.published(title="None", content_json=none)
    post = {"type": "doc", "content": [card("embed", url=MASTODON, title="A post")]}
    await tenant.published(title="Post", content_json=post)
    policy = (await tenant.guest.get("/posts/none")).headers["content-security-policy"]
    assert "frame-src 'self';" in policy
    policy = (await tenant.guest.get("/posts/post")).headers["content-security-policy"]
    assert "frame-src 'self' https://social.example;" in policy
    # An answer from the cache has the same.
    again = (await tenant.guest.get("/posts/post")).headers["content-security-policy"]
    assert again == policy


async def test_a_hostile_address_gets_no_frame(tenant: TenantWorld) -> None:
    """Its host would end up in the page's policy."""
    addresses = [
        "https://a;script-src *@social.example/@ada/109876543210987654",
        "https://social.example;img-src x/@ada/109876543210987654",
        "https://social.example,x/w/9c9de5e8b7d4a4aa2b1c3d",
    ]
    content = [card("embed", url=each) for each in addresses]
    await tenant.published(title="Hostile", content_json={"type": "doc", "content": content})
    shown = await tenant.guest.get("/posts/hostile")
    assert "<iframe" not in shown.text
    assert "frame-src 'self';" in shown.headers["content-security-policy"]


async def test_html_behind_the_paywall_is_for_those_who_may_read_it(
    tenant: TenantWorld,
) -> None:
    paywall = {"type": "paywall"}
    content = [words("Open."), paywall, card("html", html=OWN_HTML)]
    await tenant.published(
        title="Closed", visibility="paid", content_json={"type": "doc", "content": content}
    )
    reader = (await tenant.member(tier="paid")).api
    post = (await reader.get("/posts/closed")).text
    [address] = re.findall(r'src="(/share/html/posts/[^"]+)"', post)
    assert (await reader.get(address)).status_code == 200
    assert (await tenant.guest.get(address)).status_code == 404
    assert "/share/html/" not in (await tenant.guest.get("/posts/closed")).text
    for other in (
        address[:-1] + ("0" if address[-1] != "0" else "1"),
        address.replace("/posts/", "/tags/"),
        "/share/html/posts/aaaaaaaaaaaaaaa/0123456789abcdef",
    ):
        assert (await reader.get(other)).status_code == 404
