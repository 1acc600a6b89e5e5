"""Who may open a file that is not everyone's: staff (of contributors those
who uploaded it), members who may read a text that uses it, an
API key that reads media, and whoever has a signed address. Others are told that there is none."""

from __future__ import annotations

from collections.abc import Mapping

from masthead.base.caller import GUEST_READER, SITE_STAFF, Caller, Kind, Reader
from masthead.base.errors import NotFound, RateLimited
from masthead.base.ids import TenantId
from masthead.engine.links.file_readers import is_open, lists_for
from masthead.engine.links.file_uses import uses_of
from masthead.engine.records.collection import Record
from masthead.features.media.images import ImagePool
from masthead.features.media.signed_addresses import PARAMETER, opens_file
from masthead.features.members.collection import blog_members, reader_of_member
from masthead.identity.sessions import TokenType
from masthead.web.callers import token_of
from masthead.web.request import Request
from masthead.web.services import WebServices

SCOPE = "media:read"


class FileServices(WebServices, kw_only=True, eq=False):
    """The services for serving files."""

    images: ImagePool


async def check_may_open(
    services: FileServices, request: Request, item: Record, query: Mapping[str, str]
) -> bool:
    """Whether the file is everyone's, so that shared caches may keep it. Raises NotFound, as for a
    file that does not exist."""
    if is_open(item):
        return True
    if _has_signature(services, item, query) or await _may_open(services, request, item, query):
        return False
    raise NotFound


def _has_signature(services: FileServices, item: Record, query: Mapping[str, str]) -> bool:
    now, given = services.records.clock(), query.get(PARAMETER, "")
    return opens_file(services.keyring, item["tenant_id"], item["id"], given, now=now)


async def _may_open(
    services: FileServices, request: Request, item: Record, query: Mapping[str, str]
) -> bool:
    token = query.get("token", "")
    sessions = services.accounts.sessions
    by_token = await sessions.caller_of(token, TokenType.FILE) if token else None
    for caller in (by_token, await services.callers.of(request)):
        if caller is not None and await _may_read(services, caller, item):
            return True
    if await _has_key(services, request, item):
        return True
    # A post that was saved with a later date may be out by now.
    return not item["private"] and await _is_shown(services, item, GUEST_READER)


async def _may_read(services: FileServices, caller: Caller, item: Record) -> bool:
    if caller.kind is Kind.OPERATOR:
        return True
    if caller.tenant_id != item["tenant_id"]:
        return False
    if caller.kind is Kind.CONTRIBUTOR:
        return bool(item["uploaded_by"] == caller.id)
    if caller.kind in SITE_STAFF:
        return True
    if caller.kind is not Kind.MEMBER:
        return False
    # Read for each request, because access to paid posts ends with the payment.
    found = await services.records.find_one(
        blog_members, {"id": caller.id}, tenant_id=TenantId(item["tenant_id"])
    )
    return found is not None and await _is_shown(services, item, reader_of_member(found))


async def _is_shown(services: FileServices, item: Record, reader: Reader) -> bool:
    records = services.records
    using = [each.name for each in records.registry.collections if uses_of(each)]
    tenant_id = TenantId(item["tenant_id"])
    return await records.is_listed(tenant_id, using, lists_for(reader), item["id"])


async def _has_key(services: FileServices, request: Request, item: Record) -> bool:
    given = token_of(request.scope)
    key = await services.keys.authenticate(given) if given else None
    if key is None or key.tenant.id != item["tenant_id"] or SCOPE not in key.scopes:
        return False
    if not key.tenant.plan.has_api or (services.settings.require_https and not request.is_https):
        return False
    decision = await services.limiter.admit(key.id, key.tenant)
    if not decision.allowed:
        raise RateLimited(decision.retry_after)
    return True
