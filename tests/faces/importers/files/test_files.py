"""Opening what somebody hands to an importer: plain, packed, in folders, and hostile."""

from __future__ import annotations

import gzip
import os
import stat
import struct
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
from tests import corpus

from masthead.faces.importers.files import export_files as limits
from masthead.faces.importers.files.export_files import Files, open_files
from masthead.faces.importers.source import BadFile


def packed(path: Path, entries: dict[str, bytes], method: int = zipfile.ZIP_DEFLATED) -> Path:
    with zipfile.ZipFile(path, "w", method) as archive:
        for name, content in entries.items():
            archive.writestr(name, content)
    return path


def contents(files: Files) -> dict[str, bytes]:
    return {name: files.read(name, 10_000) for name in files.sizes}


class TestWhatIsOpened:
    def test_a_plain_file_is_its_own_only_entry(self, tmp_path: Path) -> None:
        (tmp_path / "export.xml").write_bytes(b"<rss/>")
        with open_files(tmp_path / "export.xml") as files:
            assert files.is_single
            assert files.sizes == {"export.xml": 6}
            assert contents(files) == {"export.xml": b"<rss/>"}

    @pytest.mark.parametrize(
        ("name", "shown"), [("export.xml.gz", "export.xml"), ("export.xml", "export.xml")]
    )
    def test_gzip_is_known_by_its_bytes(self, tmp_path: Path, name: str, shown: str) -> None:
        (tmp_path / name).write_bytes(gzip.compress(b"<rss/>"))
        with open_files(tmp_path / name) as files:
            assert files.sizes == {shown: None}
            assert files.read(shown, 100) == b"<rss/>"
            assert files.read(shown, 100) == b"<rss/>", "opens as often as asked"

    def test_a_zip_is_known_by_its_bytes(self, tmp_path: Path) -> None:
        with open_files(packed(tmp_path / "upload", {"b": b"2", "a": b"1"})) as files:
            assert not files.is_single
            assert list(files.sizes) == ["a", "b"]
            assert contents(files) == {"a": b"1", "b": b"2"}

    def test_one_top_folder_is_looked_into(self, tmp_path: Path) -> None:
        entries = {
            "export/": b"",
            "export/posts.csv": b"p",
            "export/posts/1.html": b"h",
            "export/.DS_Store": b"x",
            "__MACOSX/export/._posts.csv": b"x",
        }
        with open_files(packed(tmp_path / "a.zip", entries)) as files:
            assert list(files.sizes) == ["posts.csv", "posts/1.html"]

    def test_a_file_beside_a_folder_keeps_the_names(self, tmp_path: Path) -> None:
        with open_files(packed(tmp_path / "a.zip", {"posts/1.html": b"", "x": b""})) as files:
            assert list(files.sizes) == ["posts/1.html", "x"]

    def test_windows_separators_are_separators(self, tmp_path: Path) -> None:
        with open_files(packed(tmp_path / "a.zip", {"posts\\1.html": b"", "x": b""})) as files:
            assert list(files.sizes) == ["posts/1.html", "x"]

    def test_names_are_found_in_another_case(self, tmp_path: Path) -> None:
        with open_files(packed(tmp_path / "a.zip", {"Posts.CSV": b"", "x": b""})) as files:
            assert files.find("posts.csv") == "Posts.CSV"
            assert files.find("x") == "x"
            assert files.find("y") is None

    def test_a_folder_gives_its_files_and_those_below(self, tmp_path: Path) -> None:
        (tmp_path / "posts").mkdir()
        (tmp_path / "posts" / "1.html").write_bytes(b"h")
        (tmp_path / "posts.csv").write_bytes(b"p")
        (tmp_path / ".DS_Store").write_bytes(b"x")
        (tmp_path / "members.csv.gz").write_bytes(gzip.compress(b"m"))
        with open_files(tmp_path) as files:
            assert not files.is_single
            assert contents(files) == {
                "members.csv.gz": b"m",
                "posts.csv": b"p",
                "posts/1.html": b"h",
            }

    def test_links_in_a_folder_are_not_followed(self, tmp_path: Path) -> None:
        outside = tmp_path / "outside"
        outside.mkdir()
        (outside / "secret").write_bytes(b"s")
        folder = tmp_path / "export"
        folder.mkdir()
        (folder / "posts.csv").write_bytes(b"p")
        (folder / "link").symlink_to(outside / "secret")
        (folder / "linked").symlink_to(outside)
        os.mkfifo(folder / "pipe")
        with open_files(folder) as files:
            assert list(files.sizes) == ["posts.csv"]
            (folder / "posts.csv").unlink()
            (folder / "posts.csv").symlink_to(outside / "secret")
            with pytest.raises(BadFile):
                files.open("posts.csv")

    def test_reading_has_a_limit(self, tmp_path: Path) -> None:
        with open_files(packed(tmp_path / "a.zip", {"a": b"12345"})) as files:
            assert files.read("a", 5) == b"12345"
            with pytest.raises(BadFile, match="more than 4 bytes"):
                files.read("a", 4)


