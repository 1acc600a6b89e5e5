"""The picture that other sites show for a post without one: its address, and its stored file."""

from __future__ import annotations

import hashlib
from urllib.parse import quote

from masthead.base.errors import NotFound
from masthead.faces.reader import share_card
from masthead.faces.reader.request import SiteRequest
from masthead.faces.reader.site import site_of
from masthead.features.media.thumbs import key_beside
from masthead.features.posts.collection import share_file
from masthead.features.posts.record_view import PostRecord
from masthead.storage.objects import ObjectStore


def share_url(request: SiteRequest, post: PostRecord) -> str:
    """Changes with all that is drawn. Empty where the fonts have no glyphs for it."""
    name, accent = site_of(request).name, request.site_record["accent_color"]
    if not share_card.can_draw(post["title"]) and not share_card.can_draw(name):
        return ""
    drawn = "\0".join((share_card.DRAWING, name, post["title"], accent))
    digest = hashlib.sha256(drawn.encode("utf-8", "replace")).hexdigest()[:16]
    return f"/share/{quote(post['slug'])}/{digest}.png"


async def make_share_picture(request: SiteRequest, post: PostRecord, digest: str) -> bytes:
    """Drawn if it is not stored yet: one at a time for a site."""
    store, pool = request.services.objects, request.services.images
    key = key_beside(share_file(request.tenant_id, post["id"]), f"{digest}.png")
    if stored := await _read_stored(store, key):
        return stored
    async with pool.tenant_slot(request.tenant_id):
        # Another request may have drawn it meanwhile.
        if stored := await _read_stored(store, key):
            return stored
        name, accent = site_of(request).name, request.site_record["accent_color"]
        content = await pool.run(share_card.draw, name, post["title"], accent)
        # That of an earlier title goes.
        await store.delete_prefix(key.rpartition("/")[0])
        await store.put(key, content, content_type="image/png")
    return content


async def _read_stored(store: ObjectStore, key: str) -> bytes:
    """Empty where there is none."""
    try:
        found = await store.get(key)
    except NotFound:
        return b""
    return b"".join([chunk async for chunk in found.chunks])
