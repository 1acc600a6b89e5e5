"""A collection: the declaration of one kind of record.

It has the fields with their limits, the access rules, the hooks that set fields and emit events,
and the counters for totals. Every face and the database tables are built from it.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterable, Mapping
from datetime import timedelta
from functools import cached_property
from typing import Any, Final

import msgspec

from masthead.base import ids
from masthead.base.caller import Reader
from masthead.engine.records.changes import (
    Change,
    Follower,
    Later,
    Listing,
    Relisted,
    Rendering,
    Save,
    Snapshot,
    Tally,
)
from masthead.engine.records.changes import Record as Record
from masthead.engine.records.fields.base import Access, Field, refuse
from masthead.engine.records.fields.documents import Json, TextList
from masthead.engine.records.fields.file import File
from masthead.engine.records.fields.relation import Relation
from masthead.engine.records.fields.relation_list import RelationList
from masthead.engine.records.fields.secrets import Secret
from masthead.engine.records.fields.text import SiteAddress, Slug, Text
from masthead.engine.records.fields.values import Date, Number

KEPT_FOR: Final = timedelta(days=30)
"""How long most deleted records can be restored."""
BUCKET_SEPARATOR = "\x1f"
"""Between the values of a counter's bucket."""
Pointer = Relation | RelationList


class Rules(msgspec.Struct, frozen=True):
    """Access rules as filter expressions. None is locked: administrators only. '' is anyone."""

    read: str | None = None
    create: str | None = None
    update: str | None = None
    delete: str | None = None


LOCKED = Rules()
FREE = Rules("", "", "", "")
"""For administrators: no rule refuses anything."""


def _everything(record: Record, _: Reader) -> Record:
    return record


def _all_found(_: Reader) -> str:
    return ""


class SiteRules(msgspec.Struct, frozen=True):
    """The rules by which the reader's site shows a collection."""

    read: str
    """The filter for records that are on the site, for every reader."""
    fields: tuple[str, ...]
    """All that a page may show of them, beside the id."""
    show: Callable[[Record, Reader], Record] = _everything
    """A record as a reader sees it, without the parts they can't read."""
    searched: Callable[[Reader], str] = _all_found
    """The records that a reader can search: a search must not reveal a word of a text that they
    can't read."""
    create: str | None = None
    """The rule for records that readers make there. Locked by default."""


_NO_LISTINGS: Final[frozenset[Listing]] = frozenset()


class Listings(msgspec.Struct, frozen=True):
    """The ordered lists that a record is in, besides those by the items of its indexed fields."""

    by: tuple[str, ...]
    """All fields that they depend on, beside `created`, which never changes."""
    of: Callable[[Record], Iterable[Listing]]
    late: str = ""
    """A date that may be in the future: the first save after it changes the lists, too."""

    def may_differ(self, change: Change) -> bool:
        """Whether the lists of a record may be others after the change."""
        if change.touches(self.by):
            return True
        old, new = change.old, change.new
        assert old is not None
        assert new is not None
        return bool(self.late) and old["updated"] < new[self.late] <= new["updated"]


class Counter(msgspec.Struct, frozen=True):
    """A stored total per combination of the named fields' values, so that no list has to count.

    `late` names a date that may be in the future. Lists of due records subtract the few records
    that are not due yet, which have an index.
    """

    by: tuple[str, ...]
    late: str = ""
    late_if: tuple[str, str] = ("", "")
    """A field and the value with which records are sure to have the date. Due ones are counted
    only among these."""
    each: str = ""
    """A list field: a record counts once for each of its items, in combination with `by`."""
    name: str = ""
    """Made of the fields."""

    @property
    def fields(self) -> tuple[str, ...]:
        """In the order of their values in a bucket."""
        return (self.each, *self.by) if self.each else self.by

    def __post_init__(self) -> None:
        name = ",".join((f"each {self.each}", *self.by) if self.each else self.by)
        msgspec.structs.force_setattr(self, "name", name)

    def buckets(self, record: Mapping[str, Any]) -> set[str]:
        values = [str(record[name]) for name in self.by]
        if not self.each:
            return {BUCKET_SEPARATOR.join(values)}
        return {BUCKET_SEPARATOR.join([item, *values]) for item in record[self.each]}


