"""`/.well-known/` on every host: whom to tell of a security problem (RFC 9116), and where a reader
changes the password (W3C), which browsers and password managers look for."""

from __future__ import annotations

from datetime import timedelta
from functools import partial

from masthead.base import clock
from masthead.base.config.settings import Settings
from masthead.base.errors import NotFound
from masthead.web.answers import Answer, RawHeaders
from masthead.web.dispatch import Route, reading
from masthead.web.policy import FOR_ALL, Cache, Policy, Who
from masthead.web.request import Request

VALID_FOR = timedelta(days=180)
"""The format wants a date less than a year ahead."""
PASSWORD_PAGE = "/member/account"  # noqa: S105  (an address)


def well_known_routes(settings: Settings, now: clock.Clock) -> list[Route]:
    return [
        Route(
            "/.well-known/security.txt", reading(partial(_security_text, settings, now), FOR_ALL)
        ),
        Route(
            "/.well-known/change-password",
            reading(_change_password, Policy(who=Who.ANYONE, cache=Cache.ANYONE)),
        ),
    ]


async def _security_text(settings: Settings, now: clock.Clock, _: Request) -> Answer:
    if settings.security_contact is None:
        raise NotFound
    # A day's beginning, so that the text is the same all day.
    expires = f"{now() + VALID_FOR:%Y-%m-%d}T00:00:00Z"
    text = f"Contact: {settings.security_contact}\nExpires: {expires}\n"
    headers: RawHeaders = [
        (b"content-type", b"text/plain; charset=utf-8"),
        (b"cache-control", b"public, max-age=3600"),
        (b"x-content-type-options", b"nosniff"),
    ]
    return Answer(200, text.encode(), headers)


async def _change_password(_: Request) -> Answer:
    return Answer(302, headers=[(b"location", PASSWORD_PAGE.encode())])
