"""ETags, made of a site and a version of it or of a record, and conditional requests."""

from __future__ import annotations

import re
from functools import lru_cache
from hashlib import sha256

from masthead.base.errors import Conflict
from masthead.base.ids import TenantId

MAX_BYTES = 4096
"""The length of a header with ETags: more than a browser or a proxy sends."""
_VERSION = re.compile(r"([0-9]{1,20})(?:-([0-9a-f]{12}))?", re.ASCII)
_TAG = re.compile(r'(?:W/)?"([^"]*)"')


def etag(version: int, tenant_id: TenantId) -> bytes:
    return b'"%d-%s"' % (version, site_mark(tenant_id))


@lru_cache(maxsize=4_096)
def site_mark(tenant_id: TenantId) -> bytes:
    """In every ETag: sites have the same addresses on the service's own host, and equal versions.
    Not the id itself, which readers don't learn."""
    return sha256(tenant_id.encode()).hexdigest()[:12].encode()


def is_unchanged(if_none_match: str | None, tag: bytes) -> bool:
    """For GET: the client has this response already."""
    if if_none_match is None or len(if_none_match) > MAX_BYTES:
        return False
    if if_none_match.strip() == "*":
        return True
    wanted = tag.decode().strip('"')
    return wanted in _TAG.findall(if_none_match)


def expected_version(if_match: str | None, tenant_id: TenantId) -> int | None:
    """For changes: the version that the client expects, with or without the site's mark. `*` only
    expects the record to exist.

    A header without a version of ours never matches. Weak tags are accepted as well: a proxy that
    compresses responses makes ours weak.
    """
    if if_match is None or if_match.strip() == "*":
        return None
    tags = _TAG.findall(if_match[:MAX_BYTES])
    found = _VERSION.fullmatch(tags[0]) if len(tags) == 1 else None
    if found is None or found[2] not in (None, site_mark(tenant_id).decode()):
        raise Conflict("The If-Match header names no version of this record. Read it again.")
    return int(found[1])
