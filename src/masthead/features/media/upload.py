"""Stores an upload: detects its type, removes the location, stores the bytes, creates the record.

The bytes are stored before the record, and before its transaction opens. A job that is queued first
deletes them if the record is never created, so that a crash leaves no file behind. The record's
transaction takes the job back. If a worker had it first, nothing is stored: the file may be gone.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import Any

import msgspec

from masthead.base import clock, ids
from masthead.base.caller import Caller, system
from masthead.base.errors import (
    BadRequest,
    Conflict,
    Forbidden,
    Invalid,
    NotFound,
    Problem,
    SweptAway,
    TooLarge,
)
from masthead.base.ids import TenantId
from masthead.base.languages.formats import Numeral
from masthead.base.languages.words import staff_words
from masthead.engine.records.collection import Collection, Record, file_key
from masthead.engine.records.fields.base import REQUIRED
from masthead.engine.records.fields.file import File
from masthead.engine.records.write.unit import Unit
from masthead.engine.records.write.validation import chosen_id
from masthead.features.media.collection import media
from masthead.features.media.filenames import display_name, stored_name
from masthead.features.media.images import dimensions
from masthead.features.media.location import strip_location
from masthead.features.media.path import media_path
from masthead.features.media.services import SharedServices
from masthead.features.media.sniff import SVG, sniff
from masthead.features.media.svg import UnsafeSvg, clean_svg, svg_size
from masthead.web.multipart import Upload

SWEEP_AFTER = timedelta(hours=1)
MAX_REWRITE_BYTES = 64 * 1024 * 1024
"""Larger pictures are stored unchanged: rewriting needs them in memory."""


class StoredFile(msgspec.Struct, frozen=True):
    """A file in the object store, and the values for its record."""

    values: Mapping[str, Any]
    """The record's id and the stored name."""
    stamped: Mapping[str, Any]
    sweep_id: str

    async def create(self, unit: Unit, collection: Collection, given: Mapping[str, Any]) -> Record:
        record = await unit.create(collection, {**given, **self.values}, stamped=self.stamped)
        await self.keep(unit)
        return record

    async def keep(self, unit: Unit) -> None:
        """Called in the transaction whose record names the file."""
        if not await unit.cancel(self.sweep_id):
            raise SweptAway


class _FileInfo(msgspec.Struct, frozen=True):
    name: str
    mime_type: str
    size: int
    width: int | None = None
    height: int | None = None
    content: bytes | None = None
    """The rewritten bytes, if something was removed."""


def file_field(collection: Collection) -> File | None:
    if not collection.files:
        return None
    field = collection.by_name[collection.files[0]]
    assert isinstance(field, File)
    return field


async def store_upload(
    services: SharedServices,
    caller: Caller,
    collection: Collection,
    given: Mapping[str, Any],
    *,
    uploads: Sequence[Upload],
) -> Record:
    upload = find_upload(collection, uploads)
    tenant_id = require_tenant(caller)
    record_id = chosen_id(given)
    async with store_file(services, tenant_id, collection, upload, record_id=record_id) as stored:
        values = {**given, **stored.values}
        await services.records.validate_async(collection, values)
        prepared = await services.records.prepare(collection, values)
        async with services.records.unit(caller, prepared=prepared) as unit:
            return await stored.create(unit, collection, values)


def find_upload(collection: Collection, uploads: Sequence[Upload]) -> Upload:
    """The file that a new record of the collection needs."""
    field = file_field(collection)
    assert field is not None
    upload = next((each for each in uploads if each.field == field.name), None)
    if upload is None:
        raise Invalid({field.name: REQUIRED})
    return upload


def require_tenant(caller: Caller) -> TenantId:
    if caller.tenant_id is None:
        raise BadRequest("Say which tenant the file belongs to, with tenant_id.")
    return caller.tenant_id


MAX_EARLIER = 100
"""Files that an item remembers to have replaced. The address of an older one is lost."""


