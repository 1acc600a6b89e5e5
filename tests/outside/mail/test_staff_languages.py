"""Emails to the staff are in the language of their account, or the site's."""

from __future__ import annotations

from email.message import EmailMessage

from tests.faces.admin.visitor import OWN, Visitor
from tests.outside.mail.offices import Office, text_of
from tests.outside.mail.test_mailed_links import (
    disable_webhook,
    guard,
    invite,
    review,
    suspend_for_a_moment,
)
from tests.world import PASSWORD

from masthead.base.caller import system
from masthead.features.site.mail_trial import TestMails

RESET = "/api/collections/_superusers/request-password-reset"


async def test_staff_read_emails_in_the_language_of_their_account(
    office: Office,
) -> None:
    tenant = await office.world.new_tenant()
    owner = await tenant.owner(language="de", email="ada@example.com")
    parts = tenant.world.parts
    await guard(tenant, owner)
    await review(office, tenant, owner)
    await disable_webhook(tenant)
    await suspend_for_a_moment(tenant)
    await tenant.guest.post(RESET, json={"email": owner.email})
    await tenant.guest.post("/api/collections/_superusers/request-otp", json={"email": owner.email})
    trial = TestMails(parts.records, parts.mail, parts.sites, parts.windows, keyring=parts.keyring)
    await trial.send(system(tenant.id), {"email": owner.email, "language": "de"})
    found = [each for each in await office.mails() if owner.email in each["to"]]
    assert {each["subject"] for each in found} == {
        "Die zweiten Faktoren Ihres Kontos bei tenant haben sich geändert",
        "Ein Webhook von tenant wurde abgeschaltet",
        "Eine neue Anmeldung bei tenant",
        "Eine Test-E\u2011Mail von tenant",
        "Bereit zur Durchsicht bei tenant: „Hello big world“",
        "Ihr Code für tenant",
        "Zurückgegeben bei tenant: „Hello big world“",
        "tenant wurde gesperrt",
        "Wählen Sie ein neues Passwort für tenant",
    }
    assert all('lang="de"' in text_of(each, "html") for each in found)


async def test_an_invitation_is_in_the_language_of_the_site(
    office: Office,
) -> None:
    tenant = await office.world.new_tenant()
    await tenant.settings(language="fr")
    await invite(tenant)
    mail: EmailMessage = await office.mail_to("eve@example.com")
    assert 'lang="fr"' in text_of(mail, "html")


async def test_a_new_browser_is_named_in_the_language_of_the_account(office: Office) -> None:
    """Whatever the page was in on which it signed in, which is the language of the browser; nor is
    a browser new for another language."""
    tenant = await office.world.new_tenant()
    owner = await tenant.owner(email="ada@example.com")
    windows, linux = "Firefox/140.0 (Windows NT 10.0)", "Firefox/140.0 (X11; Linux x86_64)"
    for browser, language in ((windows, "de"), (linux, "de"), (linux, "en")):
        given = {"user-agent": browser, "accept-language": language}
        form = {"email": owner.email, "password": PASSWORD}
        visitor = Visitor(office.world.client(tenant.host))
        answer = await visitor.api.post("/admin/sign-in", data=form, headers={**OWN, **given})
        assert answer.status_code == 303
    assert "with Firefox on Linux, from" in text_of(await office.mail_to(owner.email))
