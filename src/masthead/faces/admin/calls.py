"""Calls of the admin's own scripts: JSON in and out, with the same checks as its forms."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any

import msgspec

from masthead.base.errors import Invalid, MastheadError, TooLarge
from masthead.base.languages.translators import admin_translator, speaking
from masthead.base.languages.words import words
from masthead.faces.admin.endpoint import AdminPages
from masthead.faces.admin.environment import number
from masthead.faces.admin.forms import sentence_of
from masthead.faces.admin.request import open_request, path_values
from masthead.web.answers import Answer, json_answer
from masthead.web.bodies import json_object
from masthead.web.dispatch import Action, Actions
from masthead.web.file_forms import read_files
from masthead.web.pages import error_answer, wants_json
from masthead.web.policy import (
    FORM_BYTES,
    Body,
    BodyKind,
    Bytes,
    Origin,
    Policy,
    WhileSuspended,
    Who,
    largest_upload,
)
from masthead.web.request import Request

_HEADERS = [(b"cache-control", b"no-store"), (b"x-content-type-options", b"nosniff")]


class JsonAnswer(msgspec.Struct, frozen=True):
    """The answer to a script."""

    body: dict[str, Any]
    status: int = 200


Handler = Callable[..., Awaitable[JsonAnswer]]


def script_read(pages: AdminPages, handler: Handler) -> Actions:
    """Calls `handler` with the request."""

    async def answer(request: Request) -> Answer:
        return await _answer(pages, request, handler)

    return {"GET": Action(answer, _policy(Who.STAFF, None))}


def script_call(
    pages: AdminPages, handler: Handler, *parameters: str, limit: int = FORM_BYTES
) -> Actions:
    """Calls `handler` with the request, the body, and the parameters of the path."""

    async def answer(request: Request) -> Answer:
        values = path_values(request, parameters)
        return await _answer(pages, request, handler, *values, body=partial(_json, request, limit))

    return {"POST": Action(answer, _policy(Who.STAFF, Body(BodyKind.JSON, limit)))}


def upload_call(
    pages: AdminPages,
    handler: Handler,
    *,
    who: Who = Who.STAFF,
    largest: Bytes = largest_upload,
) -> Actions:
    """The body is a form with one file, which is open while the handler runs."""
    body = Body(BodyKind.FILES, files=1, largest=largest)

    async def answer(request: Request) -> Answer:
        form = await read_files(request, body, pages.services.settings)
        return await _answer(pages, request, handler, form)

    return {"POST": Action(answer, _policy(who, body))}


def _policy(who: Who, body: Body | None) -> Policy:
    return Policy(
        who=who,
        while_suspended=WhileSuspended.OPERATORS,
        origin=Origin.SCRIPT if body else Origin.PAGE,
        body=body,
    )


async def _answer(
    pages: AdminPages,
    request: Request,
    handler: Handler,
    *values: Any,
    body: Callable[[], Awaitable[dict[str, Any]]] | None = None,
) -> Answer:
    """In the language of the account, errors included."""
    opened = await open_request(pages.services, pages.tools, request)
    with speaking(admin_translator(opened.language)):
        try:
            sent = () if body is None else (await body(),)
            answer = await handler(opened, *sent, *values)
        except Invalid as error:
            answer = _refused(error)
        except MastheadError as error:
            if not wants_json(request):
                raise
            request.error = error
            return await error_answer(request, error)
        return json_answer(answer.status, answer.body, _HEADERS)


async def _json(request: Request, limit: int) -> dict[str, Any]:
    try:
        raw = await request.body()
    except TooLarge as error:
        raise TooLarge(
            words(
                "This is larger than the %(value)s MB that can be saved at once. Shorten it, "
                "or put pictures into the library instead of the text.",
                value=number(limit // (1024 * 1024)),
            )
        ) from error
    return await json_object(raw)


def _refused(error: Invalid) -> JsonAnswer:
    problems = {name: sentence_of(problem) for name, problem in error.problems.items()}
    return JsonAnswer({"message": str(error), "problems": problems}, 422)
