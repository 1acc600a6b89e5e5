"""The steps of every v1 call, in this order: HTTPS, key, suspension, plan, limits, scope, query and
body, then the handler."""

from __future__ import annotations

from collections.abc import Awaitable, Mapping
from contextlib import AsyncExitStack
from typing import Any
from urllib.parse import urlencode

import msgspec
from starlette.types import Receive, Scope

from masthead import errors
from masthead.errors import BadRequest, SiteSuspended, Unauthenticated
from masthead.identity.key_authentication import ApiKey, ApiKeys
from masthead.limits.rate_limiter import RateLimiter
from masthead.limits.sliding_window import Decision
from masthead.records.fields.file import File
from masthead.records.read.page import Page
from masthead.web.answers import (
    JSON,
    Answer,
    Endpoint,
    RawHeaders,
    encode,
    header,
    header_list,
)
from masthead.web.bodies import json_object, read_body
from masthead.web.cache import AnswerCache
from masthead.web.errors import MethodNotAllowed
from masthead.web.etags import etag, expected_version, is_unchanged
from masthead.web.multipart import MAX_FIELD_BYTES, Upload, read_form
from masthead.web.request_context import request_context
from masthead.web.v1.call import Call, V1Services, apply_view
from masthead.web.v1.errors import (
    HttpsRequired,
    InvalidScope,
    PlanRequired,
    QuotaExceeded,
)
from masthead.web.v1.idempotency import (
    MAX_LENGTH,
    Idempotency,
    fingerprint_of,
    subject_of,
)
from masthead.web.v1.parameters import read_query, write_cursor
from masthead.web.v1.routes import Route, Shape

MAX_JSON_BYTES = 8 * 1024 * 1024

_PRIVATE = (b"cache-control", b"private, no-cache")


