"""Opens a Substack export: the archive or folder, its posts.csv, or a list of subscribers."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Final

from masthead.base.languages.words import staff_marked, staff_words
from masthead.faces.importers.files.csv_rows import CsvTable, Row
from masthead.faces.importers.files.decoding import decoded, storable
from masthead.faces.importers.files.densities import HTML_FILES, POST_ROWS
from masthead.faces.importers.files.export_files import Files, open_files
from masthead.faces.importers.platforms.member_rows import Entry, MergedMembers, refuse_if_too_many
from masthead.faces.importers.platforms.substack.posts import (
    kind_of,
    number_and_slug,
    post_of,
    shown_title,
)
from masthead.faces.importers.platforms.substack.subscribers import subscribers_of
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

MAX_HTML: Final = 10 * 1024**2
NOT_AN_EXPORT: Final = staff_words(
    "This is not a Substack export: it has no posts.csv and no subscribers."
)
NO_COLUMNS: Final = staff_words(
    "This is not a list of Substack: it has no column named email or post_id."
)
NO_ROW: Final = staff_marked("no row in posts.csv")
NO_HTML: Final = staff_marked("no HTML file")
_POSTS: Final = "posts.csv"
# One row per recipient of a post.
_STATISTICS: Final = (".delivers.csv", ".opens.csv")


def open_substack(path: Path, options: Options) -> SubstackSource:
    files = open_files(path)
    texts = files
    try:
        folder = path.parent / "posts"
        if files.is_single and files.find(_POSTS) and folder.is_dir():
            texts = open_files(folder)
        return SubstackSource(files, texts, options)
    except BaseException:
        files.close()
        texts.close()
        raise


class SubstackSource:
    def __init__(self, files: Files, texts: Files, options: Options) -> None:
        """`texts` has the HTML files. It is `files`, unless the export is a single posts.csv."""
        self._files = files
        self._texts = texts
        self._options = options
        self._posts, lists = _tables(files)
        self._lists = lists
        self._html = {_stem(name): name for name in texts.sizes if _is_html(name)}
        count = 0 if options.skip_posts else self._check_posts()
        refuse_if_too_many(lists)
        self._members = None if options.skip_members else MergedMembers(self._each_subscriber)
        self.overview = Overview(
            platform="substack",
            site_url=options.site_url,
            posts=count,
            members=self._members.count if self._members else 0,
        )

    def posts(self) -> Iterator[SourcePost | Skipped]:
        if self._options.skip_posts:
            return
        left = dict(self._html)
        seen: set[int] = set()
        for row in self._rows():
            number, _ = number_and_slug(row["post_id"])
            left.pop(row["post_id"].strip().casefold(), None)
            left.pop(number, None)
            yield self._repeated(row) if hash(number) in seen else self._post(row)
            seen.add(hash(number))
        for stem in left:
            yield Skipped("post", stem, NO_ROW)

    def authors(self) -> Iterator[SourceAuthor | Skipped]:
        """Substack does not export them."""
        return iter(())

    def members(self) -> Iterator[SourceMember | Skipped]:
        return iter(self._members or ())

    def comments(self) -> Iterator[SourceComment | Skipped]:
        return iter(())

    def addresses(self) -> Iterator[OldAddress]:
        if self._posts is not None and not self._options.skip_posts:
            yield OldAddress("/feed", "feed")

    def read_file(self, entry: str) -> bytes:
        raise BadFile(staff_words("A Substack export holds no images."))

    def close(self) -> None:
        self._files.close()
        self._texts.close()

    def _check_posts(self) -> int:
        """Reads everything once, to find damage before anything is written."""
        sizes = [self._texts.sizes[name] or 0 for name in self._html.values()]
        HTML_FILES.check(len(sizes), sum(sizes))
        self._texts.check(self._html.values())
        return sum(1 for _ in self._rows())

    def _rows(self) -> Iterator[Row]:
        if self._posts is not None:
            yield from (row for row in self._posts.rows(POST_ROWS) if row["post_id"].strip())

    def _post(self, row: Row) -> SourcePost | Skipped:
        kind = kind_of(row)
        if kind is None:
            return _left_out(row, staff_marked("unknown type"))
        if kind == "page" and not self._options.include_pages:
            number, _ = number_and_slug(row["post_id"])
            return Skipped("page", number, "page", shown_title(row))
        name = self._name_of(row)
        if name is None and not row.get("podcast_url", "").strip():
            return _left_out(row, NO_HTML)
        if name is not None and (self._texts.sizes[name] or 0) > MAX_HTML:
            return _left_out(row, staff_marked("HTML file too large"))
        with_schedule = self._options.include_unpublished
        return post_of(row, kind, self._text(name), with_schedule=with_schedule)

    def _name_of(self, row: Row) -> str | None:
        """File names may differ in case; the file of a draft may have the number only."""
        post_id = row["post_id"].strip().casefold()
        return self._html.get(post_id) or self._html.get(number_and_slug(post_id)[0])

    def _text(self, name: str | None) -> str:
        if name is None:
            return ""
        with self._texts.open(name) as stream:
            return storable("".join(decoded(stream)))

    def _repeated(self, row: Row) -> Skipped:
        return _left_out(row, staff_marked("same id as an earlier row"))

    def _each_subscriber(self) -> Iterator[Entry]:
        for table in self._lists:
            yield from subscribers_of(table.rows())


def _left_out(row: Row, reason: str) -> Skipped:
    number, _ = number_and_slug(row["post_id"])
    return Skipped("post", number, reason, shown_title(row))


def _tables(files: Files) -> tuple[CsvTable | None, list[CsvTable]]:
    """The posts, and the lists of subscribers; both are recognized by their columns."""
    posts: list[CsvTable] = []
    lists: list[CsvTable] = []
    names = files.sizes if files.is_single else files.candidates(".csv", exclude=_is_statistic)
    for name in names:
        table = _table(files, name)
        if table is not None:
            (posts if "post_id" in table.columns else lists).append(table)
    if not posts and not lists:
        raise BadFile(NO_COLUMNS if files.is_single else NOT_AN_EXPORT)
    if len(posts) > 1:
        raise BadFile(
            staff_words(
                "There are %(number)s exports in it; give the one to import.", number=len(posts)
            )
        )
    return (posts[0] if posts else None), lists


def _table(files: Files, name: str) -> CsvTable | None:
    try:
        table = CsvTable(partial(files.open, name))
    except BadFile:
        # A folder may hold other CSV files; the posts, or a single given file, must be valid.
        if files.is_single or name.lower().endswith(_POSTS):
            raise
        return None
    is_posts = {"post_id", "title"} <= set(table.columns)
    is_list = "email" in table.columns and "post_id" not in table.columns
    return table if is_posts or is_list else None


def _is_statistic(name: str) -> bool:
    return name.lower().endswith(_STATISTICS)


def _is_html(name: str) -> bool:
    return name.lower().endswith(".html")


def _stem(name: str) -> str:
    return name.rpartition("/")[2][: -len(".html")].casefold()
