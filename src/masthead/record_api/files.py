"""Uploaded files and their thumbs: `/api/files/{collection}/{id}/{name}`."""

from __future__ import annotations

from masthead import ids
from masthead.errors import NotFound
from masthead.media.thumbs import thumb_key
from masthead.media.upload import file_field
from masthead.record_api.call import Call
from masthead.record_api.parameters import query_parameters
from masthead.records.unit import file_key
from masthead.web.files import serve_object


async def serve_file(call: Call) -> None:
    """Files are public to whoever knows their unguessable name, as the reader's site needs them."""
    collection = call.collection()
    field = file_field(collection)
    name = call.scope["path_params"]["name"]
    if field is None:
        raise NotFound
    if not ids.is_id(call.record_id):
        raise NotFound
    found = await call.records.find(
        collection, {"id": call.record_id}, tenant_id=call.visit.tenant_id
    )
    if not found or found[0][field.name] != name:
        raise NotFound
    record = found[0]
    key = file_key(record["tenant_id"], collection, record["id"], name)
    wanted = query_parameters(call.scope["query_string"])
    if wanted.get("thumb") in field.thumbs:
        key = await thumb_key(call.services.objects, call.services.images, key, wanted["thumb"])
    await serve_object(
        call.scope,
        call.send,
        store=call.services.objects,
        key=key,
        filename=name,
        content_type=record["mime_type"],
        download=wanted.get("download", "").lower() in ("1", "true", "t"),
    )
