"""Mail scanners open every link they find: whatever the service mails, that changes nothing."""

from __future__ import annotations

import re
from email.message import EmailMessage
from html import unescape
from urllib.parse import urlsplit

from tests.mail.offices import Office, everything, text_of
from tests.mail.test_message import MAILS
from tests.world import records_of

from masthead.caller import system
from masthead.mail.message import Mail
from masthead.members.unsubscribe import Unsubscribe

SCANNER = {"accept": "text/html", "user-agent": "Mozilla/5.0 (link check)"}


def links_in(mail: EmailMessage) -> set[str]:
    headers = " ".join(str(value) for value in mail.values())
    html = unescape(text_of(mail, "html"))
    found = re.findall(r"https?://[^\s<>\"]+", f"{headers} {text_of(mail)} {html}")
    return set(found)


async def test_a_scanner_changes_nothing(office: Office) -> None:
    world = office.world
    tenant = await world.new_tenant()
    ana = await tenant.member(email="ana@example.com", newsletter=True)
    bob = await tenant.member(email="bob@example.com")
    own = records_of("blog_members", ana.id)
    await ana.api.patch(own, json={"email": bob.email})
    await bob.api.patch(records_of("blog_members", bob.id), json={"email": "b2@example.com"})
    confirming = await office.mail_to("b2@example.com")
    (confirm,) = (link for link in links_in(confirming) if "token=" in link)
    assert (await tenant.guest.post(confirm)).status_code == 200
    await ana.api.patch(own, json={"email": "a2@example.com"})
    site = await world.parts.sites.of(tenant.id)
    leave = Unsubscribe(world.parts.records, world.parts.keyring)
    newsletter = Mail(
        "email_in_use",
        ana.email,
        "A newsletter",
        {"site_name": site.name, "site_url": site.url},
        unsubscribe_url=leave.url(site.url, tenant.id, ana.email),
    )
    async with world.parts.records.unit(system(tenant.id)) as unit:
        await world.parts.mail.queue(unit, newsletter)
    mails = await office.mails()
    kinds = {mail["subject"].partition(" ")[0] for mail in mails}
    assert kinds == {each.subject.partition(" ")[0] for each in MAILS} | {"A"}

    before = await everything(world)
    links = set().union(*(links_in(mail) for mail in mails))
    assert {urlsplit(link).path for link in links} == {
        "",
        "/member/confirm-email",
        "/member/unsubscribe",
    }
    for link in links:
        for method in ("GET", "HEAD"):
            answer = await tenant.guest.request(method, link, headers=SCANNER)
            assert answer.status_code < 500
            assert answer.headers["content-type"]
    assert await everything(world) == before
