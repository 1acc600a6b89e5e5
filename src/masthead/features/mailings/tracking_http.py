"""`/mail/open` and `/mail/click`: what an email that is counted asks the site for."""

from __future__ import annotations

import base64
from typing import Final
from urllib.parse import quote

from masthead.base.errors import NotFound
from masthead.base.languages.words import words
from masthead.features.mailings.tracking import CLICK_PATH, OPEN_PATH, Tracking
from masthead.web.answers import Answer
from masthead.web.dispatch import Route, reading
from masthead.web.policy import Policy, Who
from masthead.web.query_string import parse_query_string
from masthead.web.request import Request

_PIXEL: Final = base64.b64decode("R0lGODlhAQABAAAAACH5BAEKAAEALAAAAAABAAEAAAICTAEAOw==")
_HEADERS: Final = (
    (b"cache-control", b"no-store"),
    (b"referrer-policy", b"no-referrer"),
    (b"x-robots-tag", b"noindex"),
)
_KEPT: Final = "%/:=&?~#+!$,;'@()*[]"
"""Characters of an address that stay in a header; all others are percent-encoded."""


def tracking_routes(tracking: Tracking) -> list[Route]:

    async def opened(request: Request) -> Answer:
        given = _given(request)
        if request.tenant is not None:
            mailing_id, reader = given.get("m", ""), given.get("r", "")
            await tracking.count(request.tenant.id, "opens", mailing_id, reader)
        headers = [(b"content-type", b"image/gif"), *_HEADERS]
        return Answer(200, _PIXEL, headers)

    async def clicked(request: Request) -> Answer:
        given = _given(request)
        target, tenant = given.get("to", ""), request.tenant
        if tenant is None or not tracking.is_ours(tenant.id, target, given.get("s", "")):
            raise NotFound(words("This link is incomplete. Open it from the email again."))
        await tracking.count(tenant.id, "clicks", given.get("m", ""), given.get("r", ""))
        return Answer(302, headers=[(b"location", quote(target, safe=_KEPT).encode()), *_HEADERS])

    policy = Policy(who=Who.ANYONE)
    return [Route(OPEN_PATH, reading(opened, policy)), Route(CLICK_PATH, reading(clicked, policy))]


def _given(request: Request) -> dict[str, str]:
    return parse_query_string(request.query_string, "utf-8")
