"""Static files have addresses that name their content, are compressed once and kept for good."""

from __future__ import annotations

import gzip
import re
import sys
from pathlib import Path

import httpx
import pytest
from tests.log_lines import capture_logs
from tests.web.routed import routed

from masthead.web.assets import Assets, UnknownAsset, assets_routes, content_policy
from masthead.web.compression import MIN_BYTES
from masthead.web.errors import MethodNotAllowed

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

STYLE = "body { color: #1d1b18 }\n" * 100


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "fonts").mkdir()
    (tmp_path / "fonts" / "serif.woff2").write_bytes(b"font" * 1000)
    (tmp_path / "site.css").write_text(STYLE + '@font-face { src: url("fonts/serif.woff2") }')
    (tmp_path / "small.js").write_text("1")
    return tmp_path


def client(*groups: Assets) -> httpx.AsyncClient:
    app = routed(assets_routes(*groups))
    transport = httpx.ASGITransport(app)
    return httpx.AsyncClient(transport=transport, base_url="http://blog.example.com")


async def raw(http: httpx.AsyncClient, url: str, accepted: str) -> tuple[httpx.Response, bytes]:
    async with http.stream("GET", url, headers={"accept-encoding": accepted}) as response:
        return response, b"".join([part async for part in response.aiter_raw()])


def test_an_address_holds_the_hash_of_the_content(folder: Path) -> None:
    before = Assets("plain", [folder])
    assert re.fullmatch(r"/assets/plain/site-[0-9a-f]{12}\.css", before.url("site.css"))
    (folder / "site.css").write_text("body {}")
    after = Assets("plain", [folder])
    assert after.url("site.css") != before.url("site.css")
    assert after.url("small.js") == before.url("small.js")


def test_a_style_sheet_names_its_files_by_their_hashed_addresses(folder: Path) -> None:
    assets = Assets("plain", [folder])
    sheet = assets.files[assets.url("site.css")].bodies[None].decode()
    assert f'url("{assets.url("fonts/serif.woff2")}")' in sheet
    (folder / "fonts" / "serif.woff2").write_bytes(b"another font")
    assert Assets("plain", [folder]).url("site.css") != assets.url("site.css")


def test_what_a_style_sheet_names_in_vain_is_logged(folder: Path) -> None:
    (folder / "site.css").write_text("body { background: url(gone.png) }")
    with capture_logs() as lines:
        Assets("plain", [folder])
    assert [(each["event"], each["file"]) for each in lines] == [("asset_not_found", "gone.png")]


def test_a_style_sheet_in_parts_is_sent_as_one(folder: Path) -> None:
    (folder / "site").mkdir()
    (folder / "site" / "base.css").write_text('a { src: url("../fonts/serif.woff2") }\n')
    (folder / "site" / "list.css").write_text("li { margin: 0 }\n")
    (folder / "site.css").write_text(
        '/* All. */\n@import "site/base.css";\n@import "site/list.css";\n'
    )
    assets = Assets("plain", [folder])
    font = assets.url("fonts/serif.woff2")
    sheet = assets.files[assets.url("site.css")].bodies[None].decode()
    assert sheet == f'/* All. */\na {{ src: url("{font}") }}\nli {{ margin: 0 }}\n'
    with pytest.raises(UnknownAsset):
        assets.url("site/base.css")


def test_a_part_may_be_replaced_or_come_from_the_assets_behind(
    folder: Path, tmp_path: Path
) -> None:
    (folder / "part.css").write_text("b { color: red }")
    (folder / "site.css").write_text('@import "part.css";\n')
    own = tmp_path / "own"
    own.mkdir()
    (own / "part.css").write_text("b { color: blue }")
    replaced = Assets("plain", [folder, own])
    assert replaced.files[replaced.url("site.css")].bodies[None] == b"b { color: blue }\n"

    (own / "part.css").unlink()
    (own / "theme.css").write_text('@import "part.css";\ni { color: green }')
    theme = Assets("harbour", [own], otherwise=Assets("plain", [folder]))
    sheet = theme.files[theme.url("theme.css")].bodies[None]
    assert sheet == b"b { color: red }\ni { color: green }"


@pytest.mark.parametrize(
    "line",
    [
        '@import "gone.css";',
        '@import "site.css";',
        '@import "part.css" print;',
        '@import "https://fonts.example/a.css";',
    ],
)
def test_what_is_not_a_part_is_left_to_the_browser(folder: Path, line: str) -> None:
    (folder / "part.css").write_text("b { color: red }")
    (folder / "site.css").write_text(line)
    assets = Assets("plain", [folder])
    assert assets.files[assets.url("site.css")].bodies[None] == line.encode()


def test_a_later_folder_replaces_files_of_the_same_name(folder: Path, tmp_path: Path) -> None:
    own = tmp_path / "own"
    own.mkdir()
    (own / "small.js").write_text("2")
    assets = Assets("plain", [folder, own])
    assert assets.files[assets.url("small.js")].bodies[None] == b"2"
    assert assets.url("site.css") == Assets("plain", [folder]).url("site.css")


