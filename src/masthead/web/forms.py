"""HTML forms: their values, and the checks that a form was sent from a page of the same site.

Two checks, because tenants share a parent domain: to a browser their sites are the same site, and
`SameSite` cookies go along. The browser's own headers name the origin of the page; and a caller who
is signed in sends a token along that no other site can read.
"""

from __future__ import annotations

from urllib.parse import unquote_to_bytes

from masthead.base.config.keyring import KeyRing
from masthead.base.config.tokens import is_signed, sign
from masthead.base.errors import BadRequest, Forbidden
from masthead.base.languages.words import words
from masthead.web.answers import header
from masthead.web.asgi import Receive, Scope
from masthead.web.bodies import decode_beside, read_body
from masthead.web.policy import FORM_BYTES
from masthead.web.request import request_of

MAX_BYTES = FORM_BYTES
MAX_FIELDS = 200
CONTENT_TYPE = "application/x-www-form-urlencoded"
FORM_TOKEN = "form_token"  # noqa: S105  (the name of a field)
TOKEN_HEADER = b"x-form-token"
"""The header of a call by a page's script."""

ANOTHER_ORIGIN = words(
    "The form was not sent from a page of this site. Open the page again and send the form there."
)
STALE = words(
    "You have signed in or out since this page was opened, so nothing was changed. "
    "Open the page again and repeat it there."
)

_PURPOSE, _LENGTH = "forms", 40
_PIECE = 16 * 1024
"""Bytes of a text that are decoded at once."""


async def read_form(scope: Scope, receive: Receive, *, limit: int = MAX_BYTES) -> dict[str, str]:
    """The last value of each name. Lines end in a line feed alone, which browsers don't send."""
    content_type = (header(scope, b"content-type") or "").partition(";")[0].strip().lower()
    if content_type != CONTENT_TYPE:
        raise BadRequest(words("The form must be sent as %(kind)s.", kind=CONTENT_TYPE))
    raw = await read_body(scope, receive, limit=limit)
    # A long text takes a while to decode.
    return await decode_beside(decode_form, raw) if len(raw) > MAX_BYTES else decode_form(raw)


def decode_form(raw: bytes) -> dict[str, str]:
    if raw.count(b"&") >= MAX_FIELDS:
        raise BadRequest(words("The form has more than %(number)s fields.", number=MAX_FIELDS))
    found: dict[str, str] = {}
    for pair in raw.split(b"&"):
        if pair:
            name, _, value = pair.partition(b"=")
            found[_unquoted(name)] = _unquoted(value).replace("\r\n", "\n")
    if any("\0" in name or "\0" in value for name, value in found.items()):
        raise BadRequest(words("The form contains a NUL character, which text can't contain."))
    return found


def _unquoted(value: bytes) -> str:
    """In pieces: the event loop has to wait for each call into the library, which is one step to
    the interpreter however long it takes."""
    pieces: list[bytes] = []
    at = 0
    while at < len(value):
        end = min(at + _PIECE, len(value))
        escape = value.rfind(b"%", end - 2, end)
        if escape > at and end < len(value):
            end = escape
        pieces.append(unquote_to_bytes(value[at:end].replace(b"+", b" ")))
        at = end
    return b"".join(pieces).decode("utf-8", "replace")


def check_same_origin(scope: Scope) -> None:
    """Refuses a form that another site's page sent, or that no browser did."""
    fetch_site = header(scope, b"sec-fetch-site")
    if fetch_site is not None:
        is_own = fetch_site == "same-origin"
    else:
        # Browsers leave that header out where the connection is not secure.
        is_own = header(scope, b"origin") == own_origin(scope)
    if not is_own:
        raise Forbidden(ANOTHER_ORIGIN)


def own_origin(scope: Scope) -> str:
    """The origin of the request, which may have come by the site's own domain or by its
    subdomain."""
    scheme = "https" if request_of(scope).is_https else "http"
    return f"{scheme}://{header(scope, b'host')}"


class FormTokens:
    """The tokens in the forms of signed-in callers: valid for one sign-in, as long as it lasts."""

    def __init__(self, keyring: KeyRing) -> None:
        self._keyring = keyring

    def of(self, sign_in: str) -> str:
        """`sign_in` is the caller's: see `Caller.sign_in`."""
        return sign(self._keyring, _PURPOSE, sign_in, length=_LENGTH)

    def check(self, form: dict[str, str], sign_in: str) -> None:
        given = form.get(FORM_TOKEN, "")
        is_own = is_signed(self._keyring, _PURPOSE, sign_in, given, length=_LENGTH)
        if not sign_in or not is_own:
            raise Forbidden(STALE)
