"""One request to the record store: its context, its caller and the services for its handler."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from masthead.base.caller import Caller
from masthead.base.config.keyring import KeyRing
from masthead.base.config.settings import Settings
from masthead.base.errors import NotFound
from masthead.engine.records.collection import Collection
from masthead.engine.records.engine import Records
from masthead.features.media.images import ImagePool
from masthead.features.members.email_change import EmailChanges
from masthead.features.members.mailed_links import MailedLinks
from masthead.features.password_reset.resets import PasswordResets
from masthead.features.password_reset.staff_codes import StaffCodes
from masthead.identity.accounts import Accounts
from masthead.identity.directory import TenantDirectory
from masthead.identity.key_authentication import ApiKeys
from masthead.identity.limits.rate_limiter import RateLimiter
from masthead.identity.limits.read_limits import ReadLimit
from masthead.storage.database import Database
from masthead.storage.objects import ObjectStore
from masthead.web.bodies import (
    SMALL_FORM_BYTES,
    SMALL_FORM_VALUES,
    decode_json_object,
    json_object,
)
from masthead.web.cache import AnswerCache
from masthead.web.callers import Callers
from masthead.web.multipart import form_to_object, read_form
from masthead.web.request import Request
from masthead.web.staff import StaffSignIn

if TYPE_CHECKING:
    from masthead.faces.record_api.realtime.hub import Hub

NO_FILES = "This takes no files. Send only values."


class RecordStoreServices(Protocol):
    @property
    def database(self) -> Database: ...
    @property
    def keyring(self) -> KeyRing: ...
    @property
    def records(self) -> Records: ...
    @property
    def callers(self) -> Callers: ...
    @property
    def accounts(self) -> Accounts: ...
    @property
    def staff(self) -> StaffSignIn: ...
    @property
    def keys(self) -> ApiKeys: ...
    @property
    def limiter(self) -> RateLimiter: ...
    @property
    def objects(self) -> ObjectStore: ...
    @property
    def images(self) -> ImagePool: ...
    @property
    def settings(self) -> Settings: ...
    @property
    def email_changes(self) -> EmailChanges: ...
    @property
    def links(self) -> MailedLinks: ...
    @property
    def staff_codes(self) -> StaffCodes: ...
    @property
    def resets(self) -> PasswordResets: ...
    @property
    def read_limit(self) -> ReadLimit: ...
    @property
    def directory(self) -> TenantDirectory: ...
    @property
    def realtime(self) -> Hub: ...
    @property
    def guest_answers(self) -> AnswerCache: ...


class Call:
    __slots__ = ("caller", "is_repeatable", "request", "services")

    def __init__(self, services: RecordStoreServices, request: Request, caller: Caller) -> None:
        self.services = services
        self.request = request
        self.caller = caller
        self.is_repeatable = False
        """Another guest gets the same answer while no record changes and none becomes due."""

    @property
    def records(self) -> Records:
        return self.services.records

    def collection(self) -> Collection:
        found = self.records.registry.find(self.request.path_parameters["collection"])
        if found is None:
            raise NotFound("Missing collection context.")
        return found

    @property
    def record_id(self) -> str:
        record_id: str = self.request.path_parameters["id"]
        return record_id

    @property
    def is_multipart(self) -> bool:
        return (self.request.header(b"content-type") or "").lower().startswith("multipart/")

    async def json(self) -> dict[str, Any]:
        raw = await self.request.body()
        return await json_object(raw) if raw.strip() else {}

    async def small_json(self) -> dict[str, Any]:
        """Also a form, which some programs sign in with."""
        if self.is_multipart:
            request = self.request
            reading = read_form(
                request.scope, request.receive, limit=SMALL_FORM_BYTES, no_files=NO_FILES
            )
            return form_to_object(await request.resources.enter_async_context(reading))
        raw = await self.request.body(SMALL_FORM_BYTES)
        return decode_json_object(raw, max_values=SMALL_FORM_VALUES) if raw.strip() else {}
