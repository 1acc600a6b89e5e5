"""The public API of media."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import cast

from msgspec.structs import replace

from masthead.base.errors import Invalid
from masthead.engine.records.collection import Record
from masthead.engine.records.fields.base import REQUIRED
from masthead.engine.records.filter.ast import Comparison, Expression, Identifier, Literal
from masthead.engine.records.filter.conditions import equals
from masthead.engine.records.read.page import Page
from masthead.features.media.collection import media
from masthead.features.media.filenames import display_name
from masthead.features.media.record_view import MediaRecord, as_media
from masthead.features.media.services import SharedServices
from masthead.features.media.sniff import EXTENSIONS
from masthead.features.media.upload import StoredFile, store_file
from masthead.features.site.address import site_url, with_origin
from masthead.web.v1.call import Call
from masthead.web.v1.parameters import Parameter
from masthead.web.v1.routes import delete, get, list_of, patch, post
from masthead.web.v1.schema import Body, View

MEDIA = View(
    "MediaItem",
    media,
    (
        *("id", "filename", "url", "mime_type", "size", "width", "height", "alt", "private"),
        "created",
    ),
    nullable=frozenset({"url", "width", "height", "alt"}),
    where_set=frozenset({"private"}),
)
UPLOAD = Body(
    "MediaUpload",
    media,
    ("file", "alt", "private"),
    required=frozenset({"file"}),
    help="A form: the file, its alternative text, and whether it is private.",
)
UPDATE = Body(
    "MediaUpdate",
    media,
    ("alt", "filename"),
    required=frozenset({"filename"}),
    nullable=frozenset({"alt"}),
    partial=True,
)
TYPE = Parameter(
    "type",
    "Only items whose MIME type begins with this: `image`, or `image/png`.",
    maximum=100,
    example="image",
)

_TYPES = frozenset(name.partition(";")[0] for name in EXTENSIONS)
_FAMILIES = frozenset(name.partition("/")[0] for name in _TYPES)


async def list_media(call: Call) -> Page:
    page = await call.page(media, *_of_type((call.query["type"] or "").lower()))
    return replace(page, items=[_shown(call, as_media(each)) for each in page.items])


@asynccontextmanager
async def prepare_upload(call: Call) -> AsyncIterator[StoredFile]:
    async with store_file(
        cast(SharedServices, call.services), call.tenant.id, media, call.files["file"]
    ) as stored:
        yield stored


async def create_media(call: Call) -> Record:
    stored: StoredFile = call.prepared
    return _shown(call, as_media(await stored.create(call.unit, media, call.body)))


async def get_media(call: Call) -> Record:
    return _shown(call, as_media(await call.get(media)))


async def update_media(call: Call) -> Record:
    """The name is what people see: the stored file and its address stay."""
    given = dict(call.body)
    stamped = {}
    if "filename" in given:
        stamped["filename"] = display_name(given.pop("filename"))
        if not stamped["filename"]:
            raise Invalid({"filename": REQUIRED})
    version = call.expected_version
    item = await call.unit.update(
        media, call.record_id, given, stamped=stamped, expected_version=version
    )
    return _shown(call, as_media(item))


async def delete_media(call: Call) -> None:
    await call.unit.delete(media, call.record_id, expected_version=call.expected_version)


def _shown(call: Call, item: MediaRecord) -> Record:
    tenant = call.tenant
    origin = site_url(call.services.settings, tenant.slug, tenant.custom_domain)
    return with_origin(item, media, origin)


def _of_type(prefix: str) -> list[Expression]:
    """Whole families and types have stored totals; other prefixes have to be counted."""
    if not prefix:
        return []
    if prefix.removesuffix("/") in _FAMILIES:
        return [equals("mime_family", prefix.removesuffix("/"))]
    if prefix in _TYPES:
        return [equals("mime_type", prefix)]
    name = Identifier(("mime_type",))
    last = prefix + "\U0010ffff"
    return [Comparison(name, ">=", Literal(prefix)), Comparison(name, "<=", Literal(last))]


routes = (
    list_of(
        "/media",
        list_media,
        scope="media:read",
        view=MEDIA,
        filters=(TYPE,),
        summary="List media, newest first",
    ),
    post(
        "/media",
        create_media,
        scope="media:write",
        view=MEDIA,
        body=UPLOAD,
        is_upload=True,
        prepare=prepare_upload,
        summary="Upload a file",
    ),
    get("/media/{id}", get_media, scope="media:read", view=MEDIA, summary="View a media item"),
    patch(
        "/media/{id}",
        update_media,
        scope="media:write",
        view=MEDIA,
        body=UPDATE,
        summary="Change a file's alternative text or name",
    ),
    delete(
        "/media/{id}",
        delete_media,
        scope="media:write",
        summary="Delete a media item; for 30 days it can be restored from the trash",
    ),
)
