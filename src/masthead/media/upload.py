"""Taking a file in: type told from its content, location removed, bytes stored, record made.

The bytes are stored before the record that names them. A job queued first sweeps them up again if
the record never comes, so that a crash between the two leaves nothing behind.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Protocol
from urllib.parse import urlsplit

from masthead import clock, ids
from masthead.caller import Caller, system
from masthead.errors import BadRequest, Invalid, TooLarge
from masthead.ids import TenantId
from masthead.media.filenames import stored_name
from masthead.media.images import ImagePool, dimensions
from masthead.media.location import strip_location
from masthead.media.sniff import sniff
from masthead.records.collection import Collection, Record
from masthead.records.engine import Records
from masthead.records.fields.base import REQUIRED
from masthead.records.fields.file import File
from masthead.records.unit import chosen_id, file_key
from masthead.settings import Settings
from masthead.storage.objects import ObjectStore
from masthead.web.multipart import Upload

SWEEP_AFTER = timedelta(hours=1)
MAX_REWRITTEN = 64 * 1024 * 1024
"""Larger pictures are kept as they are: rewriting one needs it in memory."""


class Services(Protocol):
    @property
    def records(self) -> Records: ...
    @property
    def objects(self) -> ObjectStore: ...
    @property
    def images(self) -> ImagePool: ...
    @property
    def settings(self) -> Settings: ...


@dataclass(frozen=True, slots=True)
class _Facts:
    name: str
    mime_type: str
    size: int
    width: int | None
    height: int | None
    content: bytes | None
    """The rewritten bytes, where something had to be taken out."""


def file_field(collection: Collection) -> File | None:
    return next((each for each in collection.fields if isinstance(each, File)), None)


async def store_upload(
    services: Services,
    caller: Caller,
    collection: Collection,
    given: Mapping[str, Any],
    uploads: Sequence[Upload],
) -> Record:
    field = file_field(collection)
    assert field is not None
    upload = next((each for each in uploads if each.field == field.name), None)
    if upload is None:
        raise Invalid({field.name: REQUIRED})
    if caller.tenant_id is None:
        raise BadRequest("Say which tenant the file belongs to, with tenant_id.")
    if upload.size > services.settings.max_upload:
        raise TooLarge(f"Files may have at most {services.settings.max_upload} bytes.")
    facts = await _facts(services, upload)
    record_id = chosen_id(given) or ids.new_id()
    key = file_key(caller.tenant_id, collection, record_id, facts.name)
    await _sweep_later(services, caller.tenant_id, collection, record_id, key)
    await services.objects.put(key, facts.content or upload.chunks(), content_type=facts.mime_type)
    values = {**given, "id": record_id, field.name: facts.name}
    url = await media_url(services, caller.tenant_id, record_id, facts.name)
    stamped = {
        "url": url,
        "filename": upload.filename or facts.name,
        "mime_type": facts.mime_type,
        "mime_family": facts.mime_type.partition("/")[0],
        "size": facts.size,
        "width": facts.width,
        "height": facts.height,
        "sha256": upload.sha256,
    }
    return await services.records.create(caller, collection, values, stamped=stamped)


async def media_url(services: Services, tenant_id: TenantId, record_id: str, name: str) -> str:
    """The file's public address on the tenant's own host."""
    found = await services.records.find(
        services.records.registry["tenants"], {"id": tenant_id}, tenant_id=tenant_id
    )
    base = urlsplit(services.settings.base_url)
    port = f":{base.port}" if base.port else ""
    host = f"{found[0]['slug']}.{services.settings.base_domain}{port}"
    return f"{base.scheme}://{host}/media/{record_id}/{name}"


async def _facts(services: Services, upload: Upload) -> _Facts:
    mime_type = sniff(upload.head, upload.filename)
    name = stored_name(upload.filename, mime_type)
    if not mime_type.startswith("image/"):
        return _Facts(name, mime_type, upload.size, None, None, None)
    size = await services.images.run(dimensions, upload.file)
    content = None
    if upload.size <= MAX_REWRITTEN:
        upload.file.seek(0)
        content = await services.images.run(strip_location, upload.file)
    width, height = size or (None, None)
    return _Facts(
        name, mime_type, upload.size if content is None else len(content), width, height, content
    )


async def _sweep_later(
    services: Services, tenant_id: TenantId, collection: Collection, record_id: str, key: str
) -> None:
    async with services.records.unit(system(tenant_id)) as unit:
        await unit.enqueue(
            "files.sweep",
            {"collection": collection.name, "record_id": record_id, "key": key},
            run_at=clock.to_text(services.records.clock() + SWEEP_AFTER),
        )
