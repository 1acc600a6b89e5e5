"""Uploaded files and their thumbnails: `/api/files/{collection}/{id}/{name}`."""

from __future__ import annotations

from masthead.faces.record_api.call import Call
from masthead.features.media.http import file_answer
from masthead.web.answers import Answer, Stream


async def serve_file(call: Call) -> Answer | Stream:
    return await file_answer(call.services, call.request, call.collection())
