"""Generated exports and their pictures, the same every time."""

from __future__ import annotations

import io
import json
import random
import struct
import zlib
from collections.abc import Iterator
from html import escape
from pathlib import Path

from PIL import Image

from bench.data import words

_HEAD = """<?xml version="1.0" encoding="UTF-8" ?>
<rss version="2.0"
\txmlns:excerpt="http://wordpress.org/export/1.2/excerpt/"
\txmlns:content="http://purl.org/rss/1.0/modules/content/"
\txmlns:dc="http://purl.org/dc/elements/1.1/"
\txmlns:wp="http://wordpress.org/export/1.2/"
>
<channel>
\t<title>The old blog</title>
\t<link>{site}</link>
\t<wp:wxr_version>1.2</wp:wxr_version>
\t<wp:base_site_url>{site}</wp:base_site_url>
\t<wp:base_blog_url>{site}</wp:base_blog_url>
"""
_ITEM = """\t<item>
\t\t<title><![CDATA[{title}]]></title>
\t\t<link>{site}/{year}/05/{slug}/</link>
\t\t<pubDate>Wed, 01 May {year} 10:00:00 +0000</pubDate>
\t\t<dc:creator><![CDATA[editor]]></dc:creator>
\t\t<guid isPermaLink="false">{site}/?p={number}</guid>
\t\t<description></description>
\t\t<content:encoded><![CDATA[{body}]]></content:encoded>
\t\t<excerpt:encoded><![CDATA[]]></excerpt:encoded>
\t\t<wp:post_id>{number}</wp:post_id>
\t\t<wp:post_date><![CDATA[{year}-05-01 12:00:00]]></wp:post_date>
\t\t<wp:post_date_gmt><![CDATA[{year}-05-01 10:00:00]]></wp:post_date_gmt>
\t\t<wp:comment_status><![CDATA[open]]></wp:comment_status>
\t\t<wp:ping_status><![CDATA[open]]></wp:ping_status>
\t\t<wp:post_name><![CDATA[{slug}]]></wp:post_name>
\t\t<wp:status><![CDATA[publish]]></wp:status>
\t\t<wp:post_parent>0</wp:post_parent>
\t\t<wp:menu_order>0</wp:menu_order>
\t\t<wp:post_type><![CDATA[post]]></wp:post_type>
\t\t<wp:post_password><![CDATA[]]></wp:post_password>
\t\t<wp:is_sticky>0</wp:is_sticky>
\t\t<category domain="category" nicename="news"><![CDATA[News]]></category>
\t\t<category domain="post_tag" nicename="t{tag}"><![CDATA[Tag {tag}]]></category>
\t\t<wp:postmeta>
\t\t\t<wp:meta_key><![CDATA[_edit_last]]></wp:meta_key>
\t\t\t<wp:meta_value><![CDATA[1]]></wp:meta_value>
\t\t</wp:postmeta>
\t</item>
"""


def write_wxr(path: Path, posts: int, *, site: str, pictures: int = 0) -> None:
    """About 4.5 KB per post; the pictures are distributed over the posts."""
    source = random.Random(posts)
    each = pictures // posts
    with path.open("w", encoding="utf-8") as file:
        file.write(_HEAD.format(site=site))
        for number in range(1, posts + 1):
            shown = range((number - 1) * each, number * each)
            body = "\n\n".join((*_blocks(source), *_wordpress_pictures(site, shown)))
            file.write(
                _ITEM.format(
                    title=words(source, 5).title(),
                    site=site,
                    year=2010 + number % 15,
                    slug=f"post-{number}",
                    number=number,
                    body=body,
                    tag=number % 60,
                )
            )
        file.write("</channel>\n</rss>\n")


def _blocks(source: random.Random) -> Iterator[str]:
    for _ in range(5):
        yield f"<!-- wp:heading -->\n<h2>{words(source, 4)}</h2>\n<!-- /wp:heading -->"
        text = f"{words(source, 50)} <strong>{words(source, 3)}</strong> {words(source, 50)}"
        yield f"<!-- wp:paragraph -->\n<p>{text}.</p>\n<!-- /wp:paragraph -->"


def _wordpress_pictures(site: str, numbers: range) -> Iterator[str]:
    for number in numbers:
        address = f"{site}/wp-content/uploads/{number}.png"
        yield (
            f'<!-- wp:image {{"id":{number}}} -->\n<figure class="wp-block-image">'
            f'<img src="{address}" alt="Picture {number}"/></figure>\n<!-- /wp:image -->'
        )


def write_ghost(path: Path, posts: int) -> None:
    """About 10 KB per post, as in Ghost: the editor's document, HTML and plain text."""
    source = random.Random(posts)
    rows = [_ghost_post(source, number) for number in range(1, posts + 1)]
    tags = [{"id": f"t{n}", "name": f"Tag {n}", "slug": f"tag-{n}"} for n in range(60)]
    links = [
        {"id": f"l{n}", "post_id": row["id"], "tag_id": f"t{n % 60}", "sort_order": 0}
        for n, row in enumerate(rows)
    ]
    data = {"posts": rows, "tags": tags, "posts_tags": links}
    export = {"db": [{"meta": {"exported_on": 0, "version": "5.80.0"}, "data": data}]}
    path.write_text(json.dumps(export), encoding="utf-8")


def _ghost_post(source: random.Random, number: int) -> dict[str, object]:
    texts = [words(source, 60) for _ in range(7)]
    at = f"{2010 + number % 15}-05-01T10:00:00.000Z"
    return {
        "id": f"{number:024x}",
        "uuid": f"{number:032x}",
        "title": words(source, 5).title(),
        "slug": f"post-{number}",
        "mobiledoc": None,
        "lexical": json.dumps(_lexical(texts)),
        "html": "".join(f"<p>{escape(text)}</p>" for text in texts),
        "plaintext": "\n".join(texts),
        "feature_image": None,
        "featured": 0,
        "type": "post",
        "status": "published",
        "visibility": "public",
        "created_at": at,
        "updated_at": at,
        "published_at": at,
        "custom_excerpt": texts[0][:120],
    }


def _lexical(texts: list[str]) -> dict[str, object]:
    same = {"direction": "ltr", "format": "", "indent": 0, "version": 1}
    lines = [
        {"children": [{"text": text, "type": "extended-text"}], "type": "paragraph", **same}
        for text in texts
    ]
    return {"root": {"children": lines, "type": "root", **same}}


class Pictures:
    """PNG files of some 60 KB, each with a different comment."""

    def __init__(self) -> None:
        noise = Image.frombytes("RGB", (160, 120), random.Random(1).randbytes(160 * 120 * 3))
        out = io.BytesIO()
        noise.save(out, "PNG")
        self._file = out.getvalue()

    def __getitem__(self, number: int) -> bytes:
        note = b"tEXtComment\x00" + str(number).encode()
        chunk = struct.pack(">I", len(note) - 4) + note + struct.pack(">I", zlib.crc32(note))
        # Before the twelve bytes of the last chunk.
        return self._file[:-12] + chunk + self._file[-12:]
