"""WXR 1.2, the export format of WordPress, which most other platforms also import.

The line breaks are those of WordPress, because some importers are not XML parsers. Values that
WordPress has no field for are in `_masthead_…` post meta, which our own importer reads.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from email.utils import format_datetime
from html import escape
from typing import BinaryIO
from urllib.parse import quote, urljoin, urlsplit
from xml.sax.saxutils import quoteattr

from masthead.base import clock
from masthead.content.cards.exports import for_wordpress
from masthead.content.texts.languages import root_of
from masthead.content.texts.publication import PUBLISHED
from masthead.engine.records.collection import Record
from masthead.engine.records.write.slugs import slugify
from masthead.faces.site_export.archive import in_thread
from masthead.faces.site_export.content import Content, scheduled_for
from masthead.faces.site_export.media_links import MediaLink
from masthead.faces.site_export.tag_slugs import TagSlugs
from masthead.features.media.collection import file_names
from masthead.features.media.path import media_path
from masthead.features.media.signed_addresses import PARAMETER

NO_DATE = "0000-00-00 00:00:00"

_HEAD = """<?xml version="1.0" encoding="UTF-8" ?>
<rss version="2.0"
	xmlns:excerpt="http://wordpress.org/export/1.2/excerpt/"
	xmlns:content="http://purl.org/rss/1.0/modules/content/"
	xmlns:wfw="http://wellformedweb.org/CommentAPI/"
	xmlns:dc="http://purl.org/dc/elements/1.1/"
	xmlns:wp="http://wordpress.org/export/1.2/"
