"""Uploaded files and their thumbnails: `/api/files/{collection}/{id}/{name}`."""

from __future__ import annotations

from masthead.media.http import serve_file as serve_stored_file
from masthead.record_api.call import Call
from masthead.web.answers import Stream


async def serve_file(call: Call) -> Stream:
    collection = call.collection()
    return Stream(lambda send: serve_stored_file(call.services, call.scope, send, collection))
