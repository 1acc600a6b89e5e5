"""The weekly digest of a newsletter as it would be sent now, and a test of it."""

from __future__ import annotations

from typing import Final

from masthead.base.caller import Audience, Reader
from masthead.base.errors import NotFound
from masthead.base.languages.words import words
from masthead.engine.records.collection import Record
from masthead.faces.admin.endpoint import Answer, Redirect
from masthead.faces.admin.environment import clock_time
from masthead.faces.admin.pages.mailings.preview import framed_letter
from masthead.faces.admin.pages.settings.subnav import NEWSLETTERS, in_settings
from masthead.faces.admin.request import AdminRequest
from masthead.features.members.newsletters import newsletters
from masthead.outside.mail.wording import being_sent, where_stored

NOTHING: Final = words("There is nothing to send: no new post that this reader can read.")
_READERS: Final = {"free": Reader(Audience.FREE), "paid": Reader(Audience.PAID)}
_LABELS: Final = {"free": words("As a free member"), "paid": words("As a paid member")}


async def digest_page(request: AdminRequest, record_id: str) -> Answer:
    newsletter, reader = await _newsletter(request, record_id), _reader(request)
    own, due = f"{NEWSLETTERS}/{record_id}", newsletter["digest_at"]
    letters = request.services.mailings.digest_letters
    letter = await letters.draw(request.tenant_id, newsletter, _READERS[reader])
    values = {
        "back": own,
        "tabs_of": [
            (label, f"{own}/digest?as={each}", each == reader, None)
            for each, label in _LABELS.items()
        ],
        "action": f"{own}/digest?as={reader}",
        "email": f"{own}/digest/email?as={reader}" if letter else "",
        "nothing": NOTHING,
        "subject": letter.subject if letter else "",
        "due": clock_time(request.local(due)) if due else "",
        "me": request.account["email"],
        "stored": where_stored(request.services.settings),
    }
    return in_settings(request, "digest.html", words("Weekly digest"), values)


async def digest_email(request: AdminRequest, record_id: str) -> Answer:
    """The email itself, for the frame."""
    newsletter = await _newsletter(request, record_id)
    letters = request.services.mailings.digest_letters
    letter = await letters.draw(request.tenant_id, newsletter, _READERS[_reader(request)])
    if letter is None:
        raise NotFound
    return framed_letter(request, letter, is_dark=False)


async def send_digest_test(request: AdminRequest, record_id: str) -> Answer:
    newsletter, reader = await _newsletter(request, record_id), _reader(request)
    to = request.account["email"]
    is_sent = await request.services.mailings.digest_letters.send_test(
        request.caller, request.tenant_id, newsletter, _READERS[reader], to=to
    )
    said = being_sent(request.services.settings, words("A test email"), to) if is_sent else NOTHING
    return Redirect(f"{NEWSLETTERS}/{record_id}/digest?as={reader}", said)


async def _newsletter(request: AdminRequest, record_id: str) -> Record:
    return await request.records.get(request.caller, newsletters, record_id)


def _reader(request: AdminRequest) -> str:
    given = request.query.get("as", "")
    return given if given in _READERS else next(iter(_READERS))
