"""The requirements of a route, checked before its handler runs. `checks.py` has the checks, in
their order. Every route needs a policy, and a contradictory one keeps the service from starting."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from enum import Enum, auto

import msgspec

from masthead.base.config.settings import Settings

FORM_BYTES = 64 * 1024
JSON_BYTES = 8 * 1024 * 1024
LARGEST_UNPROVEN = 1024 * 1024
MAX_SIGNED_OUT = 256 * 1024
"""The size of a form whose sender was signed out meanwhile. It is shown again, so that nothing
typed is lost; a larger form of a stranger is not read."""


class Who(Enum):
    """Whom a route is for. What they may read and change is for the engine to say."""

    ANYONE = auto()
    """It is the same for everyone."""
    VISITOR = auto()
    """A guest, a member or staff: the handler sees which."""
    LINK = auto()
    """Whoever has the link of an email: its token, which the handler checks, is the credential."""
    SIGNATURE = auto()
    """Whoever signed the body: the handler checks the signature."""
    KEY = auto()
    """An API key with the route's scope. A route without one makes calls of the public API, each of
    which is checked and counted by itself."""
    STAFF = auto()
    EDITOR = auto()
    """An editor, or those of `OWNER`."""
    OWNER = auto()
    """An owner of the site, or an operator who works in it."""
    OPERATOR = auto()


class WhileSuspended(Enum):
    """The answer of a suspended site."""

    CLOSED = auto()
    OPERATORS = auto()
    """Closed to all but operators, who work in it as before."""
    OPEN = auto()


class Origin(Enum):
    """The proof that a page of ours sent a request that changes something."""

    ANY = auto()
    """Nothing: no cookie counts here."""
    LINK = auto()
    """The token of the link that leads to the form, which the handler checks: also from a browser
    that says nothing of where the page comes from."""
    COOKIES = auto()
    """A session cookie counts only from a page of the same origin; a token counts from anywhere."""
    OWN = auto()
    """The browser names a page of the same origin."""
    FORM = auto()
    """And the form brings the token of the sign-in, if its sender is signed in."""
    PAGE = auto()
    """A script reads: it names the owner of its page."""
    SCRIPT = auto()
    """A script changes something: it names that owner, and brings the token in a header."""


class Limit(Enum):
    """How many requests are taken. What counts as one is known to the handler, but for calls."""

    NONE = auto()
    CALLS = auto()
    """Calls with an API key, by the plan of its site; the only limit that is counted before the
    handler."""
    COSTLY_READS = auto()
    CONNECTIONS = auto()
    """That are open, of a site and of an address."""
    GENERATIONS = auto()
    DATA_REQUESTS = auto()
    SIGN_INS = auto()
    """Failed ones, and emails that are asked for."""
    COMMENTS = auto()
    MESSAGES = auto()
    """Messages of AI assistants that are no calls."""


class BodyKind(Enum):
    JSON = auto()
    FORM = auto()
    FILES = auto()
    """A multipart form."""
    RAW = auto()


Bytes = Callable[[Settings], int]


def largest_upload(settings: Settings) -> int:
    return settings.max_upload


def largest_import(settings: Settings) -> int:
    return settings.max_import


class Body(msgspec.Struct, frozen=True):
    kind: BodyKind
    limit: int = JSON_BYTES
    """In bytes; of `FILES`, without the files."""
    readers: int = FORM_BYTES
    """The limit for a caller without a key, a role or a secret: a guest or a member. If the proof
    is in the body, it is the limit for everyone."""
    files: int = 0
    largest: Bytes = largest_upload
    """Bytes of one file."""


class Cache(Enum):
    """Who may keep the response."""

    NOBODY = auto()
    VERSIONED = auto()
    """This service, until something of the site changes, for everyone of the same audience."""
    ANYONE = auto()


class Policy(msgspec.Struct, frozen=True, kw_only=True):
    who: Who
    while_suspended: WhileSuspended = WhileSuspended.CLOSED
    needs_site: bool = True
    """A route of staff needs a site, which an operator has to choose first."""
    scope: str = ""
    """The scope that an API key needs."""
    other_scopes: tuple[str, ...] = ()
    """Each of them also admits a key. What it may do then, the handler checks."""
    limit: Limit = Limit.NONE
    origin: Origin = Origin.ANY
    body: Body | None = None
    cache: Cache = Cache.NOBODY
    asks_again: bool = False
    """A sensitive step of staff, which needs a proof of who they are that is at most 15 minutes
    old."""
    proof_left: timedelta = timedelta()
    """How long that proof has to hold from now on: a page asks before its form is filled in."""
    for_enrolment: bool = False
    """Open to staff who have to add a second factor first, too."""
    is_repeatable: bool = False
    """A repeated `Idempotency-Key` gets the first answer again."""
    # Made of the others. Every request reads them, so they are not worked out for each.
    needs_key: bool = False
    is_for_staff: bool = False
    checks_origin: bool = False

    def __post_init__(self) -> None:
        msgspec.structs.force_setattr(self, "needs_key", self.who is Who.KEY)
        msgspec.structs.force_setattr(self, "is_for_staff", self.who in STAFF)
        msgspec.structs.force_setattr(self, "checks_origin", self.origin in _CHECKED)

    def check(self, method: str) -> None:
        """Raises ValueError for a policy that contradicts itself, or if a request that changes
        something could be sent by a page of another site in a browser that is signed in here."""
        if self.scope and not self.needs_key:
            raise ValueError("Only a key has a scope.")
        if self.other_scopes and self.cache is not Cache.NOBODY:
            raise ValueError("An answer that depends on the key's scopes is not cached.")
        if bool(self.scope) is not (self.limit is Limit.CALLS):
            raise ValueError("Calls with a scope are counted, by key.")
        if self.is_for_staff and self.cache is not Cache.NOBODY:
            raise ValueError("A page for staff is not cached.")
        if self.asks_again and (not self.is_for_staff or self.origin not in _ASKING):
            raise ValueError("Only a page or a form of staff can ask who they are.")
        if self.asks_again and self.body is not None and self.body.kind is not BodyKind.FORM:
            raise ValueError("A form that is shown again can't hold files.")
        if self.body is not None and self.body.readers > LARGEST_UNPROVEN:
            raise ValueError("Nobody who has proved nothing sends so large a body.")
        if self.origin in _FORMS and (self.body is None or self.body.kind not in _FORM_KINDS):
            raise ValueError("A check of a form needs a form.")
        changes = method not in SAFE_METHODS
        if changes and self.origin is Origin.ANY and self.who in _BY_COOKIE:
            raise ValueError(f"A {method} by cookie needs a check of its origin.")
        if changes and self.cache is not Cache.NOBODY:
            raise ValueError(f"The answer to a {method} is not cached.")


STAFF = frozenset({Who.STAFF, Who.EDITOR, Who.OWNER, Who.OPERATOR})
SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})
_BY_COOKIE = STAFF | {Who.VISITOR}
_FORMS = frozenset({Origin.LINK, Origin.OWN, Origin.FORM})
_ASKING = frozenset({Origin.ANY, Origin.FORM})
_FORM_KINDS = frozenset({BodyKind.FORM, BodyKind.FILES})
_CHECKED = frozenset({Origin.LINK, Origin.OWN, Origin.FORM, Origin.SCRIPT})

FOR_ALL = Policy(who=Who.ANYONE, while_suspended=WhileSuspended.OPEN, cache=Cache.ANYONE)
"""The policy of a route that holds nothing of a site."""