def missing(path: Path) -> None: ...


def a_pipe(path: Path) -> None:
    os.mkfifo(path)


def text_named_zip(path: Path) -> None:
    path.write_bytes(b"not a zip")


def an_empty_zip(path: Path) -> None:
    packed(path, {})


def only_clutter(path: Path) -> None:
    packed(path, {"__MACOSX/x": b"", ".DS_Store": b""})


def names_that_lead_out(path: Path) -> None:
    packed(path, {"a": b"", "posts/../../x": b""})


def an_absolute_name(path: Path) -> None:
    packed(path, {"/etc/passwd": b""})


def a_drive(path: Path) -> None:
    packed(path, {"C:\\x": b""})


def a_name_with_a_newline(path: Path) -> None:
    packed(path, {"a\nb": b""})


def a_file_without_a_name(path: Path) -> None:
    """In the directory of the archive, by the length of the name."""
    packed(path, {"a": b"1"})
    content = bytearray(path.read_bytes())
    entry = content.index(b"PK\x01\x02")
    struct.pack_into("<2H", content, entry + 28, 0, 1)
    path.write_bytes(content)


def the_same_name_twice(path: Path) -> None:
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("a", b"1")
        with pytest.warns(UserWarning, match="Duplicate"):
            archive.writestr("a", b"2")


def the_same_name_by_separators(path: Path) -> None:
    packed(path, {"a/b": b"1", "a\\b": b"2"})


def a_link(path: Path) -> None:
    with zipfile.ZipFile(path, "w") as archive:
        entry = zipfile.ZipInfo("a")
        entry.external_attr = (stat.S_IFLNK | 0o777) << 16
        archive.writestr(entry, b"/etc/passwd")


def a_password(path: Path) -> None:
    packed(path, {"a": b"1"})
    content = bytearray(path.read_bytes())
    content[content.index(b"PK\x01\x02") + 8] |= 1
    path.write_bytes(content)


def bzip2(path: Path) -> None:
    packed(path, {"a": b"1"}, zipfile.ZIP_BZIP2)


def lzma(path: Path) -> None:
    packed(path, {"a": b"1"}, zipfile.ZIP_LZMA)


def cut_in_half(path: Path) -> None:
    packed(path, {str(number): os.urandom(100) for number in range(20)})
    path.write_bytes(path.read_bytes()[:1500])


def an_offset_behind_the_end(path: Path) -> None:
    packed(path, {"a": b"1"})
    content = bytearray(path.read_bytes())
    struct.pack_into("<I", content, content.index(b"PK\x01\x02") + 42, 10_000)
    path.write_bytes(content)


def a_bomb(path: Path) -> None:
    packed(path, {"a": bytes(40_000_000)})


def many_small_bombs(path: Path) -> None:
    packed(path, {str(number): bytes(15_000_000) for number in range(4)})


def a_huge_directory(path: Path) -> None:
    """One entry's line, a hundred and fifty thousand times, with nothing behind it."""
    line = struct.pack("<4s6H3I5H2I", b"PK\x01\x02", *(0,) * 9, 1, *(0,) * 6) + b"a"
    directory = line * 150_000
    end = struct.pack("<4s4H2IH", b"PK\x05\x06", 0, 0, 0, 0, len(directory), 4, 0)
    path.write_bytes(b"PK\x03\x04" + directory + end)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (missing, "no such file"),
        (a_pipe, "neither a file nor a folder"),
        (text_named_zip, "not a zip archive"),
        (an_empty_zip, "is empty"),
        (only_clutter, "is empty"),
        (names_that_lead_out, "leads out of it"),
        (an_absolute_name, "leads out of it"),
        (a_drive, "leads out of it"),
        (a_name_with_a_newline, "control characters"),
        (a_file_without_a_name, "without a name"),
        (the_same_name_twice, "two files with the same name"),
        (the_same_name_by_separators, "two files with the same name"),
        (a_link, "a link"),
        (a_password, "password"),
        (bzip2, "not supported"),
        (lzma, "not supported"),
        (cut_in_half, "damaged or cut off"),
        (an_offset_behind_the_end, "damaged or cut off"),
        (a_bomb, "far more"),
        (many_small_bombs, "far more"),
        (a_huge_directory, "more than 50,000 files"),
    ],
)
def test_refused_when_opened(tmp_path: Path, make: Callable[[Path], None], message: str) -> None:
    path = tmp_path / "export.zip"
    make(path)
    with pytest.raises(BadFile, match=message):
        open_files(path)


