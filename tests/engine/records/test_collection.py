"""A record, a change of it and its lists, by the declaration of the collection, as tables."""

from __future__ import annotations

from typing import Any

import pytest

from masthead.base.caller import STAFF_READER, Reader, system
from masthead.engine.records.changes import (
    NOTHING_PREPARED,
    Change,
    Listing,
    PreparedTexts,
    Rendering,
    Save,
    Site,
)
from masthead.engine.records.collection import (
    ID,
    Collection,
    Counter,
    Listings,
    Record,
    SiteRules,
    Trashed,
    collection_id,
    file_key,
    has_short_values,
)
from masthead.engine.records.fields.base import Access, FieldError
from masthead.engine.records.fields.documents import Json, TextList
from masthead.engine.records.fields.text import Text
from masthead.engine.records.fields.values import Flag, Number

OLD: Record = {"a": 1, "b": 1, "updated": "2", "at": ""}


@pytest.mark.parametrize(
    ("new", "names", "expected"),
    [
        ({"a": 2}, ["a"], True),
        ({"a": 2}, ["b", "a"], True),
        ({"a": 2}, ["b"], False),
        ({"a": 2}, [], False),
        ({}, ["a", "b"], False),
    ],
)
def test_an_update_touches_what_it_changes(new: Record, names: list[str], expected: bool) -> None:
    assert Change(OLD, OLD | new).touches(names) is expected
    assert Change(None, OLD | new).touches(names) is True
    assert Change(OLD, None).touches(names) is True


@pytest.mark.parametrize(
    ("old", "new", "became", "left"),
    [
        (None, 1, True, False),
        (None, 2, False, False),
        (2, 1, True, False),
        (1, 1, False, False),
        (1, 2, False, True),
        (2, 2, False, False),
        (1, None, False, False),
        (2, None, False, False),
    ],
)
def test_a_field_becomes_a_value_and_leaves_it(
    old: int | None, new: int | None, became: bool, left: bool
) -> None:
    change = Change(*(None if each is None else {"a": each} for each in (old, new)))
    assert change.became("a", 1) is became
    assert change.left("a", 1) is left


@pytest.mark.parametrize(
    ("late", "old", "new", "expected"),
    [
        # An update of a field that they depend on.
        ("", {}, {"a": 2}, True),
        ("", {}, {"b": 2}, False),
        ("at", {}, {"a": 2}, True),
        # The first save after the date.
        ("at", {"at": "3"}, {"at": "3", "updated": "4"}, True),
        ("at", {"at": "3"}, {"at": "3", "updated": "3"}, True),
        ("at", {"at": "2"}, {"at": "2", "updated": "4"}, False),
        ("at", {"at": "5"}, {"at": "5", "updated": "4"}, False),
        ("", {"at": "3"}, {"at": "3", "updated": "4"}, False),
    ],
)
def test_lists_may_differ_after_a_change(
    late: str, old: Record, new: Record, expected: bool
) -> None:
    listings = Listings(by=("a",), of=lambda _: (), late=late)
    assert listings.may_differ(Change(OLD | old, OLD | new)) is expected


def collection_with_lists() -> Collection:
    ranked = Listings(by=("rank",), of=lambda record: [Listing("ranked", "", str(record["rank"]))])
    lists = TextList(name="tags", indexed=True), TextList(name="others")
    return Collection("tagged", (*lists, Number(name="rank")), listings=(ranked,))


def tagged(tags: list[str], rank: int = 1) -> Record:
    return {"tags": tags, "others": ["x"], "rank": rank, "created": "c", "updated": "u"}


def in_lists(*tags: str, rank: int | None = None) -> set[Listing]:
    found = {Listing("tags", each, "c") for each in tags}
    return found if rank is None else found | {Listing("ranked", "", str(rank))}


@pytest.mark.parametrize(
    ("old", "new", "left", "joined"),
    [
        (None, tagged(["a", "b"]), set(), in_lists("a", "b", rank=1)),
        (tagged(["a", "b"]), None, in_lists("a", "b", rank=1), set()),
        (tagged(["a", "b"]), tagged(["b", "c"]), in_lists("a"), in_lists("c")),
        (tagged(["a"], 1), tagged(["a"], 2), in_lists(rank=1), in_lists(rank=2)),
        (tagged(["a"]), tagged(["a"]), set(), set()),
    ],
)
def test_a_change_takes_a_record_out_of_lists_and_puts_it_into_others(
    old: Record | None, new: Record | None, left: set[Listing], joined: set[Listing]
) -> None:
    collection = collection_with_lists()
    assert collection.relisted(Change(old, new)) == (left, joined)
    for record in filter(None, (old, new)):
        assert collection.listed(record) == in_lists(*record["tags"], rank=record["rank"])


