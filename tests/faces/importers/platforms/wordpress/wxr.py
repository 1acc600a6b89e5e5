"""Small exports, written as WordPress writes them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

from masthead.faces.importers.platforms.wordpress.source import open_wordpress
from masthead.faces.importers.source import Options, Skipped, SourcePost

HEAD = """<?xml version="1.0" encoding="UTF-8" ?>
<!-- generator="WordPress/6.7" created="2025-03-02 09:15" -->
<rss version="2.0"
\txmlns:excerpt="http://wordpress.org/export/{version}/excerpt/"
\txmlns:content="http://purl.org/rss/1.0/modules/content/"
\txmlns:dc="http://purl.org/dc/elements/1.1/"
\txmlns:wp="http://wordpress.org/export/{version}/"
>
<channel>
\t<title>The Blog</title>
\t<link>https://old.example.com</link>
\t<description>All about it</description>
\t<wp:wxr_version>{version}</wp:wxr_version>
\t<wp:base_site_url>https://example.com</wp:base_site_url>
\t<wp:base_blog_url>https://old.example.com/</wp:base_blog_url>
"""
TAIL = "</channel>\n</rss>\n"


def cdata(text: str) -> str:
    return "<![CDATA[" + text.replace("]]>", "]]]]><![CDATA[>") + "]]>"


def item(
    content: str = "<p>Text</p>",
    *,
    post_id: int | str | None = 5,
    title: str = "A title",
    excerpt: str = "",
    terms: Iterable[tuple[str, str]] = (),
    meta: Mapping[str, str] | None = None,
    link: str = "https://old.example.com/2024/05/a-title/",
    guid: str = "https://old.example.com/?p=5",
    pub_date: str = "",
    raw: str = "",
    **fields: str,
) -> str:
    """`fields` are those of `wp:`; None or '' leaves an element out."""
    wp = {
        "post_id": "" if post_id is None else str(post_id),
        "post_date": "2024-05-01 12:00:00",
        "post_date_gmt": "2024-05-01 10:00:00",
        "post_name": "a-title",
        "status": "publish",
        "post_type": "post",
        "post_password": "",
        **fields,
    }
    lines = [
        f"<title>{cdata(title)}</title>",
        f"<link>{link}</link>",
        f"<guid isPermaLink='false'>{guid}</guid>",
        f"<pubDate>{pub_date}</pubDate>" if pub_date else "",
        f"<content:encoded>{cdata(content)}</content:encoded>",
        f"<excerpt:encoded>{cdata(excerpt)}</excerpt:encoded>",
        *(f"<wp:{name}>{cdata(value)}</wp:{name}>" for name, value in wp.items() if value),
        *(f'<category domain="{domain}">{cdata(name)}</category>' for domain, name in terms),
        *(
            f"<wp:postmeta><wp:meta_key>{cdata(key)}</wp:meta_key>"
            f"<wp:meta_value>{cdata(value)}</wp:meta_value></wp:postmeta>"
            for key, value in (meta or {}).items()
        ),
        raw,
    ]
    return "<item>\n" + "\n".join(f"\t{line}" for line in lines if line) + "\n</item>\n"


def attachment(
    number: int, url: str, *, alt: str = "", caption: str = "", title: str = "", parent: int = 0
) -> str:
    return item(
        "",
        post_id=number,
        title=title,
        excerpt=caption,
        meta={"_wp_attachment_image_alt": alt} if alt else None,
        status="inherit",
        post_type="attachment",
        post_parent=str(parent),
        attachment_url=url,
    )


def wxr(*items: str, version: str = "1.2") -> str:
    return HEAD.format(version=version) + "".join(items) + TAIL


def write(path: Path, *items: str) -> Path:
    path.write_text(wxr(*items), encoding="utf-8")
    return path


def read(path: Path, options: Options | None = None) -> list[SourcePost | Skipped]:
    source = open_wordpress(path, options or Options())
    try:
        return list(source.posts())
    finally:
        source.close()


def only_post(path: Path, *items: str, options: Options | None = None) -> SourcePost:
    (post,) = (
        each
        for each in read(write(path / "export.xml", *items), options)
        if isinstance(each, SourcePost)
    )
    return post
