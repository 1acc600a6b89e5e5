"""`POST /api/mail/events/{source}`: bounces and complaints, reported by a mail provider."""

from __future__ import annotations

import msgspec

from masthead.base.errors import BadRequest
from masthead.features.mailings.report_sources import SES, SOURCES, authentic_reports, check_head
from masthead.features.mailings.reports import MAX_REPORTS
from masthead.features.mailings.services import MailingServices
from masthead.web.answers import Answer, json_answer
from masthead.web.openapi.builders import Yes, content, in_path
from masthead.web.openapi.description import Description, StructAnswer
from masthead.web.policy import Body, BodyKind, Policy, WhileSuspended, Who
from masthead.web.request import Request
from masthead.web.rows import RouteRow
from masthead.web.services import RoomServices

TAG = "Email"
MAX_BODY_BYTES = 1024 * 1024
UNPROVEN_BYTES = {"mailgun": 64 * 1024, SES: 256 * 1024}
"""Where the body itself holds the proof: one event, or the longest message of SNS."""

POLICY = Policy(
    who=Who.SIGNATURE,
    # It concerns the addresses of all sites.
    while_suspended=WhileSuspended.OPEN,
    body=Body(BodyKind.RAW, MAX_BODY_BYTES, readers=MAX_BODY_BYTES),
)


class ReportsReceived(msgspec.Struct, frozen=True):
    received: Yes


RECEIVED = ReportsReceived(received=True)


async def receive_reports(services: RoomServices[MailingServices], request: Request) -> Answer:
    source = request.path_parameters["source"]
    check_head(source, services.web.settings, request)
    body = await request.body(UNPROVEN_BYTES.get(source))
    now = services.web.records.clock().timestamp()
    token, tokens = "", services.own.report_tokens
    if source == SES:
        reports = await services.own.sns.reports(services.web.settings, body)
    else:
        reports, token = authentic_reports(source, services.web.settings, request, body, now=now)
    if len(reports) > MAX_REPORTS:
        raise BadRequest(f"Send at most {MAX_REPORTS:,} reports in a call.")
    if not token or await tokens.begin(token, body):
        for each in reports:
            await services.own.reports.take(each)
    if token:
        await tokens.end(token)
    return json_answer(200, RECEIVED)


_SOURCE = in_path("source", "Who reports.", {"type": "string", "enum": [*SOURCES, SES]}, "generic")
_EXAMPLE = {"type": "bounce", "kind": "hard", "email": "ada@example.com"}
_GIVEN = {"description": "The report, as the source sends it.", "type": ["object", "array"]}

RECEIVE = Description(
    name="receiveMailEvents",
    tag=TAG,
    summary="Reports bounces and complaints.",
    answers={
        "200": StructAnswer(
            "The reports were accepted, including those for unknown addresses.", RECEIVED
        )
    },
    parameters=[_SOURCE],
    body={"required": True, "content": content(_GIVEN, _EXAMPLE)},
    errors=(401, 404),
)

ROWS = (RouteRow("POST", "/api/mail/events/{source}", receive_reports, POLICY, RECEIVE),)
