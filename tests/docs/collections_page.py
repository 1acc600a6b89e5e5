"""Makes docs/reference/collections.md from the collections that the engine checks with."""

from __future__ import annotations

from collections.abc import Iterator

from tests.docs.fields import cell, meaning, type_of

from masthead.engine.records.collection import (
    CREATED,
    FREE,
    ID,
    TENANT_ID,
    UPDATED,
    Collection,
    Rules,
)
from masthead.engine.records.fields.base import Access, Field
from masthead.features.media.collection import OWN as OWN_FILE
from masthead.features.media.collection import OWN_OR_OPEN
from masthead.features.members.collection import SELF as OWN_RECORD
from masthead.features.payments.collection import ON_SALE
from masthead.features.posts.collection import OWN, OWN_DRAFT, OWN_POST, OWN_POST_DRAFT, PUBLIC
from masthead.features.trash.collection import OWN as OWN_ENTRY
from masthead.features.trash.collection import OWN_DELETED
from masthead.identity.tenants import SELF as OWN_ACCOUNT
from masthead.service.schema import registry

INTRODUCTION = """\
# Collections

Look here for the fields of a kind of record, their limits, and who may read and change them. The
[record store](../record-store.md) serves every collection at `/api/collections/<name>/records`;
the [public API](../api.md) serves some of them to API keys, whose scopes decide what they may do.
The same rules hold on both.

```console
$ curl -H 'Host: demo.localhost' \\
    'http://127.0.0.1:8000/api/collections/posts/records?perPage=1&fields=id,title,status'
{"page":1,"perPage":1,"totalItems":10,"totalPages":10,"items":[{"id":"…","title":"…","status":"published"}]}
```

This page is made from the code by `make docs`.

## How to read it

"Guest" is a caller without a session, "member" a signed-in reader. "Contributor", "author",
"editor" and "owner" are roles of a site's staff, and all of these stay in their own site.
"Operator" runs the platform and may do in every site what its owner may, and what is marked
"operator".

- **type**: the JSON type with its limits. Lengths are in characters.
- **needed**: the field must be sent at creation and can't be empty.
- **read**, **set**: who sees the field, and who may set it, in a record that they may see or
  change. "staff" is contributor, author, editor and owner. "service" is set by the service,
  whatever is sent. "once" is at creation only. What a caller can't read is unknown to their
  filters as well.
- A **slug** is made from the title or name when none is sent, with a number where that is taken. It
  may hold letters and digits of any script, hyphens and other signs, but no blanks, slashes,
  backslashes, `?` or `#`.

Fields that only the service reads and sets, such as password hashes, are left out.

Every record also has these fields:
"""

COMMON = (
    (ID, "everyone", "owner, once"),
    (TENANT_ID, "staff", "operator, once"),
    (CREATED, "everyone", "service"),
    (UPDATED, "everyone", "service"),
)

CALLERS = {
    Access.PUBLIC: "guest",
    Access.MEMBER: "member",
    Access.CONTRIBUTOR: "contributor",
    Access.AUTHOR: "author",
    Access.EDITOR: "editor",
    Access.ADMIN: "owner",
    Access.PLATFORM: "operator",
}

STAFF = ["contributor", "author", "editor", "owner"]

PASSWORDS = """\
`password`, `passwordConfirm` and `oldPassword` can be sent and are never shown: see
[Logins](../record-store.md#logins)."""

RULES = {
    None: "none",
    "": "all",
    PUBLIC: "published, public and due",
    OWN_RECORD: "their own",
    OWN_ACCOUNT: "their own",
    OWN_POST: "those of their own posts",
    OWN: "those that name them in `authors`",
    OWN_DRAFT: "their own drafts that are not scheduled",
    OWN_POST_DRAFT: "those of their own drafts",
    OWN_OR_OPEN: "those that they have uploaded, and that readers see",
    OWN_DELETED: "those of their own that they deleted",
    OWN_FILE: "those that they have uploaded",
    OWN_ENTRY: "those of their own posts and files",
    ON_SALE: "the active ones",
}
"""The rules in words. A new rule needs its words here."""


