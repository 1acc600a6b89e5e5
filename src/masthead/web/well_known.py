"""`/.well-known/` on every host: whom to tell of a security problem (RFC 9116), and where a reader
changes the password (W3C), which browsers and password managers look for."""

from __future__ import annotations

from datetime import timedelta

from starlette.types import Receive, Scope

from masthead import clock
from masthead.config.settings import Settings
from masthead.errors import NotFound
from masthead.web.answers import Answer, Endpoint, RawHeaders
from masthead.web.dispatch import Route

VALID_FOR = timedelta(days=180)
"""The format wants a date less than a year ahead."""
PASSWORD_PAGE = "/member/account"  # noqa: S105  (an address)


def well_known_routes(settings: Settings, now: clock.Clock) -> list[Route]:
    return [
        Route("/.well-known/security.txt", _SecurityText(settings.security_contact, now)),
        Route("/.well-known/change-password", _ChangePassword()),
    ]


class _SecurityText(Endpoint):
    def __init__(self, contact: str | None, now: clock.Clock) -> None:
        self._contact = contact
        self._clock = now

    async def answer(self, scope: Scope, receive: Receive) -> Answer:
        if self._contact is None or scope["method"] not in ("GET", "HEAD"):
            raise NotFound
        # A day's beginning, so that the text is the same all day.
        expires = f"{self._clock() + VALID_FOR:%Y-%m-%d}T00:00:00Z"
        text = f"Contact: {self._contact}\nExpires: {expires}\n"
        headers: RawHeaders = [
            (b"content-type", b"text/plain; charset=utf-8"),
            (b"cache-control", b"public, max-age=3600"),
            (b"x-content-type-options", b"nosniff"),
        ]
        return Answer(200, text.encode(), headers)


class _ChangePassword(Endpoint):
    async def answer(self, scope: Scope, receive: Receive) -> Answer:
        if scope["method"] not in ("GET", "HEAD"):
            raise NotFound
        return Answer(302, headers=[(b"location", PASSWORD_PAGE.encode())])
