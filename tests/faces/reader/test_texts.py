"""The page of a post shows its text with pictures in the size of the screen, coloured code, and
links in place of players."""

from __future__ import annotations

import asyncio
import html as entities
import re
import tracemalloc
from collections.abc import Coroutine
from typing import Any

import pygments.plugin
import pytest
from tests.faces.reader.test_pages import page
from tests.features.media.test_copies import photo, uploaded
from tests.features.privacy.requests import run_jobs
from tests.world import Account, TenantWorld, World, records_of

from masthead.content.html.markup import escaped
from masthead.faces.reader.code_blocks import MAX_BLOCKS, MAX_CHARACTERS, MAX_LINE, Coloured

MEDIA = records_of("media")
IMAGE = re.compile(r"<img[^>]+>")
# Pygments' expression for such a text tries all ways to cut the digits, which are 2^40.
ENDLESS = "echo $'" + "\\1" * 40


class TestPictures:
    async def test_a_picture_in_a_text_comes_in_the_size_of_the_screen(
        self, app: World, tenant: TenantWorld, owner: Account
    ) -> None:
        item = await uploaded(owner, photo((1000, 500)))
        path = f"/media/{item['id']}/{item['file']}"
        await tenant.published(title="Fog", content_html=f'<p>x</p><img src="{path}" alt="Fog">')
        await run_jobs(app)
        text = await page(tenant, "/posts/fog")
        assert (
            f'<source type="image/avif" srcset="{path}/480.avif 480w, {path}/800.avif 800w, '
            f'{path}/1000.avif 1000w" sizes="(min-width: 712px) 640px, 100vw">'
        ) in text
        assert f"{path}/480.webp 480w" in text
        assert text.index("image/avif") < text.index("image/webp") < text.index(f'src="{path}"')
        [shown] = IMAGE.findall(text)
        for part in ('width="1000"', 'height="500"', 'alt="Fog"'):
            assert part in shown

    async def test_before_the_worker_came_by_the_original_is_shown_with_its_size(
        self, tenant: TenantWorld, owner: Account
    ) -> None:
        item = await uploaded(owner, photo((1000, 500)))
        path = f"/media/{item['id']}/{item['file']}"
        await tenant.published(title="Fog", content_html=f'<img src="{path}">')
        text = await page(tenant, "/posts/fog")
        assert "<source" not in text
        assert f'src="{path}" width="1000" height="500"' in text

    async def test_a_page_shows_the_copies_as_soon_as_they_are_made(
        self, app: World, tenant: TenantWorld, owner: Account
    ) -> None:
        item = await uploaded(owner, photo((1000, 500)))
        url = f"/media/{item['id']}/{item['file']}"
        await tenant.published(title="Fog", featured_image=url)
        assert "<source" not in await page(tenant, "/")
        await run_jobs(app)
        assert f"{url}/480.avif 480w" in await page(tenant, "/")

    @pytest.mark.parametrize(
        ("given", "shown"),
        [
            ("", ("1000", "500")),
            ('width="300"', ("300", "150")),
            ('height="100"', ("200", "100")),
            ('width="300" height="300"', ("300", "300")),
        ],
    )
    async def test_the_size_is_always_there(
        self, tenant: TenantWorld, owner: Account, given: str, shown: tuple[str, str]
    ) -> None:
        item = await uploaded(owner, photo((1000, 500)))
        html = f'<img {given} src="/media/{item["id"]}/{item["file"]}">'
        await tenant.published(title="Fog", content_html=html)
        [found] = IMAGE.findall(await page(tenant, "/posts/fog"))
        assert f'width="{shown[0]}"' in found
        assert f'height="{shown[1]}"' in found

    async def test_the_first_picture_is_loaded_first_and_the_others_late(
        self, tenant: TenantWorld
    ) -> None:
        html = '<p>x</p><img src="/a.png"><img src="/b.png">'
        await tenant.published(title="Text only", content_html=html)
        await tenant.published(title="With lead", content_html=html, featured_image="/l.png")
        far = f'<p>{"x " * 400}</p><img src="/a.png">'
        await tenant.published(title="Far down", content_html=far)
        first, second = IMAGE.findall(await page(tenant, "/posts/text-only"))
        assert 'fetchpriority="high"' in first
        assert 'loading="lazy"' not in first
        assert 'loading="lazy"' in second
        lead, first, second = IMAGE.findall(await page(tenant, "/posts/with-lead"))
        assert 'fetchpriority="high"' in lead
        assert 'loading="lazy"' in first
        [only] = IMAGE.findall(await page(tenant, "/posts/far-down"))
        assert 'loading="lazy"' in only

    async def test_the_focus_of_a_picture_is_a_class(
        self, tenant: TenantWorld, owner: Account
    ) -> None:
        item = await uploaded(owner, photo((1000, 500)))
        answer = await owner.api.patch(
            f"{MEDIA}/{item['id']}", json={"focus_x": 24, "focus_y": 100}
        )
        assert answer.status_code == 200, answer.text
        url = f"/media/{item['id']}/{item['file']}"
        await tenant.published(title="Fog", featured_image=url)
        text = await page(tenant, "/")
        assert '<img class="focus-x2 focus-y10"' in text
        assert "style=" not in text

    async def test_a_face_is_a_thumb(self, tenant: TenantWorld, owner: Account) -> None:
        item = await uploaded(owner, photo((1000, 500)))
        url = f"/media/{item['id']}/{item['file']}"
        author = {"email": "nell@example.com", "name": "Nell", "role": "author", "picture": url}
        nell = await tenant.create("_superusers", author)
        await tenant.published(title="Fog", authors=[nell["id"]])
        assert f'src="{url}?thumb=100x100"' in await page(tenant, "/posts/fog")
        text = await page(tenant, "/authors/nell")
        assert f'src="{url}?thumb=400x400"' in text
        assert re.search(rf'og:image" content="https?://[^"/]+{re.escape(url)}', text)

    async def test_a_file_of_another_site_with_the_same_id_is_not_ours(
        self, app: World, tenant: TenantWorld, owner: Account
    ) -> None:
        item = await uploaded(owner, photo((1000, 500)))
        foreign = f"https://other.example/media/{item['id']}/other.jpg"
        await tenant.published(title="Fog", content_html=f'<img src="{foreign}">')
        await run_jobs(app)
        text = await page(tenant, "/posts/fog")
        assert f'src="{foreign}"' in text
        assert item["file"] not in text


