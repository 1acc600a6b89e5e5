"""Posts of every origin as emails: the demo's, and those that the importers bring."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from contextlib import closing
from email import message_from_bytes
from email.headerregistry import Address
from email.message import EmailMessage
from email.policy import default
from pathlib import Path
from tempfile import mkdtemp
from typing import Any, Final

import pytest
from tests.faces.importers.samples.every import SAMPLES
from tests.faces.importers.samples.sample import Sample
from tests.features.mailings.sound import SITE, problems
from tests.outside.mail.dkim_verifier import verify
from tests.world import START, TenantWorld

from masthead.base.caller import Audience, Reader
from masthead.content.texts.markdown import convert
from masthead.faces.importers.convert.content import prepare
from masthead.faces.importers.platforms.exports import open_export
from masthead.faces.importers.source import Options, SourcePost
from masthead.features.mailings.letter import Letter, Recipient, draw_letter
from masthead.features.mailings.message import MessageForm, Sender
from masthead.features.site.address import Site
from masthead.outside.mail.message import SigningKey
from masthead.outside.mail.signing import make_key_pair, signed_in_process
from masthead.service.demo.magazine import read_magazine

NEWSLETTER: Final[dict[str, Any]] = {"slug": "main", "name": "Weekly"}
PAIR: Final = make_key_pair()
KEY: Final = SigningKey("coast.example", "mh1", PAIR.private_key)
READERS: Final = (Audience.FREE, Audience.PAID)


async def letter_of(
    tenant: TenantWorld, audience: Audience, post: Any, language: str = "en"
) -> Letter:
    return await draw_letter(
        tenant.world.parts.records,
        tenant_id=tenant.id,
        site=Site("The Coast", SITE, language),
        newsletter=NEWSLETTER,
        post=post,
        reader=Reader(audience),
    )


async def check(tenant: TenantWorld, **values: Any) -> None:
    post = await tenant.published(**values)
    for audience in READERS:
        letter = await letter_of(tenant, audience, post)
        assert problems(letter) == []
        check_message(letter)


def check_message(letter: Letter) -> None:
    """The email as a recipient gets it: every part can be parsed and is the letter's; a verifier
    that shares no code with what signs accepts it."""
    newsletter = {"slug": "main", "id": "n", "sender_name": "Müller & Co.", "reply_to": ""}
    mail_from, site = Address("Press", "post", "press.example"), Site("The Coast", SITE)
    sender = Sender.of(mail_from, site, newsletter, domain="coast.example", key=KEY)
    form = MessageForm(letter, sender, boundary="b1", written=START)
    recipient = Recipient("ada@example.org", "Ada Łęcka", f"{SITE}/member/unsubscribe?t=1&n=main")
    made = form.compose(recipient, "m1", f"{SITE}/member/unsubscribe?t=1")
    content = signed_in_process(KEY.private_key, KEY.domain, KEY.selector, made.content)
    assert verify(content, f"v=DKIM1; k=rsa; p={PAIR.public_key}")["d"] == "coast.example"
    assert max(map(len, content.split(b"\r\n"))) < 998
    message = message_from_bytes(content, policy=default)
    assert isinstance(message, EmailMessage)
    own = letter.for_recipient(recipient)
    for kind, text in (("plain", own.text), ("html", own.html)):
        part = message.get_body((kind,))
        assert part is not None
        assert part.defects == []
        assert part.get_content().splitlines() == text.splitlines()
    assert message.defects == []
    assert message["list-unsubscribe"] == f"<{SITE}/member/unsubscribe?t=1>"


QUOTED: Final = "<h2>Zitat</h2><blockquote><p>Siehe <em>dort</em>.</p></blockquote>"


async def test_letters_that_have_no_slanted_form_stand_upright(tenant: TenantWorld) -> None:
    def style(html: str, name: str) -> str:
        found = re.search(rf'<{name} style="([^"]*)"', html)
        return found[1] if found else ""

    drawn = {}
    for language in ("de", "ja", "ar"):
        post = await tenant.published(language=language, content_html=QUOTED)
        drawn[language] = (await letter_of(tenant, Audience.FREE, post)).html
        assert f'lang="{language}" dir=' in drawn[language]
    assert "font-style: italic" in style(drawn["de"], "blockquote")
    for language in ("ja", "ar"):
        for name in ("blockquote", "em"):
            assert "font-style: normal" in style(drawn[language], name), language
    assert "font-weight: 700" in style(drawn["ja"], "em")
    for name in ("h1", "h2"):
        broken = re.search(rf"<{name} [^>]*auto-phrase", drawn["ja"])
        assert broken, name
        assert "auto-phrase" not in style(drawn["ar"], name)


async def test_a_name_in_another_script_leaves_the_date_whole(tenant: TenantWorld) -> None:
    owner = await tenant.owner(name="Nell Ashby")
    post = await tenant.published(authors=[owner.id], published_at="2026-11-14T09:30:00.000Z")
    letter = await letter_of(tenant, Audience.FREE, post, "ar")
    byline = "\u2068Nell Ashby\u2069 · \u206814 نوفمبر 2026\u2069"
    assert byline in letter.html
    assert byline in letter.text


async def test_posts_of_the_demo(tenant: TenantWorld) -> None:
    for post in read_magazine().posts:
        text = convert(post.markdown)._asdict()
        shown = {"title": post.title, "excerpt": post.excerpt, "visibility": post.visibility}
        await check(tenant, **shown, **text)


@pytest.mark.parametrize(
    "platform", [pytest.param("wordpress", marks=pytest.mark.sweep), "ghost", "substack"]
)
async def test_posts_of_importers(tenant: TenantWorld, platform: str, tmp_path: Path) -> None:
    texts = {text for sample in SAMPLES for text in texts_of(sample, platform, tmp_path)}
    assert len(texts) > 20
    for html in sorted(texts):
        await check(tenant, content_html=html)


def texts_of(sample: Sample, platform: str, folder: Path) -> Iterator[str]:
    if sample.platform != platform or sample.refusal:
        return
    path = sample.write(Path(mkdtemp(dir=folder)))
    with closing(open_export(platform, path, Options(include_pages=True))) as source:
        for post in source.posts():
            if isinstance(post, SourcePost):
                yield prepare(post, "").html


async def test_a_text_with_everything(tenant: TenantWorld) -> None:
    html = (Path(__file__).parents[2] / "faces" / "reader" / "sample_text.html").read_text()
    await check(tenant, content_html=html)


OPENINGS: Final = ("<p>Open {}.</p>", "<h2>Open {}</h2>", "<ul><li>Open {}</li></ul>")
SECRETS: Final = (
    "<p>{}</p>",
    '<p><a href="https://{}.example/" title="{}">Link</a></p>',
    '<figure><img src="https://pics.example/{}.png" alt="{}"><figcaption>{}</figcaption></figure>',
    "<pre><code>{}</code></pre>",
    "<table><tr><td>{}</td></tr></table>",
    '<p><a href="https://youtu.be/{}">https://youtu.be/{}</a></p>',
    '<video src="https://films.example/{}.mp4" poster="/{}.png"></video>',
    '<p>Text<sup><a href="#fn-{}" id="fnref-{}">1</a></sup></p><ol><li id="fn-{}">{}</li></ol>',
)
WALLS: Final = (
    "<!--more-->",
    "<!-- members-only -->",
    '<hr class="paywall">',
    "<HR class='paywall' data-x=1>",
    "<!--members-only:paid-->",
)
AROUND: Final = (
    "{}",
    "<div>{}</div>",
    "<blockquote>{}</blockquote>",
    "<section><div>{}</div></section>",
)


def gated_texts(number: int) -> Iterator[str]:
    chosen = random.Random(27)
    for at in range(number):
        opening = "".join(
            each.format(f"opening{at}") for each in chosen.choices(OPENINGS, k=chosen.randint(0, 4))
        )
        secret = "".join(
            each.replace("{}", f"secret{at}")
            for each in chosen.choices(SECRETS, k=chosen.randint(1, 5))
        )
        yield chosen.choice(AROUND).format(opening + chosen.choice(WALLS) + secret)


@pytest.mark.parametrize("number", [30, pytest.param(120, marks=pytest.mark.sweep)])
async def test_no_free_reader_is_mailed_what_paid_members_read(
    tenant: TenantWorld, number: int
) -> None:
    for html in gated_texts(number):
        post = await tenant.published(visibility="paid", content_html=html)
        free, paid = [await letter_of(tenant, each, post) for each in READERS]
        assert "secret" not in free.html + free.text, html
        assert "secret" in paid.html, html
        assert "for paid members" in free.html
        assert "for paid members" in free.text
        assert "for paid members" not in paid.html


async def test_without_a_paywall_nothing_of_a_gated_text_is_mailed(tenant: TenantWorld) -> None:
    post = await tenant.published(visibility="paid", content_html="<p>secret</p>", excerpt="Open")
    letter = await letter_of(tenant, Audience.FREE, post)
    assert "secret" not in letter.html + letter.text
    assert "This post is for paid members" in letter.text