class V1Endpoint(Endpoint):
    """One path of the API with its methods."""

    def __init__(
        self,
        routes: Mapping[str, Route],
        services: V1Services,
        keys: ApiKeys,
        limiter: RateLimiter,
        idempotency: Idempotency,
        cache: AnswerCache,
    ) -> None:
        self._routes = routes
        self._allowed = (*routes, "HEAD") if "GET" in routes else tuple(routes)
        self._services = services
        self._keys = keys
        self._limiter = limiter
        self._idempotency = idempotency
        self._cache = cache

    async def answer(self, scope: Scope, receive: Receive) -> Answer:
        key = await self._admit(scope)
        method = "GET" if scope["method"] == "HEAD" else scope["method"]
        route = self._routes.get(method)
        if route is None:
            raise MethodNotAllowed(self._allowed)
        if route.scope not in key.scopes:
            raise InvalidScope(f"This key lacks the scope {route.scope}. Use a key that has it.")
        if route.is_cacheable:
            return await self._read(route, key, scope, receive)
        return await self._change(route, key, scope, receive)

    async def _admit(self, scope: Scope) -> ApiKey:
        context = request_context(scope)
        if self._services.settings.require_https and not context.is_https:
            raise HttpsRequired
        key = await self._authenticate(scope)
        context.key_id = key.id
        if context.tenant is not None and context.tenant.id != key.tenant.id:
            raise Unauthenticated("This key belongs to another site than the one addressed.")
        if key.tenant.is_suspended:
            raise SiteSuspended
        if not key.tenant.plan.has_api:
            raise PlanRequired
        decision = await self._limiter.admit(key.id, key.tenant)
        # Also of a refusal.
        context.added.extend(_limit_headers(decision))
        if not decision.allowed:
            raise _refusal(decision)
        return key

    async def _authenticate(self, scope: Scope) -> ApiKey:
        given = header(scope, b"authorization") or ""
        scheme, _, token = given.partition(" ")
        key = await self._keys.authenticate(token.strip()) if scheme.lower() == "bearer" else None
        if key is None:
            raise Unauthenticated(
                "The API key is missing, wrong, expired or revoked. "
                "Send it as `Authorization: Bearer <key>`."
            )
        return key

    async def _read(self, route: Route, key: ApiKey, scope: Scope, receive: Receive) -> Answer:
        """GETs: from the cache while the tenant's version is unchanged; 304 if the ETag matches."""
        cache_key = (key.tenant.id, scope["path"], scope["query_string"])
        cached = await self._cache.get(cache_key)
        if cached is None:
            version = await self._cache.version(key.tenant.id)
            call = self._call(route, key, scope, receive, {})
            body, tag, links = await self._answer(call, version)
            if not tag:
                return Answer(200, body, [JSON, _PRIVATE, *links])
            cached = self._cache.put(cache_key, version, body, tag, links)
        headers = [JSON, (b"etag", cached.tag), _PRIVATE, *cached.headers]
        if is_unchanged(header_list(scope, b"if-none-match"), cached.tag):
            return Answer(304, headers=headers[1:])
        return Answer(200, cached.body, headers)

    async def _answer(self, call: Call, version: int) -> tuple[bytes, bytes, RawHeaders]:
        """The body, its ETag (empty if it must not be cached) and its Link headers."""
        result = await call.route.handler(call)
        if isinstance(result, Page):
            tag = etag(version, call.tenant.id) if result.is_complete else b""
            return encode(_page_body(call, result)), tag, _links(call, result)
        return (
            encode(apply_view(call.route.view, result)),
            etag(result["version"], call.tenant.id),
            [],
        )

    async def _change(self, route: Route, key: ApiKey, scope: Scope, receive: Receive) -> Answer:
        if not route.is_upload and not route.prepare:
            body = await self._body(route, scope, receive)
            return await self._answer_to(self._changing_call(route, key, scope, receive, body), key)
        async with AsyncExitStack() as resources:
            call = await self._call_with_resources(route, key, scope, receive, resources)
            return await self._answer_to(call, key)

    async def _call_with_resources(
        self, route: Route, key: ApiKey, scope: Scope, receive: Receive, resources: AsyncExitStack
    ) -> Call:
        """A call with files or prepared values, which stay open as long as `resources`."""
        files: Mapping[str, Upload] = {}
        if route.is_upload:
            body, files = await self._form(route, scope, receive, resources)
        else:
            body = await self._body(route, scope, receive)
        call = self._changing_call(route, key, scope, receive, body)
        call.files = files
        if route.prepare:
            call.prepared = await resources.enter_async_context(route.prepare(call))
        return call

    def _changing_call(
        self,
        route: Route,
        key: ApiKey,
        scope: Scope,
        receive: Receive,
        body: Mapping[str, Any],
    ) -> Call:
        call = self._call(route, key, scope, receive, body)
        call.expected_version = expected_version(header_list(scope, b"if-match"), key.tenant.id)
        if route.method == "POST" and not route.calls_out:
            call.idempotency_key = _idempotency_key(scope)
        return call

    def _answer_to(self, call: Call, key: ApiKey) -> Awaitable[Answer]:
        return (
            self._run_once(call, key, call.idempotency_key)
            if call.idempotency_key
            else self._run(call)
        )

    async def _run(self, call: Call) -> Answer:
        result = await call.route.handler(call)
        if call.route.shape is Shape.EMPTY:
            return Answer(call.route.status)
        answer = Answer(call.route.status, encode(_wrapped(call, result)), [JSON])
        # A record. Checking for Mapping instead would cost more than the rest of this function.
        if isinstance(result, dict) and "version" in result:
            answer.headers.append((b"etag", etag(result["version"], call.tenant.id)))
        return answer

    async def _run_once(self, call: Call, key: ApiKey, idempotency_key: str) -> Answer:
        subject = subject_of(key.id, call.route.method, call.scope["path"], idempotency_key)
        fingerprint = fingerprint_of(msgspec.json.encode(call.body, order="sorted").decode())
        records, body = self._services.records, call.route.body
        prepared = await records.prepared(body.collection, call.body) if body else None
        async with records.unit(call.caller, prepared=prepared) as unit:
            answer = await self._idempotency.find(unit, subject, fingerprint)
            if answer is None:
                call.unit = unit
                answer = await self._run(call)
                await self._idempotency.store(
                    unit, subject, fingerprint, answer, is_secret=call.route.is_secret
                )
        # The same for the first call and its repetitions, and of a record that may have changed.
        answer.headers = [JSON] if answer.body else []
        return answer

    async def _body(self, route: Route, scope: Scope, receive: Receive) -> Mapping[str, Any]:
        if route.body is None:
            return {}
        content_type = (header(scope, b"content-type") or "").partition(";")[0].strip().lower()
        if content_type != "application/json" and not content_type.endswith("+json"):
            raise BadRequest("Send the body as JSON, with `Content-Type: application/json`.")
        raw = await read_body(scope, receive, limit=MAX_JSON_BYTES)
        given = await json_object(raw)
        values = route.body.read(given)
        if route.body.check:
            route.body.check(given, self._services.records.clock())
        return await route.body.translate(values) if route.body.translate else values

    async def _form(
        self, route: Route, scope: Scope, receive: Receive, resources: AsyncExitStack
    ) -> tuple[Mapping[str, Any], Mapping[str, Upload]]:
        """The form's validated values, and its files, which stay open as long as `resources`.

        A file is represented by its digest: so a missing file is reported like any missing value,
        and a repeated call is recognized by its content.
        """
        assert route.body is not None
        limit = self._services.settings.max_upload + MAX_FIELD_BYTES
        form = await resources.enter_async_context(read_form(scope, receive, limit=limit))
        declared = route.body.collection.by_name
        given = {
            name: text for name, text in form.fields if not isinstance(declared.get(name), File)
        }
        files = {upload.field: upload for upload in form.files}
        if len(files) < len(form.files):
            raise BadRequest("The form has several files under one name. Send one per call.")
        given |= {name: upload.sha256 for name, upload in files.items()}
        return route.body.read(given), files

    def _call(
        self,
        route: Route,
        key: ApiKey,
        scope: Scope,
        receive: Receive,
        body: Mapping[str, Any],
    ) -> Call:
        query = read_query(scope["query_string"], route.parameters) if route.parameters else {}
        return Call(self._services, route, scope, receive, key.caller, key.tenant, query, body)


