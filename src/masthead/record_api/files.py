"""Uploaded files and their thumbnails: `/api/files/{collection}/{id}/{name}`."""

from __future__ import annotations

from masthead.media.http import serve_file as serve_stored_file
from masthead.record_api.call import Call


async def serve_file(call: Call) -> None:
    await serve_stored_file(call.services, call.scope, call.send, call.collection())