async def replace_file(
    services: SharedServices, caller: Caller, item: Record, upload: Upload
) -> Record:
    """Gives a media item another file. The new bytes are stored first, then the record names them,
    then a job removes the old ones; a crash between leaves bytes that the sweep removes.

    The file has a new address, so that no browser shows the old picture from its cache. Addresses
    of the earlier files lead to it.
    """
    tenant_id = require_tenant(caller)
    services.records.check_may_update(caller, media, item["id"])
    async with store_file(services, tenant_id, media, upload, record_id=item["id"]) as stored:
        if stored.stamped["mime_family"] != item["mime_family"]:
            raise Invalid({upload.field: _another_family(item["mime_family"])})
        async with services.records.unit(caller) as unit:
            # Read under the lock: another replacement may have come first.
            found = await unit.require(media, {"id": item["id"]})
            stamped = {
                **stored.stamped,
                upload.field: stored.values[upload.field],
                "earlier_files": [*found["earlier_files"], found["file"]][-MAX_EARLIER:],
                "picture_sizes": "",
            }
            await stored.keep(unit)
            return await unit.update(media, item["id"], {}, stamped=stamped)


def _another_family(family: str) -> Problem:
    wanted = {"image": "a picture", "audio": "a sound file", "video": "a film"}
    message = f"Choose {wanted.get(family, 'a file of the same kind')}: texts use the file as one."
    return Problem("validation_another_kind", message)


@asynccontextmanager
async def store_file(
    services: SharedServices,
    tenant_id: TenantId,
    collection: Collection,
    upload: Upload,
    *,
    record_id: str = "",
) -> AsyncIterator[StoredFile]:
    """Stores the file; the context creates the record. If that fails, the file is deleted.

    Raises TooLarge, and Invalid for an SVG that can't be made safe.
    """
    if upload.size > services.settings.max_upload:
        most = Numeral(services.settings.max_upload)
        raise TooLarge(staff_words("Files may have at most %(number)s bytes.", number=most))
    info = await _file_info(services, upload)
    record_id = record_id or ids.new_id()
    key = file_key(tenant_id, collection, record_id, info.name)
    sweep_id = await _enqueue_sweep(services, tenant_id, collection, record_id, key=key)
    await services.objects.put(key, info.content or upload.chunks(), content_type=info.mime_type)
    stamped = {
        "url": media_path(record_id, info.name),
        "filename": display_name(upload.filename) or info.name,
        "mime_type": info.mime_type,
        "mime_family": info.mime_type.partition("/")[0],
        "size": info.size,
        "width": info.width,
        "height": info.height,
        "sha256": upload.sha256,
    }
    try:
        yield StoredFile({"id": record_id, upload.field: info.name}, stamped, sweep_id)
    except _RECORD_ERRORS:
        # After any other error the record may exist, so the file is left to the sweep.
        await services.objects.delete(key)
        raise


_RECORD_ERRORS = (Invalid, BadRequest, Forbidden, NotFound, Conflict, SweptAway)


async def _file_info(services: SharedServices, upload: Upload) -> _FileInfo:
    sniffed = sniff(upload.head, upload.filename)
    name = stored_name(upload.filename, sniffed)
    mime_type = sniffed.partition(";")[0]
    if mime_type == SVG:
        return await _svg_info(services, upload, name)
    if not mime_type.startswith("image/"):
        return _FileInfo(name, mime_type, upload.size)
    width, height = await services.images.run(dimensions, upload.file) or (None, None)
    content = None
    if upload.size <= MAX_REWRITE_BYTES:
        content = await services.images.run(strip_location, upload.file)
    size = upload.size if content is None else len(content)
    return _FileInfo(name, mime_type, size, width, height, content)


async def _svg_info(services: SharedServices, upload: Upload, name: str) -> _FileInfo:
    try:
        content = await services.images.run(clean_svg, upload.file)
    except UnsafeSvg as error:
        raise Invalid({upload.field: Problem("validation_unsafe_svg", str(error))}) from error
    width, height = svg_size(content) or (None, None)
    return _FileInfo(name, SVG, len(content), width, height, content)


async def _enqueue_sweep(
    services: SharedServices,
    tenant_id: TenantId,
    collection: Collection,
    record_id: str,
    *,
    key: str,
) -> str:
    async with services.records.unit(system(tenant_id)) as unit:
        return await unit.enqueue(
            "files.sweep",
            {"collection": collection.name, "record_id": record_id, "key": key},
            run_at=clock.to_text(services.records.clock() + SWEEP_AFTER),
        )
