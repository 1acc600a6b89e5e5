"""Posts for chosen levels as emails and in digests: everyone gets what they read on the site."""

from __future__ import annotations

from tests.features.mailings.conftest import Press
from tests.features.mailings.test_digests import body, go_to, run, turn_on

SECRET = "The secret rest"
HTML = f'<p>The opening.</p><hr class="paywall"><p>{SECRET}.</p>'


async def levels_of(press: Press) -> dict[str, str]:
    made = {}
    for name in ("silver", "gold"):
        values = {"name": name.title(), "price": 500, "currency": "eur"}
        made[name] = (await press.tenant.create("tiers", values))["id"]
    for name, values in (
        ("free", {}),
        ("paid", {"tier": "paid"}),
        ("silver", {"tier": "paid", "tier_id": made["silver"]}),
        ("gold", {"tier": "paid", "tier_id": made["gold"]}),
    ):
        await press.readers(1, name, **values)
    return made


def letters(press: Press) -> dict[str, str]:
    """The letters by the beginning of the address."""
    return {
        envelope.rcpt_tos[0][:4]: body(letter)
        for envelope, letter in zip(press.postbox.envelopes, press.postbox.letters, strict=True)
    }


async def test_only_readers_of_the_level_get_the_whole_text(press: Press) -> None:
    levels = await levels_of(press)
    gold = {"visibility": "paid", "tiers": [levels["gold"]]}
    post = await press.tenant.published(title="Deep", content_html=HTML, **gold)
    await press.mail(post)
    await press.send()
    got = letters(press)
    assert len(got) == 4
    for text in got.values():
        assert "The opening" in text
    whole = {address for address, text in got.items() if SECRET in text}
    assert whole == {"gold"}
    others = [text for address, text in got.items() if address not in whole]
    assert all("is for members with Gold" in text for text in others)


async def test_a_digest_has_what_each_reader_can_read(press: Press) -> None:
    levels = await levels_of(press)
    due = (await turn_on(press))["digest_at"]
    for name in ("silver", "gold"):
        values = {"visibility": "paid", "tiers": [levels[name]]}
        await press.tenant.published(title=f"For {name} only", **values)
    go_to(press, due)
    await run(press)
    got = letters(press)
    assert set(got) == {"silv", "gold"}
    for name, text in got.items():
        found = {each[:4] for each in ("silver", "gold") if f"For {each} only" in text}
        assert found == {name}
