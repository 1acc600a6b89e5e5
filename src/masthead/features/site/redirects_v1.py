"""The public API of redirects."""

from __future__ import annotations

from collections.abc import Callable

from msgspec.structs import replace

from masthead.base.errors import Invalid
from masthead.engine.records.collection import Record
from masthead.features.site.redirects import redirects
from masthead.web.v1.call import Call
from masthead.web.v1.resource import Resource
from masthead.web.v1.routes import post
from masthead.web.v1.schema import Body, View

_SCOPE = "settings:write"
_STORED = {"from": "source", "to": "destination", "status": "status_code"}
"""The stored fields by their names in the API."""
_FIELDS = tuple(replace(redirects.by_name[stored], name=name) for name, stored in _STORED.items())

REDIRECT = View(
    "Redirect",
    redirects,
    ("id", *_STORED, "created"),
    added=_FIELDS,
    made_of=tuple(_STORED.values()),
)
CREATE = Body(
    "RedirectCreate",
    redirects,
    (),
    required=frozenset({"from", "to"}),
    inputs=_FIELDS,
)


def _shown(_: Call) -> Callable[[Record], Record]:
    return lambda record: {**record, **{name: record[stored] for name, stored in _STORED.items()}}


async def create_redirect(call: Call) -> Record:
    given = {_STORED[name]: value for name, value in call.body.items()}
    try:
        record = await call.unit.create(redirects, given)
    except Invalid as error:
        names = {stored: name for name, stored in _STORED.items()}
        raise Invalid({names[name]: each for name, each in error.problems.items()}) from None
    return _shown(call)(record)


routes = (
    *Resource(
        collection=redirects,
        path="/redirects",
        noun=("redirect", "redirects"),
        scopes=(_SCOPE, _SCOPE),
        view=REDIRECT,
        shown=_shown,
        has_view=False,
    ).routes,
    post(
        "/redirects",
        create_redirect,
        scope=_SCOPE,
        view=REDIRECT,
        body=CREATE,
        summary="Create a redirect from an old address",
    ),
)
