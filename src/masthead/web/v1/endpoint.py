"""From an admitted call of the public API to its answer: query and body, the handler, and the shape
of what it returns."""

from __future__ import annotations

from collections.abc import Awaitable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from functools import partial
from typing import Any
from urllib.parse import urlencode

import msgspec

from masthead.base.errors import BadRequest
from masthead.engine.records.fields.file import File
from masthead.engine.records.fields.values import Flag
from masthead.engine.records.read.page import Page
from masthead.engine.records.write.unit import Unit
from masthead.identity.key_authentication import ApiKey
from masthead.web.answers import JSON, Answer, RawHeaders, encode, header_list
from masthead.web.asgi import Scope
from masthead.web.cache import AnswerCache, CachedAnswer
from masthead.web.dispatch import Action
from masthead.web.etags import etag, expected_version, is_unchanged
from masthead.web.idempotency import MAX_LENGTH, Idempotency, fingerprint_of, subject_of
from masthead.web.multipart import MAX_FIELD_BYTES, Upload, read_form
from masthead.web.request import Request
from masthead.web.services import WebServices
from masthead.web.v1.call import Call, apply_view
from masthead.web.v1.ignored_names import name_ignored
from masthead.web.v1.parameters import read_query, write_cursor
from masthead.web.v1.routes import Route, Shape

_PRIVATE = (b"cache-control", b"private, no-cache")


class V1Answers:
    """Answers the calls of the API's table."""

    def __init__(self, services: WebServices, idempotency: Idempotency, cache: AnswerCache) -> None:
        self._services = services
        self._idempotency = idempotency
        self._cache = cache

    def action(self, route: Route) -> Action:
        answer = self._read if route.is_cacheable else self._change
        return Action(partial(answer, route), route.policy)

    async def _read(self, route: Route, request: Request) -> Answer:
        """GETs: from the cache while the tenant's version is unchanged; 304 if the ETag matches."""
        key, scope = key_of(request), request.scope
        # Keys with and without the scope of a fuller view get different answers.
        is_fuller = route.view is not None and route.view.fuller_scope in key.scopes
        path = f"{scope['path']}+" if is_fuller else scope["path"]
        cache_key = (key.tenant.id, path, scope["query_string"])
        version = await self._cache.version(key.tenant.id)
        cached = self._cache.get(cache_key, version)
        if cached is None:
            call, ignored = self._call(route, request)
            name_ignored(request, ignored)
            body, tag, links = await self._answer(route, call, version)
            if not tag:
                return Answer(200, body, [JSON, _PRIVATE, *links])
            if ignored:
                # Any number of queries have the same answer, and only one of them is worth a place.
                cached = CachedAnswer(version, body, tag, links)
            else:
                cached = self._cache.put(cache_key, version, body, tag, headers=links)
        headers = [JSON, (b"etag", cached.tag), _PRIVATE, *cached.headers]
        if is_unchanged(header_list(scope, b"if-none-match"), cached.tag):
            return Answer(304, headers=headers[1:])
        return Answer(200, cached.body, headers)

    async def _answer(
        self, route: Route, call: Call, version: int
    ) -> tuple[bytes, bytes, RawHeaders]:
        """The body, its ETag (empty if it must not be cached) and its Link headers."""
        result = await route.handler(call)
        if isinstance(result, Page):
            holds = call.holds and result.is_complete
            tag = etag(version, call.tenant.id) if holds else b""
            return encode(_page_body(call, result)), tag, _links(call, result)
        return (
            encode(apply_view(call.view, result)),
            etag(result["version"], call.tenant.id) if call.holds else b"",
            [],
        )

    async def _change(self, route: Route, request: Request) -> Answer:
        call, ignored = self._call(route, request)
        if route.is_upload:
            call.body, call.files = await self._form(route, request, ignored)
        else:
            call.body = await self._body(route, request, ignored)
        call.expected_version = expected_version(
            header_list(request.scope, b"if-match"), call.tenant.id
        )
        if route.policy.is_repeatable:
            call.idempotency_key = _idempotency_key(request.scope)
        if route.prepare is None:
            return await self._answer_change(route, call)
        # It is told of a failure: a file without a record must not stay.
        async with route.prepare(call) as call.prepared:
            return await self._answer_change(route, call)

    def _answer_change(self, route: Route, call: Call) -> Awaitable[Answer]:
        if call.idempotency_key:
            return self._run_once(route, call, key_of(call.request), call.idempotency_key)
        return self._run(route, call)

    async def _run(self, route: Route, call: Call) -> Answer:
        if not route.opens_unit:
            return _encoded(route, call, await route.handler(call))
        async with await self._unit(route, call) as call.unit:
            result = await route.handler(call)
        return _encoded(route, call, result)

    async def _unit(self, route: Route, call: Call) -> AbstractAsyncContextManager[Unit]:
        records, body = self._services.records, route.body
        prepared = await records.prepare(body.collection, call.body) if body else None
        return records.unit(call.caller, prepared=prepared)

    async def _run_once(
        self, route: Route, call: Call, key: ApiKey, idempotency_key: str
    ) -> Answer:
        subject = subject_of(key.id, route.method, call.request.path, idempotency_key)
        fingerprint = fingerprint_of(msgspec.json.encode(call.body, order="sorted").decode())
        async with await self._unit(route, call) as call.unit:
            answer = await self._idempotency.find(call.unit, subject, fingerprint)
            if answer is None:
                answer = _encoded(route, call, await route.handler(call))
                await self._idempotency.store(
                    call.unit, subject, fingerprint, answer, is_secret=route.is_secret
                )
        return answer

    async def _body(
        self, route: Route, request: Request, ignored: Sequence[str]
    ) -> Mapping[str, Any]:
        if route.body is None:
            name_ignored(request, ignored)
            return {}
        given = await request.json(is_optional=route.body.is_optional)
        name_ignored(request, route.body.ignored(given), ignored)
        return await route.body.take(given, self._services.records.clock())

    async def _form(
        self, route: Route, request: Request, ignored: Sequence[str]
    ) -> tuple[Mapping[str, Any], Mapping[str, Upload]]:
        """The form's validated values, and its files.

        A file is represented by its digest: so a missing file is reported like any missing value,
        and a repeated call is recognized by its content.
        """
        assert route.body is not None
        limit = self._services.settings.max_upload + MAX_FIELD_BYTES
        form = await request.resources.enter_async_context(
            read_form(request.scope, request.receive, limit=limit)
        )
        declared = route.body.collection.by_name
        given = {
            # A form has nothing but texts; other words for yes and no are refused, as in JSON.
            name: _FLAGS.get(text, text) if isinstance(declared.get(name), Flag) else text
            for name, text in form.fields
            if not isinstance(declared.get(name), File)
        }
        files = {upload.field: upload for upload in form.files}
        if len(files) < len(form.files):
            raise BadRequest("The form has several files under one name. Send one per call.")
        given |= {name: upload.sha256 for name, upload in files.items()}
        name_ignored(request, route.body.ignored(given), ignored)
        return route.body.read(given), files

    def _call(self, route: Route, request: Request) -> tuple[Call, list[str]]:
        """The call, still without its body, and its query parameters that have no effect."""
        query, ignored = read_query(request.query_string, route.parameters)
        key = key_of(request)
        view = route.view and route.view.for_scopes(key.scopes)
        return Call(self._services, request, key.caller, key.tenant, query, view), ignored