>
<channel>
	<title>{name}</title>
	<link>{url}</link>
	<description>{description}</description>
	<pubDate>{now}</pubDate>
	<wp:wxr_version>1.2</wp:wxr_version>
	<wp:base_site_url>{url}</wp:base_site_url>
	<wp:base_blog_url>{url}</wp:base_blog_url>
{authors}	<generator>Masthead</generator>
"""
_AUTHOR = """	<wp:author><wp:author_id>{number}</wp:author_id>\
<wp:author_login>{login}</wp:author_login>\
<wp:author_email>{email}</wp:author_email>\
<wp:author_display_name>{name}</wp:author_display_name>\
<wp:author_first_name><![CDATA[]]></wp:author_first_name>\
<wp:author_last_name><![CDATA[]]></wp:author_last_name>\
<wp:author_description>{bio}</wp:author_description></wp:author>
"""
_COMMENT = """		<wp:comment>
			<wp:comment_id>{number}</wp:comment_id>
			<wp:comment_author>{name}</wp:comment_author>
			<wp:comment_author_email>{email}</wp:comment_author_email>
			<wp:comment_author_url></wp:comment_author_url>
			<wp:comment_author_IP></wp:comment_author_IP>
			<wp:comment_date><![CDATA[{date}]]></wp:comment_date>
			<wp:comment_date_gmt><![CDATA[{date}]]></wp:comment_date_gmt>
			<wp:comment_content>{body}</wp:comment_content>
			<wp:comment_approved><![CDATA[{approved}]]></wp:comment_approved>
			<wp:comment_type><![CDATA[comment]]></wp:comment_type>
			<wp:comment_parent>{parent}</wp:comment_parent>
			<wp:comment_user_id>0</wp:comment_user_id>
{meta}		</wp:comment>
"""
_COMMENT_META = (
    "\t\t\t<wp:commentmeta><wp:meta_key><![CDATA[{key}]]></wp:meta_key>"
    "<wp:meta_value>{value}</wp:meta_value></wp:commentmeta>\n"
)
_APPROVED = {"approved": "1", "pending": "0", "spam": "spam"}
_ITEM = """	<item>
		<title>{title}</title>
		<link>{link}</link>
		<pubDate>{published}</pubDate>
		<dc:creator>{author}</dc:creator>
		<guid isPermaLink="false">{guid}</guid>
		<description></description>
		<content:encoded>{html}</content:encoded>
		<excerpt:encoded>{excerpt}</excerpt:encoded>
		<wp:post_id>{number}</wp:post_id>
		<wp:post_date><![CDATA[{date}]]></wp:post_date>
		<wp:post_date_gmt><![CDATA[{date_gmt}]]></wp:post_date_gmt>
		<wp:post_modified><![CDATA[{modified}]]></wp:post_modified>
		<wp:post_modified_gmt><![CDATA[{modified}]]></wp:post_modified_gmt>
		<wp:comment_status><![CDATA[open]]></wp:comment_status>
		<wp:ping_status><![CDATA[closed]]></wp:ping_status>
		<wp:post_name>{slug}</wp:post_name>
		<wp:status><![CDATA[{status}]]></wp:status>
		<wp:post_parent>0</wp:post_parent>
		<wp:menu_order>0</wp:menu_order>
		<wp:post_type><![CDATA[{kind}]]></wp:post_type>
		<wp:post_password><![CDATA[]]></wp:post_password>
		<wp:is_sticky>0</wp:is_sticky>
{more}	</item>
"""
_TAG = '\t\t<category domain="post_tag" nicename={slug}>{name}</category>\n'
_LANGUAGE = '\t\t<category domain="language" nicename={slug}>{name}</category>\n'
"""As the plugin Polylang has it."""
_META = (
    "\t\t<wp:postmeta>\n\t\t<wp:meta_key><![CDATA[{key}]]></wp:meta_key>\n"
    "\t\t<wp:meta_value>{value}</wp:meta_value>\n\t\t</wp:postmeta>\n"
)
_ATTACHMENT = "\t\t<wp:attachment_url>{url}</wp:attachment_url>\n"
_FOOT = "</channel>\n</rss>\n"

_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_ENTITY = re.compile(r"&(?=[#\w])")
_ESCAPED = re.compile("%[0-9A-F]{2}")


async def write_wxr(content: Content, file: BinaryIO) -> None:
    writer = _Writer(content, await content.writers())
    file.write(writer.head().encode())
    async for found in content.media():
        for item in found:
            file.write(writer.media(item).encode())
    for kind, texts in (("post", content.posts()), ("page", content.pages())):
        async for page in texts:
            known = await content.media_in(page)
            words = await content.comments_of(page) if kind == "post" else {}
            await in_thread(_write_texts, file, writer, kind, page, known=known, comments=words)
    file.write(_FOOT.encode())


def _write_texts(
    file: BinaryIO,
    writer: _Writer,
    kind: str,
    page: list[Record],
    *,
    known: Mapping[str, Record],
    comments: Mapping[str, list[Record]],
) -> None:
    for each in page:
        for written in writer.text(kind, each, known, comments.get(each["id"], ())):
            file.write(written.encode())


class _Writer:
    def __init__(self, content: Content, authors: Sequence[Record]) -> None:
        self._blog = content.blog
        self._signature_of = content.signature_of
        self._authors = authors
        self._logins = {each["id"]: each["slug"] or each["id"] for each in authors}
        self._last_comment = 0
        self._links = content.links
        self._tag_slugs = TagSlugs()
        self._last_number = 0
        self._attachments: dict[str, int] = {}
        """Numbers by address: a post refers to its picture by number."""

    def head(self) -> str:
        blog = self._blog
        return _HEAD.format(
            name=_escaped(blog.name),
            url=_escaped(blog.url),
            description=_escaped(blog.description),
            now=_rfc822(clock.from_text(blog.now)),
            authors="".join(self._author_elements()),
        )

    def _author_elements(self) -> Iterator[str]:
        """The site itself is the author of posts without one."""
        site = {"slug": self._blog.slug, "id": "", "email": "", "name": self._blog.name, "bio": ""}
        named = [] if self._blog.slug in self._logins.values() else [site]
        for number, each in enumerate((*named, *self._authors), start=1):
            yield _AUTHOR.format(
                number=number,
                login=_cdata(each["slug"] or each["id"]),
                email=_cdata(each["email"]),
                name=_text(each["name"]),
                bio=_text(each["bio"]),
            )

    def media(self, item: Record) -> str:
        address = self._media_address(item)
        self._attachments[address] = self._next_number()
        return self._attachment(address, item, item["alt"])

    def text(
        self,
        kind: str,
        record: Record,
        known: Mapping[str, Record],
        comments: Iterable[Record] = (),
    ) -> Iterator[str]:
        """The post or page, and its picture if that is not one of the tenant's media."""
        picture = self._picture(record, known)
        is_foreign = bool(picture) and picture not in self._attachments
        if is_foreign:
            self._attachments[picture] = self._next_number()
        number = self._next_number()
        text = self._links.replace(record["content_html"], known, self._absolute)
        more = [self._tag(name) for name in record["tags"]]
        if language := record["language"]:
            more.append(_LANGUAGE.format(slug=quoteattr(language.lower()), name=_text(language)))
        more += self._meta_of(record, self._attachments.get(picture))
        more += self._comments(comments)
        planned = scheduled_for(record, self._blog.now)
        logins = self._logins_of(record)
        yield self._item(
            record,
            number=number,
            kind=kind,
            title=_text(record["title"]),
            link=_escaped(self._address(kind, record, number)),
            guid=_escaped(f"{self._blog.url}/?masthead={record['id']}"),
            slug=_cdata(_percent(record["slug"])),
            status=self._status(record),
            html=_cdata(for_wordpress(text)),
            excerpt=_text(record["excerpt"]),
            more="".join(more),
            date=planned or record["published_at"],
            author=logins[0] if logins else self._blog.slug,
        )
        if is_foreign:
            yield self._attachment(picture, record, "")

    def _picture(self, record: Record, known: Mapping[str, Record]) -> str:
        """The absolute address of the featured image."""
        address = record["featured_image"]
        for link in self._links.find(address):
            item = known.get(link.media_id)
            if item is not None and link.name in file_names(item):
                return self._media_address(item)
        return urljoin(self._blog.url, address) if address else ""

    def _media_address(self, item: Record) -> str:
        address = self._blog.url + media_path(item["id"], item["file"])
        signature = self._signature_of(item)
        return f"{address}?{PARAMETER}={signature}" if signature else address

    def _absolute(self, link: MediaLink, item: Record) -> str:
        if link.name != item["file"] or self._signature_of(item):
            # Of a file that was replaced, or that is fetched by its signed address.
            return self._media_address(item)
        return f"{self._blog.url}{link.path}" if link.is_relative else link.written

    def _logins_of(self, record: Record) -> list[str]:
        return [self._logins[each] for each in record["authors"] if each in self._logins]

    def _comments(self, comments: Iterable[Record]) -> Iterator[str]:
        """Numbered in their order: WordPress wants an answer to have the higher number."""
        numbers: dict[str, int] = {}
        for each in comments:
            self._last_comment += 1
            numbers[each["id"]] = self._last_comment
            meta = {"_masthead_id": each["id"], "_masthead_created": each["created"]}
            yield _COMMENT.format(
                number=self._last_comment,
                name=_text(each["author_name"]),
                email=_cdata(each["author_email"]),
                date=_moment(each["created"]),
                body=_escaped_text(each["body"]),
                approved=_APPROVED[each["status"]],
                parent=numbers.get(each["parent_id"], 0),
                meta="".join(
                    _COMMENT_META.format(key=key, value=_cdata(value))
                    for key, value in meta.items()
                ),
            )

    def _address(self, kind: str, record: Record, number: int) -> str:
        if self._status(record) != "publish":
            return f"{self._blog.url}/?{'p' if kind == 'post' else 'page_id'}={number}"
        return f"{self._blog.url}{root_of(record['edition'])}/{kind}s/{quote(record['slug'])}"

    def _status(self, record: Record) -> str:
        if scheduled_for(record, self._blog.now):
            return "future"
        return "publish" if record["status"] == PUBLISHED else "draft"

    def _meta_of(self, record: Record, picture: int | None) -> Iterator[str]:
        planned = scheduled_for(record, self._blog.now)
        meta = {
            "_thumbnail_id": "" if picture is None else str(picture),
            "_yoast_wpseo_title": record["seo_title"],
            "_yoast_wpseo_metadesc": record["seo_description"],
            "_masthead_id": record["id"],
            "_masthead_visibility": record["visibility"],
            # A line for each, as names may have commas.
            "_masthead_tiers": "\n".join(record["tiers"]),
            "_masthead_email_only": "1" if record["email_only"] else "",
            # WordPress has no milliseconds.
            "_masthead_published_at": "" if planned else record["published_at"],
            "_masthead_scheduled_for": planned,
            # WordPress has one author for a post.
            "_masthead_authors": " ".join(self._logins_of(record)),
        }
        return (_META.format(key=key, value=_cdata(value)) for key, value in meta.items() if value)

    def _tag(self, name: str) -> str:
        return _TAG.format(slug=quoteattr(self._tag_slugs.of(name)), name=_text(name))

    def _attachment(self, url: str, record: Record, alt: str) -> str:
        name = urlsplit(url).path.rpartition("/")[2]
        made = record["created"]
        meta = {"_wp_attached_file": f"{made[:4]}/{made[5:7]}/{name}"}
        meta |= {"_wp_attachment_image_alt": alt} if alt else {}
        more = [_META.format(key=key, value=_cdata(value)) for key, value in meta.items()]
        return self._item(
            record,
            number=self._attachments[url],
            kind="attachment",
            title=_text(name),
            link=_escaped(url),
            guid=_escaped(url),
            slug=_cdata(slugify(name.partition(".")[0])),
            status="inherit",
            html=_cdata(""),
            excerpt=_cdata(""),
            more=_ATTACHMENT.format(url=_cdata(url)) + "".join(more),
            date=made,
            author=self._blog.slug,
        )

    def _item(self, record: Record, *, date: str, author: str, **written: str | int) -> str:
        modified = _moment(record["updated"])
        return _ITEM.format(
            author=_cdata(author),
            published=_rfc822(clock.from_text(date)) if date else "",
            # A draft has no date; WordPress shows when it was last modified.
            date=_moment(date) if date else modified,
            date_gmt=_moment(date) if date else NO_DATE,
            modified=modified,
            **written,
        )

    def _next_number(self) -> int:
        self._last_number += 1
        return self._last_number


def _cdata(text: str) -> str:
    allowed = _NOT_XML.sub("", text)
    return f"<![CDATA[{allowed.replace(']]>', ']]]]><![CDATA[>')}]]>"


def _text(plain: str) -> str:
    """Titles, excerpts and tag names are HTML in WordPress. Only the necessary characters are
    escaped, because some importers do not decode them."""
    return _cdata(_ENTITY.sub("&amp;", plain).replace("<", "&lt;").replace(">", "&gt;"))


def _escaped_text(text: str) -> str:
    """A text of several lines, as HTML with line ends."""
    return _cdata(text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;"))


def _escaped(text: str) -> str:
    return escape(_NOT_XML.sub("", text))


def _percent(slug: str) -> str:
    """As WordPress stores non-ASCII names: percent-encoded in lower case."""
    return _ESCAPED.sub(lambda found: found[0].lower(), quote(slug, safe="!$&'()*+,;=:@"))


def _moment(text: str) -> str:
    return f"{text[:10]} {text[11:19]}"


def _rfc822(moment: datetime) -> str:
    return format_datetime(moment)