class Searched(msgspec.Struct, frozen=True):
    """A field that full-text search covers."""

    name: str
    is_html: bool = False


class Index(msgspec.Struct, frozen=True):
    fields: tuple[str, ...]
    unique: bool = False
    across_tenants: bool = False
    """The index does not start with the tenant, for queries that look for the tenant."""
    skip_empty: str = ""
    """A partial index: without records whose field of this name is empty."""
    only_late: str = ""
    """A partial index: only records whose date of this name was in the future when they were last
    saved, which are the few that may not be due yet."""
    unusual: tuple[str, str] | None = None
    """A partial index: only records whose field of this name has another value than this one, which
    most of them have. Lists that ask for another value use it."""
    name: str = ""
    """Made of the fields, unless that is longer than the 63 characters of PostgreSQL."""


def _items_of(name: str) -> Listings:
    """The lists by the items of an indexed field."""

    def listings(record: Record) -> list[Listing]:
        return [Listing(name, item, record["created"]) for item in record[name]]

    return Listings(by=(name,), of=listings)


MAX_SHORT = 5_000
"""Characters."""


def has_short_values(field: Field) -> bool:
    """Not a long text or a document."""
    if isinstance(field, Text):
        return field.max <= MAX_SHORT
    return not isinstance(field, Json) or isinstance(field, TextList)


def _no_owners(_: Record) -> Iterable[str]:
    return ()


def _as_it_was(_: Record, __: str) -> Mapping[str, Any]:
    return {}


class Trashed(msgspec.Struct, frozen=True):
    """A deleted record of the collection stays in the trash for some time, with everything that was
    deleted with it, and can be restored."""

    title: str = ""
    """The field that names it there; '' for records about readers."""
    owners: Callable[[Record], Iterable[str]] = _no_owners
    """The accounts of authors who see it there: those who could delete it."""
    restored: Callable[[Record, str], Mapping[str, Any]] = _as_it_was
    """The values that a restore changes in the record, given the time."""
    size: str = ""
    """The field with the bytes of its file; '' if it has none."""
    kept_for: timedelta = KEPT_FOR


def collection_id(name: str, is_auth: bool) -> str:
    kind = "auth" if is_auth else "base"
    return f"pbc_{zlib.crc32((kind + name).encode())}"


def _nothing_to_stamp(_: Save) -> Mapping[str, Any]:
    return {}


def _always(_: Change) -> bool:
    return True


def _no_events(_: Change) -> Iterable[str]:
    return ()


def _no_jobs(_: Change) -> Iterable[Later]:
    return ()


def _no_snapshots(_: Change) -> Iterable[Snapshot]:
    return ()


def _no_tallies(_: Change, __: str) -> Iterable[Tally]:
    return ()


TENANT_ID = Relation(
    name="tenant_id",
    to="tenants",
    required=True,
    read=Access.CONTRIBUTOR,
    write=Access.PLATFORM,
    immutable=True,
)
CREATED = Date(name="created", write=Access.ENGINE)
UPDATED = Date(name="updated", write=Access.ENGINE)
VERSION = Number(name="version", read=Access.ENGINE, write=Access.ENGINE, default=1)