def test_a_name_of_no_folder_comes_from_the_assets_behind(folder: Path, tmp_path: Path) -> None:
    behind = Assets("plain", [folder])
    assets = Assets("harbour", [tmp_path / "none"], otherwise=behind)
    assert assets.url("small.js") == behind.url("small.js")
    with pytest.raises(UnknownAsset, match=r"gone\.js"):
        assets.url("gone.js")


@pytest.mark.parametrize(
    ("accepted", "encoding"),
    [("zstd, gzip", "zstd"), ("gzip", "gzip"), ("gzip;q=1, zstd;q=0.5", "gzip"), ("", None)],
)
async def test_a_client_gets_the_encoding_that_it_prefers(
    folder: Path, accepted: str, encoding: str | None
) -> None:
    assets = Assets("plain", [folder])
    url = assets.url("site.css")
    response, body = await raw(client(assets), url, accepted)
    assert response.headers.get("content-encoding") == encoding
    assert response.headers["vary"] == "Accept-Encoding"
    assert int(response.headers["content-length"]) == len(body)
    decode = {"zstd": zstd.decompress, "gzip": gzip.decompress, None: bytes}[encoding]
    assert decode(body) == assets.files[url].bodies[None]


@pytest.mark.parametrize("lines", [100, 10_000])
async def test_a_file_is_compressed_when_it_is_first_asked_for(folder: Path, lines: int) -> None:
    (folder / "site.css").write_text("body { color: #1d1b18 }\n" * lines)
    assets = Assets("plain", [folder])
    url = assets.url("site.css")
    bodies = assets.files[url].bodies
    assert list(bodies) == [None]
    _, first = await raw(client(assets), url, "zstd")
    assert bodies == {None: (folder / "site.css").read_bytes(), "zstd": first}
    _, second = await raw(client(assets), url, "zstd")
    assert second == first


@pytest.mark.parametrize("name", ["fonts/serif.woff2", "small.js"])
async def test_fonts_and_tiny_files_are_sent_as_they_are(folder: Path, name: str) -> None:
    assets = Assets("plain", [folder])
    response, body = await raw(client(assets), assets.url(name), "zstd, gzip")
    assert "content-encoding" not in response.headers
    assert body == (folder / name).read_bytes()
    assert name == "fonts/serif.woff2" or len(body) < MIN_BYTES


@pytest.mark.parametrize(
    ("name", "content_type"),
    [
        ("site.css", "text/css; charset=utf-8"),
        ("small.js", "text/javascript; charset=utf-8"),
        ("fonts/serif.woff2", "font/woff2"),
    ],
)
async def test_browsers_keep_an_asset_for_good_and_trust_its_type(
    folder: Path, name: str, content_type: str
) -> None:
    assets = Assets("", [folder])
    response = await client(assets).get(assets.url(name))
    assert response.headers["content-type"] == content_type
    assert response.headers["cache-control"].startswith("public, max-age=31536000, immutable")
    assert response.headers["x-content-type-options"] == "nosniff"


async def test_head_tells_the_length_and_sends_nothing(folder: Path) -> None:
    assets = Assets("plain", [folder])
    http, url = client(assets), assets.url("fonts/serif.woff2")
    response = await http.head(url)
    assert (response.status_code, response.content) == (200, b"")
    assert response.headers["content-length"] == "4000"


@pytest.mark.parametrize(
    "path",
    [
        "/assets/",
        "/assets/plain/site.css",
        "/assets/plain/site-000000000000.css",
        "/assets/plain/..%2fsecret",
        "/assets/../../etc/passwd",
    ],
)
async def test_any_other_address_is_not_found(folder: Path, path: str) -> None:
    response = await client(Assets("plain", [folder])).get(path)
    assert response.status_code == 404


async def test_an_asset_can_only_be_read(folder: Path) -> None:
    assets = Assets("plain", [folder])
    with pytest.raises(MethodNotAllowed):
        await client(assets).post(assets.url("site.css"))


def test_a_link_out_of_the_folder_and_unknown_types_are_not_served(
    folder: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    secret = tmp_path_factory.mktemp("elsewhere") / "secret.txt"
    secret.write_text("secret")
    (folder / "notes.txt").symlink_to(secret)
    (folder / "page.html").write_text("<script>")
    (folder / ".hidden.css").write_text("")
    with capture_logs() as lines:
        assets = Assets("plain", [folder])
    events = sorted(each["event"] for each in lines)
    assert events == ["asset_of_unknown_type", "asset_outside_its_folder"]
    for name in ("notes.txt", "page.html", ".hidden.css"):
        with pytest.raises(UnknownAsset):
            assets.url(name)


def test_the_policy_takes_scripts_and_styles_from_the_assets_alone() -> None:
    policy = dict(
        each.split(" ", 1) for each in content_policy("https://blog.example.com/").split("; ")
    )
    assert policy["default-src"] == "'none'"
    assert policy["script-src"] == policy["style-src"] == "https://blog.example.com/assets/"
    assert policy["frame-ancestors"] == "'none'"
    assert "unsafe" not in str(policy)
    preview = content_policy("https://blog.example.com", frame_ancestors="'self'")
    assert preview.endswith("frame-ancestors 'self'")
