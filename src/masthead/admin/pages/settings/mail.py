"""Mail: who sends it, whether it arrives, and which mails did not."""

from __future__ import annotations

from dataclasses import dataclass

from masthead import ids
from masthead.admin.endpoint import Answer, Moved, Shown
from masthead.admin.pages.settings.subnav import MAIL, in_settings
from masthead.admin.request import AdminRequest
from masthead.errors import NotFound

FAILURES = 20


@dataclass(frozen=True, slots=True)
class Failure:
    recipient: str
    why: str
    at: str
    gave_up: bool


@dataclass(frozen=True, slots=True)
class Trial:
    """The test mail that was asked for last."""

    id: str
    state: str
    """waiting, failed or sent."""
    why: str = ""


async def mail_page(request: AdminRequest) -> Answer:
    settings = request.services.settings
    failed = await request.services.mail.failures(request.tenant_id, FAILURES)
    values = {
        "sender": str(settings.mail_from),
        "host": _host(request),
        "to": request.account["email"],
        "trial": await _trial(request, request.query.get("test", "")),
        "failures": [
            Failure(each.recipient, each.why, request.when(each.at), each.gave_up)
            for each in failed
        ],
        "address": MAIL,
    }
    return in_settings(request, "mail.html", "Mail", values)


async def send_test(request: AdminRequest) -> Answer:
    mail_id = await request.services.test_mails.send(request.caller, request.account["email"])
    return Moved(f"{MAIL}?test={mail_id}")


async def test_state(request: AdminRequest, mail_id: str) -> Answer:
    """Asked for again until the mail is sent or has failed."""
    trial = await _trial(request, mail_id)
    if trial is None:
        raise NotFound
    if not request.is_fragment:
        return Moved(f"{MAIL}?test={mail_id}")
    to = request.account["email"]
    values = {"trial": trial, "to": to, "host": _host(request), "address": MAIL}
    return Shown("settings/_trial.html", "Test mail", values, fragment="settings/_trial.html")


def _host(request: AdminRequest) -> str:
    server = request.services.settings.smtp_url
    return server.host if server else ""


async def _trial(request: AdminRequest, mail_id: str) -> Trial | None:
    if not ids.is_id(mail_id):
        return None
    state = await request.services.mail.state(request.tenant_id, mail_id)
    if state is None:
        return Trial(mail_id, "sent")
    return Trial(mail_id, "failed" if state.at else "waiting", state.why)