@pytest.mark.parametrize(
    ("by", "each", "name", "fields", "buckets"),
    [
        ((), "", "", (), {""}),
        (("a",), "", "a", ("a",), {"1"}),
        (("a", "b"), "", "a,b", ("a", "b"), {"1\x1ftwo"}),
        ((), "c", "each c", ("c",), {"x", "y"}),
        (("a",), "c", "each c,a", ("c", "a"), {"x\x1f1", "y\x1f1"}),
        (("a",), "d", "each d,a", ("d", "a"), set()),
    ],
)
def test_a_counter_counts_in_buckets(
    by: tuple[str, ...], each: str, name: str, fields: tuple[str, ...], buckets: set[str]
) -> None:
    counter = Counter(by=by, each=each)
    assert counter.name == name
    assert counter.fields == fields
    assert counter.buckets({"a": 1, "b": "two", "c": ["x", "y"], "d": []}) == buckets


@pytest.mark.parametrize(
    ("field", "expected"),
    [
        (Text(name="a"), True),
        (Text(name="a", max=5_000), True),
        (Text(name="a", max=5_001), False),
        (Json(name="a"), False),
        (TextList(name="a"), True),
        (Number(name="a"), True),
        (Flag(name="a"), True),
    ],
)
def test_long_texts_and_documents_are_not_short(field: Any, expected: bool) -> None:
    assert has_short_values(field) is expected


def test_an_id_is_that_of_pocketbase() -> None:
    # Those of its documentation.
    assert collection_id("posts", False) == "pbc_1125843985"
    assert collection_id("_superusers", True) == "pbc_3142635823"
    assert Collection(name="posts", fields=()).id == "pbc_1125843985"


def test_a_new_record_has_lists_of_its_own() -> None:
    collection = Collection(
        name="a",
        fields=(
            Text(name="title", default="Untitled"),
            Number(name="rank"),
            TextList(name="tags"),
            Json(name="document"),
        ),
    )
    first, second = collection.default_values(), collection.default_values()
    assert first == second
    assert first["title"] == "Untitled"
    assert first["tags"] == []
    first["tags"].append("a")
    assert second["tags"] == []
    assert collection.default_values()["tags"] == []


@pytest.mark.parametrize("access", list(Access))
def test_a_caller_reads_the_fields_of_its_level(access: Access) -> None:
    fields = tuple(Text(name=f"f{level.value}", read=level) for level in Access)
    site = SiteRules(read="", fields=("f0", "f7"))
    names = set(Collection("a", fields, site=site).readable(access))
    if access is Access.SITE:
        # Only what its rules name, and of that only what it may read.
        assert names == {"id", "f0"}
    else:
        assert {each for each in names if each[0] == "f"} == {
            f"f{level.value}" for level in Access if level <= access
        }
        assert "id" in names


@pytest.mark.parametrize("value", ["", "a", "A" * 15, "a" * 16, "a" * 14 + "-", 1, None])
def test_an_id_has_15_characters(value: Any) -> None:
    assert ID.parse("a" * 15) == "a" * 15
    with pytest.raises(FieldError) as refused:
        ID.parse(value)
    assert refused.value.problem.code == "validation_invalid_format"
    assert refused.value.problem.message == "Must be 15 characters of a-z and 0-9."


def test_what_a_collection_does_not_declare_does_nothing() -> None:
    found, record = Collection(name="a", fields=()), {"a": 1}
    change = Change(None, record)
    save = Save(None, record, frozenset(), "", Site(), system())
    assert found.before_save(save) == {}
    assert found.is_audited(change) is True
    for empty in (found.events(change), found.jobs(change), found.snapshots(change)):
        assert list(empty) == []
    assert list(found.tallies(change, "2026")) == []
    assert list(Trashed().owners(record)) == []
    assert Trashed().restored(record, "2026") == {}
    site = SiteRules(read="", fields=())
    for reader in (Reader(), STAFF_READER):
        assert site.show(record, reader) == record
        assert site.searched(reader) == ""


def test_a_save_goes_on_with_what_was_stamped() -> None:
    prepared = PreparedTexts()
    save = Save({"a": 0}, {"a": 1}, frozenset("a"), "now", Site(True), system(), prepared)
    assert save.with_stamps({"b": 2}) == save._replace(new={"a": 1, "b": 2})
    assert save.new == {"a": 1}


def test_prepared_texts_are_put_together() -> None:
    first, second = PreparedTexts(), PreparedTexts()
    first.documents.append((1, "a"))
    first.texts["x"] = "y"
    second.documents.append((2, None))
    second.texts["z"] = "z"
    first.add(second)
    assert first.documents == [(1, "a"), (2, None)]
    assert first.texts == {"x": "y", "z": "z"}
    assert (NOTHING_PREPARED.documents, NOTHING_PREPARED.texts) == ([], {})


@pytest.mark.parametrize(
    ("rendered", "shown"),
    # An empty field says that readers see the text as it was sent.
    [("<p>a</p>", ""), ("<p>b</p>", "<p>b</p>"), ("", " ")],
)
def test_only_another_text_is_stored_for_readers(rendered: str, shown: str) -> None:
    async def prepare(_: Any) -> Any: ...
    async def make(_: Any) -> Any: ...

    rendering = Rendering("html", "shown_html", "rules", 7, prepare, make, make)
    assert rendering.stored("<p>a</p>", rendered) == {"shown_html": shown, "rules": 7}


def test_a_file_is_stored_below_its_record() -> None:
    files = Collection(name="media", fields=())
    assert file_key("t1", files, "r1", "a.png") == "t1/media/r1/a.png"
