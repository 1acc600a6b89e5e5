"""One request: the facts from the front door, and the parts that its handler reads."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from masthead.base.caller import Caller
from masthead.base.errors import BadRequest, MastheadError
from masthead.base.ids import TenantId
from masthead.engine.records.collection import Record
from masthead.identity.directory import Tenant
from masthead.identity.sign_ins import Client
from masthead.web.answers import RawHeaders, header
from masthead.web.arriving import Sender
from masthead.web.asgi import Receive, Scope
from masthead.web.bodies import json_object, read_body

if TYPE_CHECKING:
    from masthead.identity.key_authentication import ApiKey
    from masthead.web.multipart import Upload
    from masthead.web.policy import Policy


class Viewed(NamedTuple):
    """The subject of a page."""

    kind: str
    subject: str
    """The id of a record, or the name of a list."""


class Request(Sender):
    """Its parts are read when they are asked for: most requests need few of them."""

    __slots__ = (
        "account",
        "added",
        "caller",
        "error",
        "files",
        "form",
        "id",
        "is_https",
        "is_staff_known",
        "key",
        "language_root",
        "path_parameters",
        "policy",
        "receive",
        "route",
        "scope",
        "site",
        "tenant",
        "viewed",
    )

    def __init__(
        self,
        scope: Scope,
        receive: Receive,
        *,
        request_id: str = "",
        tenant: Tenant | None = None,
        address: str = "",
        is_https: bool = False,
        added: RawHeaders | None = None,
    ) -> None:
        super().__init__(address)
        self.scope = scope
        self.receive = receive
        self.id = request_id
        self.tenant = tenant
        """The tenant by host, default or `x-tenant-id`; None on the bare host."""
        self.is_https = is_https
        self.added: RawHeaders = [] if added is None else added
        """Headers that its response gets, whatever it is."""
        self.route = ""
        """The template of its path; '' before one was found."""
        self.path_parameters: dict[str, str] = {}
        self.language_root = ""
        """The beginning of a path that may name a language of the site, such as `/de`."""
        self.policy: Policy | None = None
        """The policy of its route."""
        self.error: MastheadError | None = None
        """Why it was refused, or failed: for the log."""
        self.caller: Caller | None = None
        """Who makes it, once that was asked: see `Callers`."""
        self.site: Tenant | None = None
        """The site that staff work in, which an operator may have chosen."""
        self.is_staff_known = False
        self.account: Record = {}
        """The account of staff who are signed in."""
        self.key: ApiKey | None = None
        self.form: dict[str, str] = {}
        """The form of a route that takes one, after the checks."""
        self.viewed: Viewed | None = None
        """The page of the reader's site that it shows to a reader: see `features/statistics`."""
        self.files: list[Upload] = []
        """The files of the form; open until the handler has answered."""
        # For what has only the scope.
        scope["masthead.request"] = self

    @property
    def method(self) -> str:
        method: str = self.scope["method"]
        return method

    @property
    def path(self) -> str:
        path: str = self.scope["path"]
        return path

    @property
    def own_path(self) -> str:
        """Without the part that may name a language."""
        return self.path[len(self.language_root) :]

    @property
    def query_string(self) -> bytes:
        query: bytes = self.scope["query_string"]
        return query

    @property
    def tenant_id(self) -> TenantId | None:
        return self.tenant.id if self.tenant else None

    @property
    def concerned_tenant_id(self) -> TenantId | None:
        """The one of the host, or of the API key, which works on every host."""
        return self.tenant_id or (self.key.tenant.id if self.key else None)

    @property
    def client(self) -> Client:
        return Client(self.address, self.header(b"user-agent") or "")

    def header(self, name: bytes) -> str | None:
        """One that was sent exactly once; None if it is missing or repeated."""
        return header(self.scope, name)

    @property
    def max_body(self) -> int:
        """The bytes that its route takes from this caller."""
        body = self.policy.body if self.policy is not None else None
        assert body is not None, self.route
        is_known = self.key is not None or (self.caller is not None and not self.caller.is_reader)
        return body.limit if is_known else min(body.limit, body.readers)

    async def body(self, most: int | None = None) -> bytes:
        """The body with at most `most` bytes, where that is less than the route takes from this
        caller."""
        limit = self.max_body if most is None else min(most, self.max_body)
        return await read_body(self.scope, self.receive, limit=limit)

    async def json(self, *, is_optional: bool = False) -> dict[str, Any]:
        """A body that says that it is JSON: a page of another site could post a form or plain text
        without a preflight. Where it is optional, none is an empty object."""
        if is_optional:
            body = await self.body()
            if not body:
                return {}
            self.check_is_json()
            return await json_object(body)
        self.check_is_json()
        return await json_object(await self.body())

    def check_is_json(self) -> None:
        content_type = (self.header(b"content-type") or "").partition(";")[0].strip().lower()
        if content_type != "application/json" and not content_type.endswith("+json"):
            raise BadRequest("Send the body as JSON, with `Content-Type: application/json`.")


def request_of(scope: Scope) -> Request:
    request = scope["masthead.request"]
    assert isinstance(request, Request)
    return request
