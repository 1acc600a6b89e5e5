"""Mail: who sends it, whether it arrives, and which emails did not."""

from __future__ import annotations

from masthead.base.errors import NotFound
from masthead.base.languages.words import words
from masthead.faces.admin.endpoint import Answer, Page, Redirect
from masthead.faces.admin.pages.settings.subnav import MAIL, in_settings
from masthead.faces.admin.request import AdminRequest
from masthead.outside.mail.wording import where_stored

FAILURES = 20


async def mail_page(request: AdminRequest) -> Answer:
    settings = request.services.settings
    mark = request.query.get("test", "")
    failed = await request.services.mail.failures(request.tenant_id, FAILURES)
    values = {
        "sender": str(settings.mail_from),
        "host": _host(request),
        "stored": where_stored(settings),
        "to": request.account["email"],
        "asked": "test" in request.query,
        "mark": mark,
        "trial": await request.tools.test_mails.outcome(request.caller, mark),
        "failures": failed,
        "address": MAIL,
    }
    return in_settings(request, "mail.html", words("Email"), values)


async def send_test(request: AdminRequest) -> Answer:
    mark = await request.tools.test_mails.send(request.caller, request.account)
    return Redirect(f"{MAIL}?test={mark}")


async def test_state(request: AdminRequest, mark: str) -> Answer:
    """Asked for again until the email is sent or has failed."""
    trial = await request.tools.test_mails.outcome(request.caller, mark)
    if trial is None:
        raise NotFound
    if not request.is_fragment:
        return Redirect(f"{MAIL}?test={mark}")
    to = request.account["email"]
    values = {
        "trial": trial,
        "mark": mark,
        "to": to,
        "host": _host(request),
        "stored": where_stored(request.services.settings),
        "address": MAIL,
    }
    return Page(
        "settings/_trial.html", words("Test email"), values, fragment="settings/_trial.html"
    )


def _host(request: AdminRequest) -> str:
    server = request.services.settings.smtp_url
    return server.host if server else ""
