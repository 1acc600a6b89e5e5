"""Makes docs/reference/site-settings.md from the collection of the site settings."""

from __future__ import annotations

from collections.abc import Iterator

from tests.docs.fields import cell, meaning, type_of

from masthead.engine.records.fields.base import Access, Field
from masthead.features.site.collection import site_settings
from masthead.features.site.v1 import SETTABLE, SITE_SETTINGS

INTRODUCTION = """\
# Site settings

Look here to change what a site is called and how it behaves. A setting belongs to one site. What an
operator sets for the whole service is in the environment: see [Operations](../operations.md).

```console
$ masthead settings set --tenant demo site_name='Coast & Harbour' comments_enabled=true
Set site_name, comments_enabled.
$ masthead settings get --tenant demo
```

A program with an API key changes the settings that have a name in v1:

```console
$ curl -X PATCH http://127.0.0.1:8000/api/v1/site-settings -H 'Authorization: Bearer mh_live_…' \\
    -H 'Content-Type: application/json' -d '{"site_description": "Notes from the water."}'
{"data":{"id":"…","site_name":"Coast & Harbour","site_description":"Notes from the water.",…}}
```

An owner changes the others through the [record store](../record-store.md), in the collection
`site_settings`. Nobody can read a secret back: it is stored encrypted.

This page is made from the code by `make docs`.

"Record store" is the name in the record store and on the command line; "v1" the name in
`/api/v1/site-settings`. "Set by" is who may change it besides the command line.

| record store | v1 | type and limits | default | set by | meaning |
|---|---|---|---|---|---|"""


def render() -> str:
    return "\n".join([INTRODUCTION, *_rows(), ""])


def _rows() -> Iterator[str]:
    for field in site_settings.fields:
        shown = f"`{field.name}`" if field.name in SITE_SETTINGS.fields else "–"
        kind = type_of(field).partition("; default ")[0]
        row = (
            f"`{field.name}`",
            shown,
            kind,
            _default(field),
            _set_by(field),
            meaning(site_settings.name, field),
        )
        yield f"| {' | '.join(map(cell, row))} |"


def _default(field: Field) -> str:
    value = field.default_value()
    if isinstance(value, bool):
        return str(value).lower()
    if field.required:
        return "set with the site"
    return "empty" if value in ("", None, []) else f"`{value}`"


def _set_by(field: Field) -> str:
    if field.immutable:
        return "nobody"
    if field.write is Access.PLATFORM:
        return "operator"
    return "owner, API key" if field.name in SETTABLE else "owner"
