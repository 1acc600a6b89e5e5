"""One request to the record store: its context, its caller and the services for its handler."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from starlette.types import Receive, Scope

from masthead.caller import Caller
from masthead.config.settings import Settings
from masthead.errors import NotFound
from masthead.identity.accounts import Accounts
from masthead.identity.directory import TenantDirectory
from masthead.limits.read_limits import ReadLimit
from masthead.media.images import ImagePool
from masthead.members.email_change import EmailChanges
from masthead.password_reset.resets import PasswordResets
from masthead.records.collection import Collection
from masthead.records.engine import Records
from masthead.storage.objects import ObjectStore
from masthead.web.answers import header
from masthead.web.bodies import (
    SMALL_FORM_VALUES,
    decode_json_object,
    json_object,
    read_body,
    read_small_form,
)
from masthead.web.callers import Callers
from masthead.web.request_context import RequestContext, request_context

MAX_JSON_BYTES = 8 * 1024 * 1024
MAX_OWN_BYTES = 64 * 1024
"""Of a guest or a member, who can only change their own account."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordStoreServices:
    records: Records
    callers: Callers
    accounts: Accounts
    objects: ObjectStore
    images: ImagePool
    settings: Settings
    email_changes: EmailChanges
    resets: PasswordResets
    read_limit: ReadLimit
    directory: TenantDirectory


class Call:
    __slots__ = ("caller", "context", "receive", "scope", "services")

    def __init__(
        self,
        services: RecordStoreServices,
        scope: Scope,
        receive: Receive,
        caller: Caller,
    ) -> None:
        self.services = services
        self.scope = scope
        self.receive = receive
        self.caller = caller
        self.context: RequestContext = request_context(scope)

    @property
    def records(self) -> Records:
        return self.services.records

    def collection(self) -> Collection:
        found = self.records.registry.find(self.scope["path_params"]["collection"])
        if found is None:
            raise NotFound("Missing collection context.")
        return found

    @property
    def record_id(self) -> str:
        record_id: str = self.scope["path_params"]["id"]
        return record_id

    @property
    def is_multipart(self) -> bool:
        return (header(self.scope, b"content-type") or "").lower().startswith("multipart/")

    @property
    def max_body(self) -> int:
        return MAX_OWN_BYTES if self.caller.is_reader else MAX_JSON_BYTES

    async def json(self) -> dict[str, Any]:
        raw = await read_body(self.scope, self.receive, limit=self.max_body)
        return await json_object(raw) if raw.strip() else {}

    async def small_json(self) -> dict[str, Any]:
        raw = await read_small_form(self.scope, self.receive)
        return decode_json_object(raw, max_values=SMALL_FORM_VALUES) if raw.strip() else {}
