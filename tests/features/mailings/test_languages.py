"""A post of a site with several languages goes to the members who read its language."""

from __future__ import annotations

from tests.features.mailings.conftest import Press
from tests.features.mailings.test_digests import body, go_to, run, turn_on

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


async def test_a_digest_has_the_posts_of_all_languages(press: Press) -> None:
    await press.tenant.settings(language="de", languages=["fr"])
    await press.readers(1)
    due = (await turn_on(press))["digest_at"]
    await press.tenant.published(title="Phare", language="fr")
    await press.tenant.published(title="Turm")
    go_to(press, due)
    await run(press)
    [letter] = press.postbox.letters
    text = body(letter)
    assert "/fr/posts/phare" in text
    assert "/posts/turm" in text