def _idempotency_key(scope: Scope) -> str | None:
    given = header_list(scope, b"idempotency-key")
    if given and len(given) > MAX_LENGTH:
        raise BadRequest(f"An Idempotency-Key has 1 to {MAX_LENGTH} characters.")
    return given


def _wrapped(call: Call, result: Any) -> Any:
    if call.route.shape is Shape.DATA:
        return {"data": apply_view(call.route.view, result)}
    return result


def _page_body(call: Call, page: Page) -> dict[str, Any]:
    return {
        "items": [apply_view(call.route.view, item) for item in page.items],
        "page": page.page,
        "per_page": page.per_page,
        "total": page.total,
        "total_pages": page.total_pages,
    }


def _links(call: Call, page: Page) -> RawHeaders:
    """`Link` with the neighbouring pages, and the cursor of the next items."""
    path, query = call.scope["path"], {k: v for k, v in call.query.items() if v is not None}
    query.pop("cursor", None)

    def link(rel: str, **changed: Any) -> str:
        return f'<{path}?{urlencode({**query, **changed})}>; rel="{rel}"'

    links = []
    if call.query["cursor"] is None and page.total_pages > 0:
        links.append(link("first", page=1))
        if page.page > 1:
            links.append(link("prev", page=min(page.page - 1, page.total_pages)))
        if page.page < page.total_pages:
            links.append(link("next", page=page.page + 1))
        links.append(link("last", page=page.total_pages))
    if len(page.items) == page.per_page:
        last = page.items[-1]
        query.pop("page", None)
        rel = "next" if call.query["cursor"] is not None else "next-cursor"
        links.append(link(rel, cursor=write_cursor(last["created"], last["id"])))
    return [(b"link", ", ".join(links).encode())] if links else []


def _limit_headers(decision: Decision) -> RawHeaders:
    if decision.limit is None:
        return []
    return [
        (b"x-ratelimit-limit", str(decision.limit).encode()),
        (b"x-ratelimit-remaining", str(decision.remaining).encode()),
        (b"x-ratelimit-reset", str(decision.reset).encode()),
    ]


def _refusal(decision: Decision) -> errors.RateLimited:
    if decision.reason == "day":
        return QuotaExceeded(decision.retry_after)
    return errors.RateLimited(
        decision.retry_after, f"Too many calls. Try again in {decision.retry_after} seconds."
    )
