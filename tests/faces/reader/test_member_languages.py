"""Members of a site with several languages: they join in one of them, and can change it."""

from __future__ import annotations

from tests.faces.reader.test_member_pages import (
    link_in_mail,
    mails_to,
    member_at,
    office,
    reader_of,
    service,
    signed_in,
    site,
)
from tests.outside.mail.offices import Office
from tests.world import TenantWorld

__all__ = ["office", "service", "site"]


async def test_a_reader_joins_in_the_language_of_the_page(
    office: Office, site: TenantWorld
) -> None:
    await site.settings(language="de", languages=["fr"])
    await site.published(title="Phare", slug="phare", language="fr", content_html="<p>La tour</p>")
    reader = reader_of(site)
    await reader.open("/fr/posts/phare")
    asked = await reader.send("/fr/member/sign-up", email="ada@example.com")
    assert '<html lang="fr"' in asked.text
    link = await link_in_mail(office, "ada@example.com", "/fr/member/link")
    assert '<html lang="fr"' in (await reader.open(link)).text
    await reader.send("")
    assert (await reader.follow()).url.path == "/fr/posts/phare"
    member = await member_at(site, "ada@example.com")
    assert member is not None
    assert member["language"] == "fr"
    [mail] = await office.mails()
    assert mail["subject"] == "Confirmez que vous voulez rejoindre Tideline"
    # Who comes back gets the email in their own language, wherever they ask for it.
    other = reader_of(site)
    await other.open("/member/sign-in")
    await other.send("/member/sign-in", email="ada@example.com")
    assert "Se connecter à Tideline" in await mails_to(office, "ada@example.com")


async def test_a_member_changes_the_language(site: TenantWorld) -> None:
    await site.settings(language="de", languages=["fr", "ar"])
    reader, member = await signed_in(site, language="fr")
    page = await reader.open("/member/account")
    assert '<html lang="fr"' in page.text
    await reader.send("/fr/member/account/language", language="ar")
    page = await reader.follow()
    assert (page.url.path, 'dir="rtl"' in page.text) == ("/ar/member/account", True)
    await reader.send("/ar/member/account/language", language="de")
    page = await reader.follow()
    assert (page.url.path, '<html lang="de"' in page.text) == ("/member/account", True)
    await reader.send("/member/account/language", language="xx")
    assert (await member_at(site, member.email) or {})["language"] == "de"
    # Their own pages only: all others are cached for everyone.
    await site.settings(language="fr", languages=["de"])
    assert '<html lang="fr"' in (await reader.open("/")).text
    assert '<html lang="de"' in (await reader.open("/member/account")).text


async def test_emails_about_a_members_data_are_in_their_language(
    office: Office, site: TenantWorld
) -> None:
    await site.settings(language="de", languages=["fr"])
    reader, member = await signed_in(site, language="fr")
    await reader.open("/fr/member/account")
    await reader.send("/fr/member/account/export")
    await reader.open("/fr/member/delete")
    await reader.send("/fr/member/delete", phrase="DELETE MY DATA")
    subjects = await mails_to(office, member.email)
    assert sorted(subjects) == [
        "Suppression prévue : vos données sur Tideline",
        "Vos données de Tideline sont prêtes",
    ]
