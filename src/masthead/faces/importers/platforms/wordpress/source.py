"""Opens a WordPress export: one pass over all of it, then a stream of its posts."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from masthead.base.languages.words import staff_words
from masthead.engine.records.fields.text import is_web_address
from masthead.engine.records.read.plain_text import plain_text
from masthead.faces.importers.files.export_files import Files, open_files
from masthead.faces.importers.old_paths import base_path
from masthead.faces.importers.platforms.wordpress.addresses import (
    attachment_addresses,
    author_addresses,
    date_addresses,
    feed_addresses,
    has_list,
    month_of,
    term_addresses,
)
from masthead.faces.importers.platforms.wordpress.attachments import ALT, as_number
from masthead.faces.importers.platforms.wordpress.authors import author_id, author_of
from masthead.faces.importers.platforms.wordpress.clean_xml import NOT_WXR
from masthead.faces.importers.platforms.wordpress.dates import Offsets
from masthead.faces.importers.platforms.wordpress.items import MAX_TERMS, Channel, Term, read_items
from masthead.faces.importers.platforms.wordpress.posts import META, Posts, Site, is_content
from masthead.faces.importers.source import (
    BadFile,
    OldAddress,
    Options,
    Overview,
    Skipped,
    SourceAuthor,
    SourceComment,
    SourceMember,
    SourcePost,
)

GENERATOR: Final = "Masthead"
_EXPORTS: Final = (".xml", ".wxr", ".rss", ".xml.gz", ".wxr.gz")
_UPLOADS: Final = "wp-content/uploads/"
_VERSION: Final = re.compile(r"1\.[0-9]{1,2}")
_REUSABLE: Final = "wp_block"
_MAX_REUSABLE: Final = 5_000_000
_MAX_FILE: Final = 50 * 1024**2


def open_wordpress(path: Path, options: Options) -> WordPress:
    """A WXR file, or a zip or folder of them. Raises `BadFile` for any damage here, before the
    first post is written."""
    files = open_files(path)
    try:
        names = _exports(files)
        site = _first_pass(files, names)
    except BaseException:
        files.close()
        raise
    return WordPress(files, names, site, options)


class WordPress:
    """The `Source` of a WordPress export. It has no members: only authors and commenters."""

    overview: Overview

    def __init__(self, files: Files, names: list[str], site: Site, options: Options) -> None:
        self._files = files
        self._names = names
        self._site = site
        self._options = options
        self.overview = Overview(
            platform="wordpress",
            site_url=site.url or options.site_url,
            posts=0 if options.skip_posts else site.items,
            members=0,
            comments=site.comments if options.include_comments else 0,
            left_out=_left_out(site, options),
            files=_uploads(files),
        )

    def posts(self) -> Iterator[SourcePost | Skipped]:
        if self._options.skip_posts:
            return
        posts = Posts(self._site, self._options)
        for name in self._names:
            with self._files.open(name) as stream:
                for item in read_items(stream, Channel(), meta=META, with_content=True):
                    if is_content(item):
                        yield posts.of(item)

    def authors(self) -> Iterator[SourceAuthor | Skipped]:
        authors = self._site.authors_by_login.values()
        return iter(authors if self._options.include_authors else ())

    def members(self) -> Iterator[SourceMember | Skipped]:
        return iter(())

    def comments(self) -> Iterator[SourceComment | Skipped]:
        if not self._options.include_comments:
            return
        posts = Posts(self._site, self._options)
        for name in self._names:
            with self._files.open(name) as stream:
                items = read_items(
                    stream, Channel(), meta=META, with_content=True, with_comments=True
                )
                for item in items:
                    yield from posts.comments_of(item)

    def addresses(self) -> Iterator[OldAddress]:
        site = self._site
        if self._options.skip_posts or site.is_ours:
            return
        base = base_path(self.overview.site_url)
        yield from feed_addresses(base)
        yield from date_addresses(base, site.months)
        yield from term_addresses(base, site.terms)
        yield from author_addresses(base, site.author_numbers)
        yield from attachment_addresses(base, site.attachments)

    def read_file(self, entry: str) -> bytes:
        return self._files.read(entry, _MAX_FILE)

    def close(self) -> None:
        self._files.close()


def _exports(files: Files) -> list[str]:
    """A large site is exported in several files, sorted by name."""
    if files.is_single:
        return list(files.sizes)
    names = [name for name in files.sizes if name.lower().endswith(_EXPORTS)]
    if not names:
        raise BadFile(staff_words("There is no WordPress export (.xml) in it."))
    return names


def _first_pass(files: Files, names: list[str]) -> Site:
    site = Site()
    offsets = Offsets()
    has_reusable = False
    for name in names:
        channel = Channel()
        with files.open(name) as stream:
            for item in read_items(stream, channel, meta=frozenset({ALT}), with_content=False):
                site.items += is_content(item)
                site.comments += item.comment_count
                offsets.add(item)
                if item.get("post_type") == "attachment":
                    site.attachments.add(item)
                has_reusable |= item.get("post_type") == _REUSABLE
                if month := month_of(item):
                    site.months.add(month)
                _add_terms(site, item.categories)
        # All parts of a large export list the same authors.
        site.authors = max(site.authors, channel.authors)
        for fields in channel.author_fields:
            login = author_id(fields.get("author_login", ""))
            site.authors_by_login.setdefault(login, author_of(fields))
            site.author_numbers.setdefault(login, fields.get("author_id", ""))
        _add_terms(site, channel.terms)
        _check_version(channel)
        _describe(site, channel)
    if site.is_ours:
        _leave_out_the_site_itself(site)
    site.offset = offsets.usual()
    if has_reusable:
        site.reusable = _reusable_blocks(files, names)
    return site


def _leave_out_the_site_itself(site: Site) -> None:
    """In our own exports, it is the author of posts without one."""
    for login, author in list(site.authors_by_login.items()):
        if isinstance(author, Skipped):
            del site.authors_by_login[login]
    site.authors = len(site.authors_by_login)


def _add_terms(site: Site, terms: list[Term]) -> None:
    """The list of the channel says more of a term than the items do, and may be missing."""
    for term in terms:
        key = (term.domain, term.slug)
        if not has_list(term.domain) or not term.slug:
            continue
        if term.term_id or (key not in site.terms and len(site.terms) < MAX_TERMS):
            site.terms[key] = term


def _left_out(site: Site, options: Options) -> dict[str, int]:
    found = {} if options.include_authors else {"authors": site.authors}
    if not options.include_comments:
        found["comments"] = site.comments
    return {name: count for name, count in found.items() if count}


def _reusable_blocks(files: Files, names: list[str]) -> dict[int, str]:
    """A second pass, only for exports with such blocks, because the first pass reads no bodies."""
    found: dict[int, str] = {}
    left = _MAX_REUSABLE
    for name in names:
        with files.open(name) as stream:
            for item in read_items(stream, Channel(), meta=frozenset(), with_content=True):
                number, content = as_number(item.get("post_id")), item.fields.get("content", "")
                if item.get("post_type") != _REUSABLE or number is None or len(content) > left:
                    continue
                left -= len(content)
                found.setdefault(number, content)
    return found


def _check_version(channel: Channel) -> None:
    version = channel.fields.get("wxr_version")
    if version is None:
        raise BadFile(NOT_WXR)
    if not _VERSION.fullmatch(version):
        raise BadFile(staff_words("The export's version is not one of WXR 1.0 to 1.2."))


def _describe(site: Site, channel: Channel) -> None:
    """From the first part of a large export that has the values."""
    fields = channel.fields
    site.title = site.title or plain_text(fields.get("title", ""), 200)[:200]
    site.tagline = site.tagline or plain_text(fields.get("description", ""), 200)[:200]
    addresses = (fields.get(name, "") for name in ("base_blog_url", "link", "base_site_url"))
    usable = (address.rstrip("/") for address in addresses if address.startswith("http"))
    site.url = site.url or next((each for each in usable if is_web_address(each)), "")
    site.has_mixed_encodings |= channel.has_mixed_encodings
    site.is_ours |= fields.get("generator", "") == GENERATOR


def _uploads(files: Files) -> dict[str, str]:
    """Media files in the archive, by their path on the old site."""
    if files.is_single:
        return {}
    found = ((name.find(_UPLOADS), name) for name in files.sizes)
    return {f"/{name[start:]}": name for start, name in found if start >= 0}
