"""Opens a Ghost export: the JSON, a folder or archive with it and its images, or the CSV of
members."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, Final, TypeGuard
from urllib.parse import quote

from masthead.base.languages.words import staff_words
from masthead.faces.importers.files.csv_rows import CsvTable
from masthead.faces.importers.files.export_files import Files, open_files
from masthead.faces.importers.old_paths import base_path
from masthead.faces.importers.platforms.ghost.comments import comments_of, members_by_id
from masthead.faces.importers.platforms.ghost.links import Links, key
from masthead.faces.importers.platforms.ghost.members import members_of_csv, members_of_table
from masthead.faces.importers.platforms.ghost.posts import post_of
from masthead.faces.importers.platforms.ghost.tables import NOT_AN_EXPORT, is_export, rows
from masthead.faces.importers.platforms.member_rows import Entry, MergedMembers, refuse_if_too_many
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

MAX_FILE: Final = 50 * 1024**2
"""The size of an image in the archive; the default limit of an upload."""
_ASSET: Final = re.compile(r"(?:\A|/)((?:images|media|files)/.+)")


def open_ghost(path: Path, options: Options) -> GhostSource:
    files = open_files(path)
    try:
        return GhostSource(files, options)
    except BaseException:
        files.close()
        raise


class GhostSource:
    """Reads the JSON twice, because the tables that posts refer to may follow them."""

    def __init__(self, files: Files, options: Options) -> None:
        self._files = files
        self._options = options
        self._lists = _lists(files)
        refuse_if_too_many(self._lists)
        self._export = _export(files, bool(self._lists))
        self._links = Links()
        for table, row in self._rows():
            self._links.add(table, row)
        self._members = None if options.skip_members else MergedMembers(self._each_member)
        self.overview = Overview(
            platform="ghost",
            site_url=options.site_url,
            posts=0 if options.skip_posts else self._links.posts,
            members=self._members.count if self._members else 0,
            comments=self._links.comments if options.include_comments else 0,
            left_out=_left_out(self._links, options),
            files=_assets(files, options.site_url),
        )

    def posts(self) -> Iterator[SourcePost | Skipped]:
        if not self._options.skip_posts:
            for row in self._table("posts", self._links.posts):
                yield post_of(row, self._links, self._options)

    def authors(self) -> Iterator[SourceAuthor | Skipped]:
        return iter(self._links.authors.values() if self._options.include_authors else ())

    def members(self) -> Iterator[SourceMember | Skipped]:
        return iter(self._members or ())

    def comments(self) -> Iterator[SourceComment | Skipped]:
        """Ghost's own export has none, one of the whole database has."""
        if not self._options.include_comments or not self._links.comments:
            return iter(())
        count = self._links.comments
        wanted = {
            key(row.get("member_id")) for row in self._table("comments", count) if _is_row(row)
        }
        members = members_by_id(self._table("members", self._links.members), wanted - {""})
        return comments_of(self._table("comments", count), members)

    def addresses(self) -> Iterator[OldAddress]:
        """As Ghost has them, unless its routes were changed, which the export does not say."""
        if self._options.skip_posts or self._export is None or self._links.is_ours:
            return
        base = base_path(self._options.site_url)
        yield OldAddress(f"{base}/rss/", "feed")
        yield OldAddress(f"{base}/page/", "archive")
        for slug, name in self._links.tag_slugs.items():
            path = f"{base}/tag/{quote(slug, safe='')}/"
            yield OldAddress(path, "tag", name)
            yield OldAddress(f"{path}rss/", "tag feed", name)
        for slug, author in self._links.author_slugs.items():
            path = f"{base}/author/{quote(slug, safe='')}/"
            yield OldAddress(path, "author", author)
            yield OldAddress(f"{path}rss/", "author feed", author)

    def read_file(self, entry: str) -> bytes:
        return self._files.read(entry, MAX_FILE)

    def close(self) -> None:
        self._files.close()

    def _rows(self) -> Iterator[tuple[str, Any]]:
        if self._export is not None:
            with self._files.open(self._export) as stream:
                yield from rows(stream)

    def _table(self, name: str, count: int) -> Iterator[Any]:
        """Stops after the rows that the first pass counted."""
        return islice((row for table, row in self._rows() if table == name), count)

    def _each_member(self) -> Iterator[Entry]:
        # The CSV first, because the first row of a member wins.
        for table in self._lists:
            yield from members_of_csv(table.rows())
        members = self._table("members", self._links.members)
        yield from members_of_table(members, self._links)


def _left_out(links: Links, options: Options) -> dict[str, int]:
    found = {} if options.include_authors else {"authors": links.users}
    if not options.include_comments:
        found["comments"] = links.comments
    return {name: count for name, count in found.items() if count}


def _is_row(row: object) -> TypeGuard[Mapping[str, Any]]:
    return isinstance(row, dict)


def _export(files: Files, has_lists: bool) -> str | None:
    """The name of the JSON; None where only a list of members was given."""
    if files.is_single:
        return None if has_lists else next(iter(files.sizes))
    found = [name for name in _outside_assets(files, ".json") if _is_export(files, name)]
    if len(found) > 1:
        raise BadFile(
            staff_words(
                "There are %(number)s Ghost exports in it; give the one to import.",
                number=len(found),
            )
        )
    if not found and not has_lists:
        raise BadFile(NOT_AN_EXPORT)
    return found[0] if found else None


def _is_export(files: Files, name: str) -> bool:
    with files.open(name) as stream:
        return is_export(stream)


def _lists(files: Files) -> list[CsvTable]:
    """Lists of members, recognized by a column `email`."""
    found: list[CsvTable] = []
    for name in _outside_assets(files, ".csv"):
        table = _list(files, name)
        if table is not None:
            found.append(table)
    return found


def _list(files: Files, name: str) -> CsvTable | None:
    try:
        table = CsvTable(partial(files.open, name))
    except BadFile:
        if files.is_single:
            raise
        return None
    if "email" in table.columns:
        return table
    if files.is_single:
        raise BadFile(staff_words("This is not a list of members: it has no column named email."))
    return None


def _outside_assets(files: Files, extension: str) -> list[str]:
    """A JSON or CSV below `files` or `media` is a download of the site."""
    return files.candidates(extension, exclude=lambda name: bool(_ASSET.search(name)))


def _assets(files: Files, site_url: str) -> dict[str, str]:
    """The files by path, and by address if the site's address is known."""
    found: dict[str, str] = {}
    for name in files.sizes:
        asset = _ASSET.search(name)
        if asset:
            found[f"/content/{asset[1]}"] = name
            if site_url:
                found[f"{site_url}/content/{asset[1]}"] = name
    return found