def render() -> str:
    lines = [INTRODUCTION, *_common(), "", *_index()]
    for collection in registry.collections:
        lines += _section(collection)
    return "\n".join(lines)


def _common() -> Iterator[str]:
    yield "| field | type | read | set | meaning |"
    yield "|---|---|---|---|---|"
    for field, *who in COMMON:
        row = (f"`{field.name}`", type_of(field), *who, meaning("", field))
        yield f"| {' | '.join(row)} |"


def _index() -> Iterator[str]:
    yield "| collection | holds |"
    yield "|---|---|"
    for each in registry.collections:
        yield f"| [`{each.name}`](#{each.name}) | {each.help} |"
    yield ""


def _section(collection: Collection) -> Iterator[str]:
    yield f"## {collection.name}\n"
    yield f"{collection.help}\n"
    yield from _access(collection)
    yield ""
    yield from _fields(collection, collection.fields)
    if collection.is_auth:
        yield f"\n{PASSWORDS}"
    yield ""


def _access(collection: Collection) -> Iterator[str]:
    yield "| who | list and view | create | update | delete |"
    yield "|---|---|---|---|---|"
    for access, name in CALLERS.items():
        yield f"| {name} | {' | '.join(_words(collection, access))} |"
    if collection.made_by:
        yield f"\nCreated by {collection.made_by}."
    if collection.required_value:
        field, value = collection.required_value
        yield f"\nThe last record of a site with the {field} `{value}` stays: nobody can delete it."


def _words(collection: Collection, access: Access) -> list[str]:
    rules = _rules(collection, access)
    words = [RULES[each] for each in (rules.read, rules.create, rules.update, rules.delete)]
    if collection.made_by or (rules is FREE and not _may_create(collection, access)):
        words[1] = "none"
    if access < Access.PLATFORM and not collection.owner_may_delete:
        words[3] = "none"
    return words


def _rules(collection: Collection, access: Access) -> Rules:
    """A guest has no record of their own."""
    rules = collection.rules_for(access)
    is_own = rules.read in (OWN_RECORD, OWN_ACCOUNT)
    return Rules() if is_own and access is Access.PUBLIC else rules


def _may_create(collection: Collection, access: Access) -> bool:
    """Not where a required field is not theirs to set."""
    required = [each for each in collection.fields if each.required]
    return all(each.write <= access or each.write is Access.ENGINE for each in required)


def _fields(collection: Collection, fields: tuple[Field, ...]) -> Iterator[str]:
    yield "| field | type | needed | read | set | meaning |"
    yield "|---|---|---|---|---|---|"
    for each in fields:
        if Access.ENGINE is each.read is each.write:
            continue
        needed = "yes" if each.required else ""
        who = _readers(collection, each), _writers(collection, each)
        words = meaning(collection.name, each)
        row = (f"`{each.name}`", type_of(each), needed, *who, words)
        yield f"| {' | '.join(map(cell, row))} |"


def _readers(collection: Collection, field: Field) -> str:
    able = (access for access in CALLERS if _rules(collection, access).read is not None)
    return _named([access for access in able if field.read <= access])


def _writers(collection: Collection, field: Field) -> str:
    if field.write is Access.ENGINE:
        return "service"
    able = [access for access in CALLERS if _may_set(collection, access, field.immutable)]
    once = ", once" if field.immutable else ""
    return _named([access for access in able if field.write <= access]) + once


def _may_set(collection: Collection, access: Access, is_immutable: bool) -> bool:
    rules = _rules(collection, access)
    may_create = rules.create is not None and not collection.made_by
    return may_create or (rules.update is not None and not is_immutable)


def _named(accesses: list[Access]) -> str:
    """An operator may do what an owner may, so it is named only where it stands alone."""
    names = [CALLERS[each] for each in accesses if each is not Access.PLATFORM]
    if len(names) == len(CALLERS) - 1:
        return "everyone"
    if names[-len(STAFF) :] == STAFF:
        names[-len(STAFF) :] = ["staff"]
    return ", ".join(names) or ("operator" if accesses else "nobody")
