"""Pages to read from disk: complete, safe, and linked to each other."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path, PurePosixPath

import pytest
from tests.faces.site_export.filled import Filled, entries, export, picture
from tests.world import TenantWorld

from masthead.faces.site_export.archive import LONGEST_NAME, file_stem


class Links(HTMLParser):
    """Every address on a page."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.found: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.found += [value or "" for name, value in attributes if name in ("href", "src")]


def resolved(page: str, address: str) -> str:
    parts: list[str] = []
    for part in (PurePosixPath(page).parent / address).parts:
        parts = parts[:-1] if part == ".." else [*parts, part]
    return "/".join(parts)


@pytest.fixture
async def found(filled: Filled, tmp_path: Path) -> dict[str, bytes]:
    await filled.export("html", tmp_path / "site.zip")
    return entries(tmp_path / "site.zip")


async def test_a_page_for_every_text_and_all_media(found: dict[str, bytes], filled: Filled) -> None:
    über = filled.posts["über-uns"]["id"]
    assert set(found) == {
        "index.html",
        "style.css",
        "posts/tea-toast-for-two.html",
        f"posts/uber-uns-{über}.html",
        "posts/for-members.html",
        "posts/a-draft.html",
        "posts/later.html",
        "posts/empty.html",
        "pages/about-us.html",
        f"media/{filled.picture['id']}/{filled.picture['file']}",
        f"media/{filled.notes['id']}/{filled.notes['file']}",
    }
    assert found[f"media/{filled.picture['id']}/{filled.picture['file']}"] == picture()


async def test_every_link_of_ours_leads_to_a_file(found: dict[str, bytes]) -> None:
    for name, data in found.items():
        if name.endswith(".html"):
            for address in Links(data.decode()).found:
                if not address.startswith("https://pictures.example/"):
                    assert resolved(name, address) in found, (name, address)


async def test_the_index_lists_every_text_and_says_what_readers_do_not_see(
    found: dict[str, bytes],
) -> None:
    index = found["index.html"].decode()
    listed = re.findall(r'<li><a href="([^"]+)">([^<]+)</a>(.*?)</li>', index)
    notes = {
        title: "".join(re.findall(r'class="note">([^<]+)<', rest)) for _, title, rest in listed
    }
    assert notes == {
        "Tea &amp; &#34;toast&#34; &lt;for two&gt;": "",
        "Über uns": "for paid members",
        "For members": "for members",
        "A draft": "draft",
        "Later": "scheduled",
        "Empty": "",
        "About us": "",
    }
    assert index.index("<h2>Posts</h2>") < index.index("<h2>Pages</h2>") < index.index("About us")


async def test_a_page_shows_its_text(found: dict[str, bytes]) -> None:
    page = found["posts/tea-toast-for-two.html"].decode()
    assert "<h1>Tea &amp; &#34;toast&#34; &lt;for two&gt;</h1>" in page
    assert "Short &amp; &lt;sweet&gt;" in page
    assert '<time datetime="2025-03-04T05:06:07.089Z">2025-03-04</time>' in page
    assert "<p>One\ntwo</p>" in page


async def test_no_address_of_a_member_is_in_it(found: dict[str, bytes]) -> None:
    assert not any(b"@example.com" in data for data in found.values())


HOSTILE = """<p onclick="alert(1)">Hello</p><script>alert(2)</script>
<a href="javascript:alert(3)">a</a> <a href=" DaTa:text/html,alert(4)">b</a>
<a href="&#1;da&Tab;ta:text/html,6">c</a> <q cite=" data:text/html,7">d</q>
<img src=" data:text/html,8" srcset="data:text/html,9 2x"> <a href="/x" rel="opener">e</a>
<video src="&#9;data:text/html,10" poster=" data:text/html,11"></video>
<img src=x onerror=alert(5)> <iframe src="https://player.example/v"></iframe>
<style>body{display:none}</style><form action="/x"><input name=a></form>
<base href="https://evil.example/"><meta http-equiv="refresh" content="0;url=//evil.example">"""


async def test_nothing_on_a_page_can_act(tenant: TenantWorld, tmp_path: Path) -> None:
    await tenant.post(title="<script>alert(0)</script>", slug="x", content_html=HOSTILE)
    await export(tenant, "html", tmp_path / "site.zip")
    found = entries(tmp_path / "site.zip")
    for name in ("posts/x.html", "index.html"):
        page = found[name].decode().lower()
        body = page[page.index("<body>") :]
        assert not re.search(r"<(script|iframe|style|form|input|base|meta|object)", body)
        assert not re.search(r"\son\w+=|javascript:|data:text|\bopener\b", body)
    # What would have played is still there to be visited.
    assert 'href="https://player.example/v"' in found["posts/x.html"].decode()


async def test_links_within_the_site_work_without_it(tenant: TenantWorld, tmp_path: Path) -> None:
    await tenant.post(title="Other", slug="other")
    html = (
        f'<a href="/posts/other">1</a><a href="http://{tenant.host}/posts/other/#there">2</a>'
        '<a href="/member/sign-up">3</a><a href="#here">4</a><img src="/logo.png">'
        '<img src="x" srcset="/a.png 1x, https://far.example/b.png 2x">'
    )
    await tenant.post(title="One", slug="one", content_html=html)
    await export(tenant, "html", tmp_path / "site.zip")
    page = entries(tmp_path / "site.zip")["posts/one.html"].decode()
    assert 'href="../posts/other.html"' in page
    assert 'href="../posts/other.html#there"' in page
    assert f'href="http://{tenant.host}/member/sign-up"' in page
    assert 'href="#here"' in page
    assert f'src="http://{tenant.host}/logo.png"' in page
    assert f'srcset="http://{tenant.host}/a.png 1x, https://far.example/b.png 2x"' in page


ID = "i" * 15


@pytest.mark.parametrize(
    ("slug", "stem"),
    [
        ("hello-world", "hello-world"),
        ("..", f"untitled-{ID}"),
        ("a:b*c", f"a-b-c-{ID}"),
        ("Hello", f"hello-{ID}"),
        ("nul", f"nul-{ID}"),
        ("com1", f"com1-{ID}"),
        ("x" * 255, f"{'x' * 84}-{ID}"),
        ("日本", f"riben-{ID}"),
        (".htaccess", f"htaccess-{ID}"),
    ],
)
def test_a_file_name_is_safe_on_any_system(slug: str, stem: str) -> None:
    assert file_stem(slug, ID) == stem
    assert len(stem) <= LONGEST_NAME


def test_a_slug_that_looks_like_one_of_ours_can_not_take_its_place() -> None:
    one, other = "a" * 15, "b" * 15
    assert file_stem("Hello", one) != file_stem(f"hello-{one}", other)