class TestCode:
    async def test_code_of_a_named_language_has_colours(self, tenant: TenantWorld) -> None:
        html = '<pre><code class="language-python">def f(x):\n  return "a&lt;b"  # no</code></pre>'
        await tenant.published(title="Code", content_html=html)
        text = await page(tenant, "/posts/code")
        assert '<code class="language-python"><span class="k">def </span>' in text
        assert '<span class="f">f</span>' in text
        assert '<span class="s">&quot;a&lt;b&quot;' in text
        assert '<span class="c"># no</span>' in text

    @pytest.mark.parametrize(
        "html",
        [
            "<pre><code>def f(): pass</code></pre>",
            '<pre><code class="language-nothing-known">def f(): pass</code></pre>',
            '<pre><code class="language-python">def <b>f</b>(): pass</code></pre>',
            f'<pre><code class="language-python">{"x = 1; " * MAX_LINE}</code></pre>',
            '<pre><code class="language-python">' + "x = 1\n" * MAX_CHARACTERS + "</code></pre>",
        ],
        ids=["no-language", "unknown", "with-tags", "long-line", "long"],
    )
    async def test_other_code_stays_as_it_is(self, tenant: TenantWorld, html: str) -> None:
        await tenant.published(title="Code", content_html=html)
        text = await page(tenant, "/posts/code")
        assert "<span" not in text[text.index("<pre") : text.index("</pre>")]

    @pytest.mark.parametrize(
        "language",
        ["python", "html", "js", "css", "rust", "diff", "console", "yaml", "json", "php", "sql"],
    )
    def test_the_text_of_the_code_is_never_changed(self, language: str) -> None:
        for code in ("\n\n  a\n", "\t<b>&amp;</b>", "\r\nx", "'''\"\"\"\\", "ünï🙂<!--\xa0"):
            plain = re.sub(r"</?span[^>]*>", "", Coloured().block(language, code))
            assert entities.unescape(plain) == code

    async def test_an_expression_that_never_ends_holds_up_nobody(self, tenant: TenantWorld) -> None:
        html = f'<pre><code class="language-bash">{ENDLESS}</code></pre>'
        await tenant.published(title="Slow", content_html=html)
        text = await page(tenant, "/posts/slow")
        assert f'<code class="language-bash">{escaped(ENDLESS)}</code></pre>' in text

    def test_all_blocks_of_a_page_share_a_time(self) -> None:
        coloured = Coloured()
        assert coloured.block("bash", ENDLESS) == escaped(ENDLESS)
        assert "<span" not in coloured.block("python", "def f(): pass")
        assert "<span" in Coloured().block("python", "def f(): pass")

    def test_a_page_colours_a_limited_number_of_blocks(self) -> None:
        coloured = Coloured()
        shown = [coloured.block("python", "pass") for _ in range(MAX_BLOCKS + 1)]
        assert ["<span" in each for each in shown] == [True] * MAX_BLOCKS + [False]

    def test_installed_packages_are_not_searched_for_a_language(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        searches: list[str] = []

        def searched(group: str) -> list[object]:
            searches.append(group)
            return []

        monkeypatch.setattr(pygments.plugin, "iter_entry_points", searched)
        for number in range(MAX_BLOCKS):
            assert Coloured().block(f"unknown-{number}", "pass") == "pass"
        assert searches == []


class TestEmbeds:
    @pytest.mark.parametrize(
        ("html", "kind", "address"),
        [
            (
                '<iframe src="https://www.youtube.com/embed/dQw4w9WgXcQ"></iframe>',
                "Video on YouTube",
                "https://www.youtube.com/watch?v=dQw4w9WgXcQ",
            ),
            (
                '<p><a href="https://open.spotify.com/a">https://open.spotify.com/a</a></p>',
                "Sound on Spotify",
                "https://open.spotify.com/a",
            ),
            (
                '<iframe src="//maps.example.org/x"></iframe>',
                "Page on maps.example.org",
                "https://maps.example.org/x",
            ),
        ],
    )
    async def test_a_player_is_a_link_that_asks_nobody(
        self, tenant: TenantWorld, html: str, kind: str, address: str
    ) -> None:
        await tenant.published(title="Film", content_html=f"<p>See:</p>{html}<p>So.</p>")
        text = await page(tenant, "/posts/film")
        assert f'<p class="embed"><a href="{address}" rel="noopener"><b>{kind}</b>' in text
        assert "<iframe" not in text
        assert "</span></a></p><p>So.</p>" in text

    @pytest.mark.parametrize(
        "html",
        [
            '<p>See <a href="https://x.com/a">https://x.com/a</a></p>',
            '<p><a href="https://x.com/a">this post</a></p>',
            '<p><a href="/about">/about</a></p>',
            '<p><a href="mailto:a@example.com">mailto:a@example.com</a></p>',
            '<p><a href="https://x.com/a">https://x.com/a</a> and more</p>',
        ],
    )
    async def test_a_link_in_a_sentence_stays_a_link(self, tenant: TenantWorld, html: str) -> None:
        await tenant.published(title="Film", content_html=html)
        assert html in await page(tenant, "/posts/film")


async def test_addresses_in_a_feed_are_whole(tenant: TenantWorld) -> None:
    html = '<p><a href="/about">About</a> <a href="#n">n</a><img src="/media/a.png"></p>'
    await tenant.published(title="Fog", content_html=html)
    [item] = (await tenant.guest.get("/feed.json")).json()["items"]
    base = item["url"].partition("/posts/")[0]
    assert base.startswith("http")
    assert f'href="{base}/about"' in item["content_html"]
    assert f'src="{base}/media/a.png"' in item["content_html"]
    assert 'href="#n"' in item["content_html"]


class TestLongTexts:
    @pytest.mark.sweep
    async def test_those_that_are_asked_for_at_once_need_the_memory_of_one(
        self, tenant: TenantWorld
    ) -> None:
        """The parts of a text need many times its memory, so the next is read after it."""
        # Different posts: a page that was made is kept.
        for number in range(8):
            html = "<p><b>a</b> <i>b</i></p>" * 12_000
            await tenant.published(title=f"Long {number}", content_html=html)
        await page(tenant, "/posts/long-0")
        alone = await most_memory(page(tenant, "/posts/long-1"))
        together = (page(tenant, f"/posts/long-{number}") for number in range(2, 8))
        assert await most_memory(*together) < 2 * alone

    @pytest.mark.sweep
    async def test_very_long_ones_hold_up_only_each_other(self, tenant: TenantWorld) -> None:
        for title, times in (("Book", 120_000), ("Chapter", 3_000)):
            await tenant.published(title=title, content_html="<p>a <b>b</b></p>" * times)
        ended: list[str] = []

        async def read(slug: str) -> None:
            await page(tenant, f"/posts/{slug}")
            ended.append(slug)

        await asyncio.gather(read("book"), read("chapter"))
        assert ended == ["chapter", "book"]


async def most_memory(*work: Coroutine[Any, Any, Any]) -> int:
    """The most that Python's objects took meanwhile."""
    tracemalloc.start()
    try:
        await asyncio.gather(*work)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