def test_more_entries_than_an_export_has_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "MAX_ENTRIES", 3)
    monkeypatch.setattr(limits, "MAX_IN_FOLDER", 3)
    entries = {f"{number}": b"" for number in range(4)}
    with pytest.raises(BadFile, match="files"):
        open_files(packed(tmp_path / "a.zip", entries))
    folder = tmp_path / "folder"
    folder.mkdir()
    for name in entries:
        (folder / name).touch()
    with pytest.raises(BadFile, match="files"):
        open_files(folder)


class TestDamageInside:
    def test_a_wrong_checksum(self, tmp_path: Path) -> None:
        path = packed(tmp_path / "a.zip", {"a": b"12345" * 10, "b": b"ok"}, zipfile.ZIP_STORED)
        content = bytearray(path.read_bytes())
        content[content.index(b"12345")] ^= 1
        path.write_bytes(content)
        with open_files(path) as files:
            files.check(["b"])
            with pytest.raises(BadFile, match="damaged"):
                files.check(files.sizes)

    def test_packed_bytes_that_are_none(self, tmp_path: Path) -> None:
        path = packed(tmp_path / "a.zip", {"a": b"12345" * 10})
        content = bytearray(path.read_bytes())
        content[31:36] = b"\xff" * 5
        path.write_bytes(content)
        with open_files(path) as files, pytest.raises(BadFile, match="damaged"):
            files.read("a", 100)

    def test_another_name_in_the_entry_itself(self, tmp_path: Path) -> None:
        path = packed(tmp_path / "a.zip", {"a": b"1"})
        content = bytearray(path.read_bytes())
        content[30:31] = b"b"
        path.write_bytes(content)
        with open_files(path) as files, pytest.raises(BadFile, match="damaged"):
            files.open("a")

    def test_a_gzip_that_is_cut_off(self, tmp_path: Path) -> None:
        path = tmp_path / "a.gz"
        path.write_bytes(gzip.compress(os.urandom(1000))[:500])
        with open_files(path) as files, pytest.raises(BadFile, match="damaged"):
            files.check(files.sizes)

    def test_a_gzip_bomb_stops_soon(self, tmp_path: Path) -> None:
        path = tmp_path / "a.gz"
        path.write_bytes(gzip.compress(bytes(60_000_000)))
        with open_files(path) as files, files.open("a") as stream:
            assert len(stream.read(16_000_000)) == 16_000_000
            with pytest.raises(BadFile, match="far more"):
                stream.read(10_000_000)


# Of the corpus, with what is said of those that are refused.
CORPUS = {
    "bomb-200MB.zip": "far more",
    "duplicate-names.zip": "same name",
    "empty.zip": "is empty",
    "not-a-zip.zip": "not a zip archive",
    "symlink.zip": "a link",
    "truncated.zip": "damaged",
    "zip-slip.zip": "leads out",
}


def test_archives_of_the_corpus() -> None:
    for path in corpus.found("substack/zip-edge/*.zip"):
        if path.name in CORPUS:
            with pytest.raises(BadFile, match=CORPUS[path.name]):
                open_files(path)
        else:
            with open_files(path) as files:
                files.check(files.sizes)


def test_whole_archives_are_checked_whole(tmp_path: Path) -> None:
    names = ["POSTS.CSV", "Posts/1.HTML", "潮/ä.html", *(f"posts/{n}.html" for n in range(2_000))]
    path = packed(tmp_path / "a.zip", {name: name.encode() for name in names})
    with open_files(path) as files:
        assert len(files.sizes) == len(names)
        files.check(files.sizes)
        assert files.read("posts/1999.html", 100) == b"posts/1999.html"
