"""The cookie of a reader who has just commented: which comments this browser has posted.

It is signed for one site and lasts as long as a comment can be changed. A request with this cookie
gets its own page; all others share the cached one."""

from __future__ import annotations

from typing import Final

from masthead.base import clock
from masthead.base.config.keyring import KeyRing
from masthead.base.config.tokens import is_signed, sign
from masthead.base.ids import TenantId, is_id
from masthead.features.comments.discussion import CHANGEABLE
from masthead.web.cookies import own_cookie, set_own_cookie
from masthead.web.request import Request

COOKIE: Final = "posted_comments"
MAX_COMMENTS: Final = 20
_MAX_LENGTH: Final = 500


class PostedComments:
    def __init__(self, keyring: KeyRing, now: clock.Clock = clock.now) -> None:
        self._keyring = keyring
        self._clock = now

    def of(self, request: Request) -> frozenset[str]:
        """Their ids; nothing where the cookie is missing, forged, another site's or too old."""
        value = own_cookie(request.scope, COOKIE)
        tenant_id = request.tenant_id
        if not value or len(value) > _MAX_LENGTH or not value.isascii() or tenant_id is None:
            return frozenset()
        signed, _, signature = value.rpartition(".")
        is_genuine = is_signed(self._keyring, _purpose(tenant_id), signed, signature)
        expires, _, ids = signed.partition(".")
        if not is_genuine or int(expires) <= self._clock().timestamp():
            return frozenset()
        return frozenset(filter(is_id, ids.split("-")))

    def header(
        self, tenant_id: TenantId, posted: frozenset[str], new_id: str, *, is_https: bool
    ) -> tuple[bytes, bytes]:
        """A `set-cookie` header that adds a comment."""
        ids = [new_id, *sorted(posted - {new_id})][:MAX_COMMENTS]
        expires = int((self._clock() + CHANGEABLE).timestamp())
        signed = f"{expires}.{'-'.join(ids)}"
        signature = sign(self._keyring, _purpose(tenant_id), signed)
        cookie = set_own_cookie(
            COOKIE,
            f"{signed}.{signature}",
            path="/posts",
            seconds=int(CHANGEABLE.total_seconds()),
            is_https=is_https,
        )
        return b"set-cookie", cookie.encode()


def _purpose(tenant_id: TenantId) -> str:
    return f"posted-comments/{tenant_id}"