_FLAGS = {"true": True, "false": False}


def key_of(request: Request) -> ApiKey:
    assert request.key is not None
    return request.key


def _idempotency_key(scope: Scope) -> str | None:
    given = header_list(scope, b"idempotency-key")
    if given and len(given) > MAX_LENGTH:
        raise BadRequest(f"An Idempotency-Key has 1 to {MAX_LENGTH} characters.")
    return given


def _encoded(route: Route, call: Call, result: Any) -> Answer:
    if route.shape is Shape.EMPTY:
        return Answer(route.status)
    if isinstance(result, Page):
        links = _links(call, result)
        return Answer(200, encode(_page_body(call, result)), [JSON, _PRIVATE, *links])
    answer = Answer(route.status, encode(_wrapped(route, call, result)), [JSON])
    # A record. Checking for Mapping instead would cost more than the rest of this function.
    if isinstance(result, dict) and "version" in result:
        answer.headers.append((b"etag", etag(result["version"], call.tenant.id)))
    return answer


def _wrapped(route: Route, call: Call, result: Any) -> Any:
    if route.shape is Shape.DATA:
        return {"data": apply_view(call.view, result)}
    return result


def _page_body(call: Call, page: Page) -> dict[str, Any]:
    return {
        "items": [apply_view(call.view, item) for item in page.items],
        "page": page.page,
        "per_page": page.per_page,
        "total": page.total,
        "total_pages": page.total_pages,
    }


def _links(call: Call, page: Page) -> RawHeaders:
    """`Link` with the neighbouring pages, and the cursor of the next items, under the same names
    whether this page was found by its number or by a cursor."""
    path, query = call.request.path, {k: v for k, v in call.query.items() if v is not None}
    query.pop("cursor", None)

    def link(rel: str, **changed: Any) -> str:
        return f'<{path}?{urlencode({**query, **changed})}>; rel="{rel}"'

    has_cursor = call.query["cursor"] is not None
    links = []
    if page.total_pages > 0:
        links.append(link("first", page=1))
        if not has_cursor and page.page > 1:
            links.append(link("prev", page=min(page.page - 1, page.total_pages)))
        if not has_cursor and page.page < page.total_pages:
            links.append(link("next", page=page.page + 1))
        links.append(link("last", page=page.total_pages))
    if len(page.items) == page.per_page:
        last = page.items[-1]
        query.pop("page", None)
        cursor = write_cursor(call.order, last)
        # After a cursor there are no page numbers, so both names lead to the same items.
        rels = ("next", "next-cursor") if has_cursor else ("next-cursor",)
        links += [link(rel, cursor=cursor) for rel in rels]
    return [(b"link", ", ".join(links).encode())] if links else []
