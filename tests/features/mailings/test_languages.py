"""On a site with several languages, a post goes to the members who read its language; a digest and
a welcome email are in the language of each."""

from __future__ import annotations

from tests.features.mailings.conftest import Press
from tests.features.mailings.test_digests import body, digests, go_to, made, run, turn_on
from tests.features.mailings.test_welcome import join
from tests.features.mailings.test_welcome import turn_on as welcome

from masthead.base.caller import Audience, Reader
from masthead.features.mailings.queue import Addressee, Claimed, MailingKey
from masthead.service.background import form_cache

HTML = "<p>La tour est debout.</p>"


async def test_members_get_the_posts_in_their_language(press: Press) -> None:
    await press.tenant.settings(language="de", languages=["fr"], site_name="Hafen")
    for name, language in (("none", ""), ("de", "de"), ("fr", "FR"), ("es", "es")):
        await press.readers(1, name, language=language)
    french = await press.tenant.published(title="Phare", language="fr", content_html=HTML)
    own = await press.tenant.published(title="Turm", content_html=HTML)
    await press.mail(french)
    await press.send()
    assert press.addresses == ["fr0@example.com"]
    letter = body(press.postbox.letters[0])
    assert "/fr/posts/phare" in letter
    assert 'lang="fr"' in press.postbox.letters[0].get_body(("html",)).get_content()
    press.postbox.envelopes.clear()
    await press.mail(own)
    await press.send()
    # The site has no Spanish texts.
    assert sorted(press.addresses) == ["de0@example.com", "es0@example.com", "none0@example.com"]


async def test_a_site_with_one_language_has_no_such_groups(press: Press) -> None:
    for name, language in (("none", ""), ("fr", "fr")):
        await press.readers(1, name, language=language)
    await press.mail(await press.tenant.published(title="Phare", language="fr"))
    await press.send()
    assert sorted(press.addresses) == ["fr0@example.com", "none0@example.com"]


async def test_a_digest_is_in_the_language_of_its_reader(press: Press) -> None:
    await press.tenant.settings(language="de", languages=["fr", "ar"], site_name="Hafen")
    for language in ("de", "fr", "ar", "es"):
        await press.readers(2, language, language=language)
    due = (await turn_on(press))["digest_at"]
    await press.tenant.published(title="Turm", excerpt="Er steht.")
    await press.tenant.published(title="Phare", language="fr")
    go_to(press, due)
    await run(press)
    assert len(press.postbox.letters) == 8
    got = {each["To"]: each for each in press.postbox.letters}
    for language, subject, unsubscribe in (
        ("de", "Diese Woche in coast", "Abbestellen"),
        ("es", "Diese Woche in coast", "Abbestellen"),
        ("fr", "Cette semaine dans coast", "Se désabonner"),
        ("ar", "هذا الأسبوع في \u2068coast\u2069", "إلغاء الاشتراك"),
    ):
        for number in (0, 1):
            letter = got[f"{language}{number}@example.com"]
            assert letter["Subject"] == subject
            assert unsubscribe in body(letter)
            assert "/fr/posts/phare" in body(letter)
            spoken = "de" if language == "es" else language
            assert f'<html lang="{spoken}"' in body(letter, "html")
    french, arabic = (body(got[f"{each}0@example.com"], "html") for each in ("fr", "ar"))
    assert french.index("Phare") < french.index("Turm")
    assert '<div dir="ltr" lang="de"' in french
    assert 'dir="rtl"' in arabic


async def test_of_a_post_and_its_translation_a_digest_has_one(press: Press) -> None:
    await press.tenant.settings(language="de", languages=["fr"])
    for language in ("de", "fr"):
        await press.readers(1, language, language=language)
    due = (await turn_on(press))["digest_at"]
    address = f"http://{press.tenant.host}/fr/posts/phare"
    await press.tenant.published(
        title="Turm", slug="turm", translations=[{"language": "fr", "url": address}]
    )
    german = [{"language": "de", "url": "/posts/turm"}]
    await press.tenant.published(title="Phare", slug="phare", language="fr", translations=german)
    go_to(press, due)
    await run(press)
    got = {each["To"]: body(each) for each in press.postbox.letters}
    assert "/fr/posts/phare" in got["fr0@example.com"]
    assert "/posts/turm" not in got["fr0@example.com"]
    assert "/posts/turm" in got["de0@example.com"]
    assert "/posts/phare" not in got["de0@example.com"]


async def test_the_words_of_a_digest_are_drawn_once_for_each_language(press: Press) -> None:
    await press.tenant.settings(language="de", languages=["fr", "ar"])
    await press.readers(1)
    due = (await turn_on(press))["digest_at"]
    await press.tenant.published(title="Turm")
    go_to(press, due)
    await digests(press).start_due()
    [mailing] = await made(press)
    key, whom = MailingKey(press.tenant.id, mailing["id"]), Addressee(mailing["newsletter"])

    def claimed(language: str) -> Claimed:
        return Claimed(key, whom, language, "a@b.example", "", language, Reader(Audience.FREE), 0)

    cache, drawn = form_cache(press.world.parts), []
    for _ in range(2):
        forms = await cache.get(key)
        assert forms is not None
        await cache.add(forms, [claimed("de"), claimed("fr"), claimed("fr")])
        drawn.append(dict(forms.by_key))
    # German for free and for paid members; French for the free ones; nobody reads Arabic.
    assert {(key.edition, key.reader.audience) for key in drawn[-1]} == {
        ("", Audience.FREE),
        ("", Audience.PAID),
        ("fr", Audience.FREE),
    }
    first, second = drawn
    assert all(second[key] is form for key, form in first.items())


async def test_the_words_around_a_welcome_email_are_its_readers(press: Press) -> None:
    await press.tenant.settings(language="ar", languages=["fr"])
    await welcome(press, "free", subject="أهلا", content_html="<p>مرحبا بكم</p>")
    await join(press, "ada@example.com", language="fr")
    await join(press, "zoe@example.com")
    await press.send()
    await press.send()
    got = {each["To"]: each for each in press.postbox.letters}
    french = got["ada@example.com"].get_body(("html",)).get_content()
    assert got["ada@example.com"]["Subject"] == "أهلا"
    assert '<html lang="fr" dir="ltr"' in french.replace("\n", " ").replace("  ", " ")
    assert "Se désabonner" in french
    assert french.count('dir="rtl"') == french.count('lang="ar"') == 2
    arabic = got["zoe@example.com"].get_body(("html",)).get_content()
    assert "إلغاء" in arabic
    assert arabic.count('dir="rtl"') == 1
