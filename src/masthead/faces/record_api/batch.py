"""Several changes in one transaction, as PocketBase's `/api/batch`."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack, suppress
from typing import Any, NamedTuple

from masthead.base.caller import Caller, Kind
from masthead.base.errors import BadRequest, Invalid, MastheadError, NotFound
from masthead.engine.records.changes import PreparedTexts
from masthead.engine.records.collection import Collection, Record
from masthead.engine.records.write.unit import Unit
from masthead.engine.records.write.validation import chosen_id
from masthead.faces.record_api.asking_again import check_creation, check_deletion, check_update
from masthead.faces.record_api.batch_request import Item, Target, read_batch, target_of
from masthead.faces.record_api.call import Call
from masthead.faces.record_api.changes import (
    NOT_CREATED,
    NOT_UPDATED,
    Values,
    in_requested_tenant,
    read_written,
    update_own,
    values_to_create,
    values_to_update,
    why_no_files,
    with_modifiers,
)
from masthead.faces.record_api.errors import batch_failure
from masthead.faces.record_api.parameters import parse_view_parameters
from masthead.features.media.upload import (
    StoredFile,
    file_field,
    find_upload,
    require_tenant,
    store_file,
)
from masthead.web.answers import Answer, json_answer
from masthead.web.multipart import Upload
from masthead.web.request import Request

MAX_SECONDS = 3.0
"""The time limit of the transaction, which the tenant's other writers wait for."""

Apply = Callable[[Unit], Awaitable[Record]]


class _Change(NamedTuple):
    call: Call
    collection: Collection
    apply: Apply
    is_deletion: bool = False


class _Refusal(NamedTuple):
    """The error of a request that could not be prepared. It is raised at the request's turn,
    because the first failure is the one that is reported."""

    error: MastheadError


async def change_records(call: Call) -> Answer:
    items = await read_batch(call)
    # Leaving the stack with an error removes the stored files.
    async with AsyncExitStack() as stored_files:
        batch = _Batch(call, stored_files)
        for item in items:
            await batch.prepare(item)
        records = await batch.apply()
    return json_answer(200, await batch.answers(records))