class Collection(msgspec.Struct, frozen=True, dict=True):
    name: str
    fields: tuple[Field, ...]
    rules: Rules = Rules()
    """For guests and members."""
    editors: Rules = Rules()
    authors: Rules = Rules()
    contributors: Rules = Rules()
    """For staff other than administrators. Locked by default."""
    site: SiteRules | None = None
    """For the reader's site. Locked by default."""
    listings: tuple[Listings, ...] = ()
    is_auth: bool = False
    """Its records can sign in."""
    platform_records: bool = False
    """Some records belong to the platform itself, with an empty tenant."""
    is_identity: bool = False
    """Contains accounts, keys, tenant settings or tags, which are read often and changed seldom: a
    change invalidates what is cached of them."""
    hooks_read: tuple[str, ...] = ()
    """The fields of a site's settings that every change is given, as `Site.settings`."""
    owner_may_delete: bool = True
    required_value: tuple[str, str] | None = None
    """A field and a value that at least one record of every tenant must have. The last such record
    can neither be deleted nor get another value, by any caller."""
    made_by: str = ""
    """The endpoint that creates its records, if a plain create would lack a key or a secret."""
    before_save: Callable[[Save], Mapping[str, Any]] = _nothing_to_stamp
    events: Callable[[Change], Iterable[str]] = _no_events
    """The names of the events that a change causes; the catalog makes their payloads."""
    jobs: Callable[[Change], Iterable[Later]] = _no_jobs
    snapshots: Callable[[Change], Iterable[Snapshot]] = _no_snapshots
    followers: tuple[Follower, ...] = ()
    trashed: Trashed | None = None
    """None: a deletion is final."""
    versions_of_target: tuple[str, ...] = ()
    """Fields with a version of the record that it is deleted with: it has a later one when both
    come back from the trash."""
    rendering: Rendering | None = None
    counters: tuple[Counter, ...] = (Counter(by=()),)
    sums: tuple[str, ...] = ()
    """Number fields whose sum over all records of a tenant is stored, such as bytes."""
    tallies: Callable[[Change, str], Iterable[Tally]] = _no_tallies
    """The additions of a change to the counts of days, given the time of the change."""
    indexes: tuple[Index, ...] = ()
    by_letters: tuple[str, ...] = ()
    """Texts whose lists are in the order of their letters, not of their code points: each has a
    column with its key."""
    searchable: tuple[Searched, ...] = ()
    audited: str | None = None
    """The audit log names its records by this field; '' for records about readers, whom it must
    not name. None: it leaves their changes out."""
    audited_without: frozenset[str] = frozenset()
    """Fields that it does not name: they change along with others."""
    is_audited: Callable[[Change], bool] = _always
    """Leaves out some changes, of which other records tell."""
    audited_state: str = "status"
    """The field whose new value the audit log tells."""
    in_use: str = ""
    """Says what to do instead of deleting a record that others point at, where their relation
    refuses that."""
    help: str = ""
    called: str = ""
    """The name of its records in messages; if empty, the collection's name."""

    @cached_property
    def id(self) -> str:
        """Derived from type and name as in PocketBase, because its clients hard-code some ids."""
        return collection_id(self.name, self.is_auth)

    @cached_property
    def all_fields(self) -> tuple[Field, ...]:
        """The declared fields and those that every collection has."""
        return (ID, TENANT_ID, *self.fields, CREATED, UPDATED, VERSION)

    @cached_property
    def by_name(self) -> Mapping[str, Field]:
        return {each.name: each for each in self.all_fields}

    @cached_property
    def required_fields(self) -> tuple[Field, ...]:
        """That a new record must give. The engine fills its own in later."""
        return tuple(
            each for each in self.fields if each.required and each.write is not Access.ENGINE
        )

    @cached_property
    def long_texts(self) -> tuple[str, ...]:
        return tuple(each.name for each in self.fields if isinstance(each, Text) and each.is_long)

    @cached_property
    def files(self) -> tuple[str, ...]:
        return tuple(each.name for each in self.fields if isinstance(each, File))

    @cached_property
    def usual_values(self) -> Mapping[str, str]:
        """The fields that have partial indexes of unusual values, each with its usual one."""
        return dict(each.unusual for each in self.indexes if each.unusual is not None)

    @cached_property
    def reported_fields(self) -> Mapping[str, Field]:
        """Those that the `changed` of an event may name."""
        return {each.name: each for each in self.fields if each.read < Access.ENGINE}

    @cached_property
    def logged_fields(self) -> tuple[str, ...]:
        """The fields of a record that are in the log of changes: enough for the access rules and
        most of a message. No secrets, no personal data, and no long texts, which would double every
        write."""
        return tuple(
            each.name
            for each in (*self.fields, CREATED, UPDATED)
            if each.read < Access.ENGINE
            and not each.personal
            and not isinstance(each, Secret)
            and has_short_values(each)
        )

    def default_values(self) -> Record:
        """All declared fields of a new record. No two records share a list."""
        values = self._defaults.copy()
        for name, make in self._made_defaults:
            values[name] = make()
        return values

    @cached_property
    def _defaults(self) -> Record:
        return {each.name: each.default_value() for each in self.fields}

    @cached_property
    def _made_defaults(self) -> tuple[tuple[str, Callable[[], Any]], ...]:
        return tuple(
            # An empty list or object is made by its type, without the calls of its field.
            (each.name, each.default_value if self._defaults[each.name] else type(each.empty()))
            for each in self.fields
            if isinstance(self._defaults[each.name], list | dict)
        )

    @cached_property
    def encoders(self) -> Mapping[str, Callable[[Any], Any]]:
        """For the fields whose values the database stores in another form."""
        return {
            each.name: each.encode
            for each in self.all_fields
            if type(each).encode is not Field.encode
        }

    @cached_property
    def indexed_lists(self) -> tuple[TextList, ...]:
        return tuple(each for each in self.fields if isinstance(each, TextList) and each.indexed)

    @cached_property
    def site_addresses(self) -> tuple[str, ...]:
        return tuple(each.name for each in self.fields if isinstance(each, SiteAddress))

    @cached_property
    def secrets(self) -> tuple[str, ...]:
        return tuple(each.name for each in self.all_fields if isinstance(each, Secret))

    @cached_property
    def slug(self) -> Slug | None:
        """At most one: the insert of the record takes it."""
        found = [each for each in self.fields if isinstance(each, Slug)]
        assert len(found) < 2
        return found[0] if found else None

    @cached_property
    def relations(self) -> tuple[Relation, ...]:
        return tuple(each for each in self.fields if isinstance(each, Relation))

    @cached_property
    def relation_lists(self) -> tuple[RelationList, ...]:
        return tuple(each for each in self.fields if isinstance(each, RelationList))

    @cached_property
    def pointers(self) -> tuple[Pointer, ...]:
        return (*self.relations, *self.relation_lists)

    def order_column(self, name: str) -> str:
        """The column that a list is sorted by that is sorted by a field."""
        return letters_column(name) if name in self.by_letters else name

    def rules_for(self, access: Access) -> Rules:
        """The rules for a caller. They apply to a record before a change and after it."""
        if access >= Access.ADMIN:
            return FREE
        if access is Access.EDITOR:
            return self.editors
        if access is Access.SITE:
            return Rules(self.site.read, self.site.create) if self.site else Rules()
        if access is Access.AUTHOR:
            return self.authors
        return self.contributors if access is Access.CONTRIBUTOR else self.rules

    def readable(self, access: Access) -> Mapping[str, Field]:
        return self._readable[access]

    def listed(self, record: Record) -> set[Listing]:
        """Every ordered list that the record is in."""
        found: set[Listing] = set()
        for each in self._all_listings:
            found.update(each.of(record))
        return found

    def relisted(self, change: Change) -> Relisted:
        if change.old is None:
            return Relisted(_NO_LISTINGS, self.listed(change.record))
        if change.new is None:
            return Relisted(self.listed(change.record), _NO_LISTINGS)
        before: set[Listing] = set()
        after: set[Listing] = set()
        for each in self._all_listings:
            if each.may_differ(change):
                before.update(each.of(change.old))
                after.update(each.of(change.new))
        return Relisted(before - after, after - before)

    @cached_property
    def _all_listings(self) -> tuple[Listings, ...]:
        return (*(_items_of(each.name) for each in self.indexed_lists), *self.listings)

    @cached_property
    def searched_names(self) -> tuple[str, ...]:
        return tuple(each.name for each in self.searchable)

    @cached_property
    def _readable(self) -> Mapping[Access, Mapping[str, Field]]:
        return {
            access: {
                each.name: each
                for each in self.all_fields
                if each.read <= access
                and (access is not Access.SITE or each.name in self._on_the_site)
            }
            for access in Access
        }

    @cached_property
    def _on_the_site(self) -> frozenset[str]:
        return frozenset(("id", *self.site.fields) if self.site else ())


class _Id(Field, frozen=True):
    """The record's id: chosen by the client at creation, or random."""

    kind = "text"

    def parse(self, value: Any) -> str:
        if not isinstance(value, str) or not ids.is_id(value):
            raise refuse("validation_invalid_format", "Must be 15 characters of a-z and 0-9.")
        return value


ID = _Id(name="id", write=Access.ADMIN, immutable=True)


def letters_column(name: str) -> str:
    """The column with the key of a text of `Collection.by_letters`."""
    return f"{name}_letters"


def file_key(tenant_id: str, collection: Collection, record_id: str, name: str) -> str:
    """The key of a record's file in the object store."""
    return f"{tenant_id}/{collection.name}/{record_id}/{name}"
