"""The public API of mailings."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Annotated, Any

from msgspec import Meta, Struct

from masthead.engine.records.collection import Record
from masthead.engine.records.fields.text import Email
from masthead.engine.records.filter.conditions import equals
from masthead.engine.records.read.page import Page
from masthead.engine.records.write.unit import Unit
from masthead.features.mailings.actions import MailingActions
from masthead.features.mailings.collection import COUNTS, mailings
from masthead.features.mailings.services import MailingServices
from masthead.outside.mail.message import RenderedMail
from masthead.web.openapi.builders import ID
from masthead.web.v1.call import Call
from masthead.web.v1.parameters import Parameter
from masthead.web.v1.routes import Route, Shape, list_of
from masthead.web.v1.schema import Body, View

READ, WRITE = "mailings:read", "mailings:write"
DATES = ("scheduled_for", "started_at", "finished_at")

MAILING = View(
    "Mailing",
    mailings,
    (
        "id",
        "post_id",
        "newsletter",
        "subject",
        "audience",
        "labels",
        "status",
        "recipients",
        *COUNTS,
        "opens",
        "clicks",
        *DATES,
        "created",
        "kind",
    ),
    nullable=frozenset({"post_id", *DATES}),
)
CREATE = Body(
    "MailingCreate",
    mailings,
    ("post_id", "newsletter", "audience", "labels", "subject", "scheduled_for"),
    required=frozenset({"post_id"}),
    nullable=frozenset({"scheduled_for"}),
)
TO = Email(name="to", required=True, help="The email address of someone on the staff.")


TEST = Body(
    "MailingTest",
    mailings,
    ("post_id",),
    required=frozenset({"post_id", "to"}),
    inputs=(TO,),
)


class TestLetter(Struct, frozen=True):
    post_id: str
    to: Annotated[str, Meta(extra_json_schema={"format": "email"})]
    subject: Annotated[str, Meta(description="Begins with `[Test]`.")]


class MailingTestAccepted(Struct, frozen=True):
    data: TestLetter


STATUS = Parameter(
    "status",
    "Only mailings in this state.",
    "choice",
    choices=("scheduled", "sending", "paused", "sent", "cancelled", "failed"),
)


def _services(call: Call) -> MailingServices:
    return call.services.group(MailingServices)


async def list_mailings(call: Call) -> Page:
    conditions = [equals("status", call.query["status"])] if call.query["status"] else []
    return await call.page(mailings, *conditions)


async def get_mailing(call: Call) -> dict[str, Any]:
    return MAILING.of(await call.get(mailings))


async def create_mailing(call: Call) -> Record:
    return await _services(call).starting.create(call.unit, call.body)


@asynccontextmanager
async def drawn_letter(call: Call) -> AsyncIterator[RenderedMail]:
    """Before the transaction, which must not wait for it."""
    letters = _services(call).test_letters
    yield await letters.draw(call.tenant.id, call.body["post_id"], call.body["to"])


async def send_test(call: Call) -> MailingTestAccepted:
    rendered: RenderedMail = call.prepared
    await _services(call).test_letters.queue(call.unit, rendered)
    return MailingTestAccepted(TestLetter(call.body["post_id"], rendered.to, rendered.subject))


def _action(act: Callable[[MailingActions, Unit, str], Awaitable[Record]]) -> Any:
    async def handle(call: Call) -> Record:
        return await act(_services(call).actions, call.unit, call.record_id)

    # The description names the operation by it.
    handle.__name__ = f"{act.__name__}_mailing"
    return handle


def _change(path: str, handler: Any, *, status: int = 200, **more: Any) -> Route:
    return Route(
        "POST",
        path,
        handler,
        WRITE,
        Shape.DATA,
        status=status,
        view=MAILING,
        may_conflict=True,
        **more,
    )


routes = (
    list_of(
        "/mailings",
        list_mailings,
        scope=READ,
        view=MAILING,
        filters=(STATUS,),
        summary="List mailings, newest first",
    ),
    _change(
        "/mailings",
        create_mailing,
        status=202,
        body=CREATE,
        summary="Send a post as an email to its readers",
    ),
    # Before `{id}`: "test" is no id.
    Route(
        "POST",
        "/mailings/test",
        send_test,
        WRITE,
        Shape.UNWRAPPED,
        status=202,
        example=MailingTestAccepted(
            TestLetter(ID, "ada@example.com", "[Test] The lighthouse keeps its own hours")
        ),
        body=TEST,
        prepare=drawn_letter,
        summary="Send one copy to someone on the staff",
    ),
    # Not cached: the counts change without a change of the record.
    Route(
        "GET",
        "/mailings/{id}",
        get_mailing,
        READ,
        Shape.RECORD,
        view=MAILING,
        summary="View a mailing and its progress",
    ),
    _change("/mailings/{id}/pause", _action(MailingActions.pause), summary="Pause a mailing"),
    _change("/mailings/{id}/resume", _action(MailingActions.resume), summary="Resume a mailing"),
    _change("/mailings/{id}/cancel", _action(MailingActions.cancel), summary="Cancel a mailing"),
    _change(
        "/mailings/{id}/resend-uncertain",
        _action(MailingActions.resend_uncertain),
        status=202,
        summary="Send it to the uncertain recipients again",
    ),
)
