"""One request to the record store: its context, its caller and the services for its handler."""

from __future__ import annotations

from typing import Any, NamedTuple

from masthead.base.caller import Caller
from masthead.base.errors import NotFound
from masthead.engine.records.collection import Collection
from masthead.engine.records.engine import Records
from masthead.faces.record_api.realtime.hub import Hub
from masthead.features.services import FeatureServices
from masthead.web.bodies import SMALL_FORM_BYTES, SMALL_FORM_VALUES, decode_json_object, json_object
from masthead.web.cache import AnswerCache
from masthead.web.multipart import form_to_object, read_form
from masthead.web.request import Request

NO_FILES = "This takes no files. Send only values."


class RecordStore(NamedTuple):
    """The services of the record store's endpoints."""

    services: FeatureServices
    realtime: Hub
    guest_answers: AnswerCache
    """Answers to guests, by request."""


class Call:
    __slots__ = ("caller", "is_repeatable", "request", "services", "store")

    def __init__(self, store: RecordStore, request: Request, caller: Caller) -> None:
        self.store = store
        self.services = store.services
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
