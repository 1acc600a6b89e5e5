"""`POST /api/ai/generate`: checks limits and answers with an event stream."""

from __future__ import annotations

from contextlib import suppress
from functools import partial

from masthead.base.caller import Caller, Kind
from masthead.base.config.values import AiFor
from masthead.base.errors import BadRequest, Forbidden, TooLarge, Unauthenticated
from masthead.base.ids import TenantId
from masthead.features.ai import description
from masthead.features.ai.accounts import AiUnavailable, SiteAi, destination_of, site_ai, used_by
from masthead.features.ai.answer import EventStream
from masthead.features.ai.budget import Reservation, max_prompt_tokens
from masthead.features.ai.generation import GenerationRequest
from masthead.features.ai.limits import NO_TENANT, admit
from masthead.features.ai.prompts import Prompt, parse_prompt_request, prompt_for
from masthead.features.ai.services import AiServices
from masthead.web.answers import Stream
from masthead.web.asgi import Send
from masthead.web.bodies import SMALL_FORM_BYTES, SMALL_FORM_VALUES, decode_json_object
from masthead.web.policy import Body, BodyKind, Limit, Origin, Policy, Who
from masthead.web.request import Request
from masthead.web.rows import RouteRow
from masthead.web.services import RoomServices

PREFIX = "/api/ai/"
MAX_BODY_BYTES = 512 * 1024
"""Room for the longest texts with every character escaped."""


POLICY = Policy(
    who=Who.VISITOR,
    origin=Origin.COOKIES,
    limit=Limit.GENERATIONS,
    body=Body(BodyKind.JSON, MAX_BODY_BYTES, readers=MAX_BODY_BYTES),
)


async def generate(services: RoomServices[AiServices], request: Request) -> Stream:
    site = await site_ai(services.web.records, request.tenant_id)
    if used_by(site.used_by, site.has_key, services.web.settings) is AiFor.STAFF:
        _refuse_others(await services.web.callers.of(request))
    try:
        destination = destination_of(site, services.web.settings)
    except AiUnavailable as error:
        await _check_short(request)
        await admit(services.web.windows, request.address, request.tenant_id, site)
        return Stream(partial(_say_unavailable, str(error)))
    try:
        prompt = await _prompt(request)
    except TooLarge as error:
        raise BadRequest(str(error)) from error
    await admit(services.web.windows, request.address, request.tenant_id, site)
    generation = GenerationRequest(
        prompt,
        destination,
        tenant_id=request.tenant_id or NO_TENANT,
        by_platform=not site.has_key,
        reservation=await _reserve(services, prompt, request.tenant_id, site),
    )
    receive = request.receive
    return Stream(lambda send: services.own.generator.run(generation, EventStream(send), receive))


async def _reserve(
    services: RoomServices[AiServices], prompt: Prompt, tenant_id: TenantId | None, site: SiteAi
) -> Reservation | None:
    if tenant_id is None or site.daily_tokens is None:
        return None
    return await services.own.budgets.reserve(
        tenant_id, site.daily_tokens, max_prompt_tokens(prompt)
    )


async def _say_unavailable(reason: str, send: Send) -> None:
    stream = EventStream(send)
    await stream.open()
    await stream.finish({"error": reason})


def _refuse_others(caller: Caller) -> None:
    """On a site whose AI is for its staff."""
    if caller.kind is Kind.GUEST:
        raise Unauthenticated(f"{_FOR_STAFF} Sign in first.")
    if caller.is_reader:
        raise Forbidden(_FOR_STAFF)


_FOR_STAFF = "Only the staff of this site can use its AI."


async def _prompt(request: Request, most: int = MAX_BODY_BYTES) -> Prompt:
    request.check_is_json()
    raw = await request.body(most)
    return prompt_for(parse_prompt_request(decode_json_object(raw, max_values=SMALL_FORM_VALUES)))


async def _check_short(request: Request) -> None:
    """Where nothing is generated, only short requests are read and checked."""
    with suppress(TooLarge):
        await _prompt(request, SMALL_FORM_BYTES)


ROWS = (RouteRow("POST", f"{PREFIX}generate", generate, POLICY, description.GENERATE),)
