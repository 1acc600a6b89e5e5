"""Serves uploaded files: `/media/{id}/{name}` on a site's own host, a picture's copies below it as
`/480.avif`, and the record store's `/api/files`."""

from __future__ import annotations

from functools import partial
from urllib.parse import parse_qsl

from masthead.base import ids
from masthead.base.errors import NotFound, SiteSuspended
from masthead.engine.records.collection import Collection, Record, file_key
from masthead.features.media.access import FileServices, check_may_open
from masthead.features.media.collection import file_names, media
from masthead.features.media.copies import widths_of
from masthead.features.media.images import COPY_TYPES, parse_copy
from masthead.features.media.thumbs import copy_key, thumb_key
from masthead.features.media.upload import file_field
from masthead.web.answers import Answer, RawHeaders, Stream
from masthead.web.dispatch import Route, reading
from masthead.web.files import CACHE_FOR_A_MONTH, CACHE_FOR_A_YEAR, CACHE_PRIVATELY, serve_object
from masthead.web.policy import Cache, Policy, Who
from masthead.web.request import Request

THUMBNAIL_TYPES = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})
MAX_QUERY_BYTES = 2_000
VARY = "X-Tenant-Id"
"""On the service's own host the header chooses the site."""
VARY_BY_READER = f"{VARY}, Authorization, Cookie"
MAX_NAMESAKES = 5

_MARKUP = frozenset({"text/html", "application/xml"})


def media_routes(services: FileServices) -> list[Route]:
    """A media item's `url`, and its copies."""
    return [
        Route("/media/{id}/{name}", reading(partial(_file, services), POLICY)),
        Route("/media/{id}/{name}/{copy}", reading(partial(_copy, services), POLICY)),
    ]


POLICY = Policy(who=Who.VISITOR, cache=Cache.ANYONE)


async def _file(services: FileServices, request: Request) -> Answer | Stream:
    return await file_answer(services, request, media)


async def _copy(services: FileServices, request: Request) -> Answer | Stream:
    copy = parse_copy(request.path_parameters["copy"])
    if copy is None:
        raise NotFound
    record, key = await _find_file(services, request, media)
    is_open = await check_may_open(services, request, record, _wanted(request.query_string))
    if moved := _moved(request, record):
        return moved
    # Only the declared sizes are made, so that clients can't fill the disk.
    if copy.width not in widths_of(record["picture_sizes"]):
        raise NotFound
    stored_key = await copy_key(services.objects, services.images, key, copy)
    content_type = record["mime_type"] if stored_key == key else COPY_TYPES[copy.kind]
    return Stream(
        lambda send: serve_object(
            request.scope,
            send,
            store=services.objects,
            key=stored_key,
            filename=f"{copy.width}_{record['file']}.{copy.kind}",
            content_type=content_type,
            cache_control=_cache(is_open, CACHE_FOR_A_YEAR if stored_key != key else ""),
            vary="" if is_open else VARY_BY_READER,
        )
    )


async def file_answer(
    services: FileServices, request: Request, collection: Collection
) -> Answer | Stream:
    field = file_field(collection)
    if field is None:
        raise NotFound
    record, key = await _find_file(services, request, collection)
    wanted = _wanted(request.query_string)
    is_open = await check_may_open(services, request, record, wanted)
    if moved := _moved(request, record):
        return moved
    name = record[field.name]
    size = wanted.get("thumb", "")
    # A file without a size could not be decoded, so it is not fetched for a thumbnail.
    if size in field.thumbs and record["mime_type"] in THUMBNAIL_TYPES and record["width"]:
        key = await thumb_key(services.objects, services.images, key, size)
    return Stream(
        lambda send: serve_object(
            request.scope,
            send,
            store=services.objects,
            key=key,
            filename=name,
            content_type=served_type(record["mime_type"]),
            download=wanted.get("download", "").lower() in ("1", "true", "t"),
            cache_control=_cache(is_open),
            vary=VARY if is_open else VARY_BY_READER,
        )
    )


def _cache(is_open: bool, public: str = "") -> str:
    return (public or CACHE_FOR_A_MONTH) if is_open else CACHE_PRIVATELY


async def _find_file(
    services: FileServices, request: Request, collection: Collection
) -> tuple[Record, str]:
    """The record that the path names, and the key of its file."""
    field = file_field(collection)
    record_id, name = request.path_parameters["id"], request.path_parameters["name"]
    if field is None or not ids.is_id(record_id):
        raise NotFound
    found = await services.records.find(
        collection,
        {"id": record_id},
        tenant_id=request.tenant_id,
        limit=MAX_NAMESAKES,
    )
    # On the bare host several tenants may have a file of this id.
    record = next((each for each in found if name in file_names(each)), None)
    if record is None:
        raise NotFound
    if request.tenant is None:
        # The addresses of the site itself are closed already.
        tenant = await services.directory.by_id(record["tenant_id"])
        if tenant is not None and tenant.is_suspended:
            raise SiteSuspended
    return record, file_key(record["tenant_id"], collection, record["id"], record[field.name])


def _moved(request: Request, record: Record) -> Answer | None:
    """The address of a replaced file redirects to the new file. The redirect is temporary, because
    that file may be replaced as well."""
    wanted = request.path_parameters["name"]
    if wanted == record["file"]:
        return None
    path = request.path.replace(f"/{wanted}", f"/{record['file']}", 1)
    if (copy := parse_copy(request.path_parameters.get("copy", ""))) is not None:
        # The new picture may be smaller.
        is_there = copy.width in widths_of(record["picture_sizes"])
        path = path if is_there else path.rpartition("/")[0]
    query = request.query_string.decode("latin-1")
    location = f"{path}?{query}" if query else path
    headers: RawHeaders = [
        (b"location", location.encode("latin-1")),
        (b"cache-control", b"no-cache"),
    ]
    return Answer(302, headers=headers)


def served_type(mime_type: str) -> str:
    """Markup is sent as plain text, so that no browser renders it."""
    if mime_type in _MARKUP:
        return "text/plain; charset=utf-8"
    # A byte order mark takes precedence over the header.
    return f"{mime_type}; charset=utf-8" if mime_type.startswith("text/") else mime_type


def _wanted(query_string: bytes) -> dict[str, str]:
    """Unknown or invalid parameters are ignored."""
    if not query_string or len(query_string) > MAX_QUERY_BYTES:
        return {}
    return dict(parse_qsl(query_string.decode("latin-1")))
