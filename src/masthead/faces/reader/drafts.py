"""A draft for people who have its share link: all of it, past the paywall and with private
pictures."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import timedelta
from functools import partial
from typing import Final
from urllib.parse import quote

from masthead.base import clock
from masthead.base.errors import NotFound
from masthead.base.ids import TenantId
from masthead.content.texts.languages import root_of
from masthead.content.texts.publication import PUBLISHED
from masthead.engine.links.file_uses import uses_of
from masthead.engine.records.collection import Record
from masthead.engine.records.engine import Records
from masthead.faces.reader.endpoint import Result, SitePages
from masthead.faces.reader.preview import Previews
from masthead.faces.reader.request import SiteRequest
from masthead.features.media.collection import media
from masthead.features.media.signed_addresses import PARAMETER, sign_file
from masthead.features.posts.collection import posts
from masthead.features.posts.draft_links import ADDRESS, draft_of
from masthead.features.posts.site import reader_of_all
from masthead.identity.tenants import Role, superusers
from masthead.web.answers import Answer
from masthead.web.assets import content_policy
from masthead.web.dispatch import Route, reading
from masthead.web.forms import own_origin
from masthead.web.policy import Policy, Who
from masthead.web.request import Request

_MOST_FILES: Final = 200
_ADDRESS: Final = re.compile(rb"/media/([a-z0-9]{15})/[^\s\"'<>,)]+")
_SECRET: Final = (
    (b"cache-control", b"private, no-store"),
    (b"referrer-policy", b"no-referrer"),
)
"""The address of the page is a secret, and the page is gone once the link has ended."""
_PICTURES_OPEN_FOR: Final = timedelta(hours=1)
"""From the page that shows them: so long may a page be open before a picture is loaded."""


def draft_routes(pages: SitePages) -> list[Route]:
    return [
        Route(f"{ADDRESS}{{token}}", reading(partial(_answer, pages), Policy(who=Who.LINK))),
    ]


async def _answer(pages: SitePages, request: Request) -> Answer:
    services, tenant = pages.services, request.tenant
    token = request.path_parameters["token"]
    found = await draft_of(services.records, tenant.id, token) if tenant else None
    if tenant is None or found is None:
        return await pages.personal_answer(request, _nothing)
    opened, link = found
    text, now = opened.text, services.records.clock()
    if text["status"] == PUBLISHED and text["published_at"] <= clock.to_text(now):
        if text["email_only"]:
            return await pages.personal_answer(request, _nothing)
        location = f"{root_of(text['edition'])}/posts/{quote(text['slug'])}".encode()
        return Answer(302, headers=[(b"location", location), *_SECRET])
    shown = opened.values
    body = await Previews(services).page(request, tenant, reader_of_all(shown), posts, text=shown)
    files = await _files_of(services.records, shown, link)
    until = now + _PICTURES_OPEN_FOR
    signed = {each: sign_file(services.keyring, tenant.id, each, until) for each in files}
    policy = content_policy(own_origin(request.scope)).encode()
    headers = [
        (b"content-type", b"text/html; charset=utf-8"),
        (b"content-security-policy", policy),
        (b"x-content-type-options", b"nosniff"),
        (b"x-robots-tag", b"noindex, nofollow, noai, noimageai"),
        *_SECRET,
    ]
    return Answer(200, _with_signed(body, signed), headers)


async def _nothing(_: SiteRequest) -> Result:
    raise NotFound


async def _files_of(records: Records, post: Record, link: Record) -> list[str]:
    """The files of the draft that the person who made the link may open: a text may name any."""
    uses = uses_of(posts)
    ids = sorted(uses.files(post))[:_MOST_FILES] if uses else []
    tenant_id = TenantId(link["tenant_id"])
    maker = await records.find_one(superusers, {"id": link["made_by"]}, tenant_id=tenant_id)
    if maker is None:
        return []
    found = [await records.find_one(media, {"id": each}, tenant_id=tenant_id) for each in ids]
    is_limited = maker["role"] == Role.CONTRIBUTOR
    return [
        each["id"]
        for each in found
        if each is not None and not (is_limited and each["uploaded_by"] != maker["id"])
    ]


def _with_signed(body: bytes, signed: Mapping[str, str]) -> bytes:
    """The page, in which the addresses of these files open them, and those of their copies."""

    def sign(address: re.Match[bytes]) -> bytes:
        signature = signed.get(address[1].decode())
        if signature is None:
            return address[0]
        mark = b"&amp;" if b"?" in address[0] else b"?"
        return address[0] + mark + f"{PARAMETER}={signature}".encode()

    return _ADDRESS.sub(sign, body)