class _Batch:
    def __init__(self, call: Call, stored_files: AsyncExitStack) -> None:
        self._call = call
        self._stored_files = stored_files
        self._steps: list[_Change | _Refusal] = []
        self._texts = PreparedTexts()
        self._caller: Caller | None = None
        """In the tenant that the batch changes, once a request has named it."""
        self._exists: dict[tuple[str, str], bool] = {}
        """Records that earlier requests create or delete."""

    async def prepare(self, item: Item) -> None:
        """Whatever takes long, before the transaction opens: texts, passwords and files."""
        try:
            target = target_of(item)
            call = _call_of(self._call, target)
            parse_view_parameters(target.query_string)
            self._steps.append(await self._prepare(call, call.collection(), item))
        except MastheadError as error:
            self._steps.append(_Refusal(error))

    async def apply(self) -> list[Record]:
        """Raises what the first request that fails is refused with; then nothing is changed."""
        caller = self._caller or self._call.caller
        async with self._call.records.unit(caller, prepared=self._texts) as unit:
            deadline = time.monotonic() + MAX_SECONDS
            records = []
            for number, step in enumerate(self._steps):
                if time.monotonic() > deadline:
                    raise BadRequest(_too_slow(number))
                try:
                    records.append(await _apply(step, unit))
                except MastheadError as error:
                    raise batch_failure(number, error) from error
        return records

    async def answers(self, records: list[Record]) -> list[dict[str, Any]]:
        caller = self._caller or self._call.caller
        found: list[dict[str, Any]] = []
        for step, record in zip(self._steps, records, strict=True):
            assert isinstance(step, _Change)
            if step.is_deletion:
                found.append({"status": 204, "body": None})
            else:
                found.append({"status": 200, "body": await _answer(step, caller, record)})
        return found

    async def _prepare(self, call: Call, collection: Collection, item: Item) -> _Change:
        if item.method == "DELETE":
            return await self._delete(call, collection)
        given = with_modifiers(collection, item.body)
        if item.method == "PATCH":
            return await self._update(call, collection, given, item.uploads)
        record_id = chosen_id(given)
        if item.method == "PUT" and record_id and await self._is_known(call, collection, record_id):
            call.request.path_parameters["id"] = record_id
            return await self._update(call, collection, given, item.uploads)
        return await self._create(call, collection, given, item.uploads)

    async def _create(
        self, call: Call, collection: Collection, given: dict[str, Any], uploads: list[Upload]
    ) -> _Change:
        call.records.check_may_create(call.caller, collection)
        await check_creation(call, collection)
        caller = await in_requested_tenant(call, collection, given)
        self._join(caller)
        stored = None
        if file_field(collection):
            stored = await self._store_file(call, caller, collection, given, uploads=uploads)
            values = Values({**given, **stored.values})
        else:
            _refuse_files(collection, uploads)
            values = await values_to_create(collection, given)
        await self._prepare_texts(call, collection, values)
        if record_id := chosen_id(values.given):
            self._exists[collection.name, record_id] = True

        async def apply(unit: Unit) -> Record:
            try:
                if stored is not None:
                    return await stored.create(unit, collection, given)
                return await unit.create(collection, values.given, stamped=values.stamped)
            except Invalid as error:
                raise Invalid(error.problems, NOT_CREATED) from None

        return _Change(call, collection, apply)

    async def _update(
        self, call: Call, collection: Collection, given: dict[str, Any], uploads: list[Upload]
    ) -> _Change:
        call.records.check_may_update(call.caller, collection, call.record_id)
        await check_update(call, collection, given)
        _refuse_files(collection, uploads)
        await self._join_tenant_of(call, collection)
        values = await values_to_update(call, collection, given)
        await self._prepare_texts(call, collection, values)

        async def apply(unit: Unit) -> Record:
            try:
                if call.caller.kind is Kind.MEMBER:
                    return await update_own(call, unit, collection, values)
                return await unit.update(
                    collection, call.record_id, values.given, stamped=values.stamped
                )
            except Invalid as error:
                raise Invalid(error.problems, NOT_UPDATED) from None

        return _Change(call, collection, apply)

    async def _delete(self, call: Call, collection: Collection) -> _Change:
        await check_deletion(call, collection)
        await self._join_tenant_of(call, collection)
        self._exists[collection.name, call.record_id] = False

        async def apply(unit: Unit) -> Record:
            return await unit.delete(collection, call.record_id)

        return _Change(call, collection, apply, is_deletion=True)

    async def _store_file(
        self,
        call: Call,
        caller: Caller,
        collection: Collection,
        given: dict[str, Any],
        *,
        uploads: list[Upload],
    ) -> StoredFile:
        upload = find_upload(collection, uploads)
        storing = store_file(
            call.services, require_tenant(caller), collection, upload, record_id=chosen_id(given)
        )
        return await self._stored_files.enter_async_context(storing)

    async def _prepare_texts(self, call: Call, collection: Collection, values: Values) -> None:
        await call.records.validate_async(collection, values.given)
        self._texts.add(await call.records.prepare(collection, values.given))

    async def _is_known(self, call: Call, collection: Collection, record_id: str) -> bool:
        known = self._exists.get((collection.name, record_id))
        if known is not None:
            return known
        tenant_id = (self._caller or call.caller).tenant_id
        return bool(await call.records.find(collection, {"id": record_id}, tenant_id=tenant_id))

    async def _join_tenant_of(self, call: Call, collection: Collection) -> None:
        # An earlier request may create the record; if none does, the change is refused.
        with suppress(NotFound):
            self._join(await call.records.in_tenant_of(call.caller, collection, call.record_id))

    def _join(self, caller: Caller) -> None:
        if self._caller is None:
            self._caller = caller
        elif caller.tenant_id != self._caller.tenant_id:
            raise BadRequest("A batch changes one tenant only. Send a batch for each tenant.")


async def _apply(step: _Change | _Refusal, unit: Unit) -> Record:
    if isinstance(step, _Refusal):
        raise step.error
    return await step.apply(unit)


async def _answer(change: _Change, caller: Caller, record: Record) -> Record:
    try:
        return await read_written(change.call, change.collection, caller, record)
    except NotFound:
        # A later request of the batch has deleted it.
        return change.call.records.as_seen_by(caller, change.collection, record)


def _call_of(batch: Call, target: Target) -> Call:
    """A request of the batch, as if it had come by itself."""
    outer = batch.request
    request = Request(
        {**outer.scope, "query_string": target.query_string},
        outer.receive,
        request_id=outer.id,
        tenant=outer.tenant,
        address=outer.address,
        is_https=outer.is_https,
    )
    request.path_parameters = {"collection": target.collection, "id": target.record_id}
    return Call(batch.store, request, batch.caller)


def _refuse_files(collection: Collection, uploads: list[Upload]) -> None:
    if uploads:
        raise BadRequest(why_no_files(collection))


def _too_slow(number: int) -> str:
    return (
        f"Batch transaction failed: it took longer than {MAX_SECONDS:g} seconds, and nothing was "
        f"changed. Requests before number {number} were in time: send fewer in a batch."
    )
