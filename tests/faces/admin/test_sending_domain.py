"""Who emails come from: the records of a site's domain and of the installation's are shown, looked
up at a real name server, and decide the sender."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from dataclasses import dataclass
from html import unescape

import pytest
from tests.databases import fresh_url
from tests.faces.admin.visitor import BARE, Visitor, staff, visitor
from tests.outside.mail.dkim_verifier import verify
from tests.outside.mail.postbox import Postbox
from tests.outside.outbound.names import NameServer
from tests.v1.keys import key_client
from tests.world import TenantWorld, World, open_world

from masthead.outside.mail.collection import sending_domains
from masthead.service.background import job_runner, mailing_worker, sending_domains_of

PAGE = "/admin/settings/sending"
OPERATOR_PAGE = "/admin/operator/sending"
DOMAIN = "blog.example.com"


@dataclass
class Place:
    world: World
    names: NameServer
    postbox: Postbox
    tenant: TenantWorld
    owner: Visitor

    async def records(self, page: str = PAGE, who: Visitor | None = None) -> dict[str, str]:
        """Name and value of the records that a page shows."""
        text = (await (who or self.owner).get(page)).text
        found = [unescape(each) for each in re.findall(r"data-copied>([^<]*)<", text)]
        return dict(zip(found[::2], found[1::2], strict=True))

    def set(self, records: dict[str, str]) -> None:
        for name, value in records.items():
            self.names.tell_text(name, value)

    async def send(self, title: str) -> bytes:
        """The email of a new post, as the mail server got it."""
        post = await self.tenant.published(title=title, content_html="<p>High water.</p>")
        api = await key_client(self.tenant, "mailings:write")
        answer = await api.post("/api/v1/mailings", json={"post_id": post["id"]})
        assert answer.status_code == 202, answer.text
        await mailing_worker(self.world.parts).run_due()
        content = self.postbox.envelopes[-1].original_content
        assert isinstance(content, bytes)
        return content


@pytest.fixture(params=["sqlite", "postgresql"])
async def place(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Place]:
    names = NameServer()
    await names.start()
    folder = tmp_path_factory.mktemp("sending")
    async with Postbox() as postbox:
        world = await open_world(
            fresh_url(request.param, folder),
            folder,
            MASTHEAD_DNS_SERVER=f"127.0.0.1:{names.port}",
            MASTHEAD_SMTP_URL=f"smtp://127.0.0.1:{postbox.port}",
            MASTHEAD_MAIL_FROM="Press <post@press.example>",
            MASTHEAD_MAIL_SPF="ip4:192.0.2.25",
        )
        tenant = await world.new_tenant("tideline")
        await tenant.create("blog_members", {"email": "ada@example.org", "newsletter": True})
        owner, _ = await staff(tenant, "owner")
        yield Place(world, names, postbox, tenant, owner)
        await world.parts.close()
    names.close()


async def test_a_site_sends_from_its_domain_once_the_records_are_right(place: Place) -> None:
    assert "needs its own domain first" in (await place.owner.get(PAGE)).text
    assert (await place.owner.post(PAGE)).status_code == 404
    await place.tenant.settings(custom_domain=DOMAIN)
    assert await place.records() == {}
    await place.owner.follow(await place.owner.post(PAGE))
    records = await place.records()
    assert list(records)[1:] == [f"_dmarc.{DOMAIN}", DOMAIN]
    assert next(iter(records)).endswith(f"._domainkey.{DOMAIN}")
    assert records[DOMAIN] == "v=spf1 ip4:192.0.2.25 ~all"
    content = await place.send("Before")
    assert b"From: tideline <post@press.example>" in content
    assert b"DKIM-Signature" not in content

    checked = await place.owner.post(f"{PAGE}/check")
    assert f"There is no DKIM record at {next(iter(records))} yet" in checked.text
    # SPF is looked up, too, but nothing waits for it.
    place.set({name: value for name, value in records.items() if name != DOMAIN})
    text = await place.owner.follow(await place.owner.post(f"{PAGE}/check"))
    assert "Receivers can verify that emails come from" in text
    checked = await place.owner.post(f"{PAGE}/check")
    assert f"There is no SPF record at {DOMAIN} yet" in checked.text
    place.set(records)
    assert "There is no SPF record" not in (await place.owner.post(f"{PAGE}/check")).text
    content = await place.send("After")
    assert f"From: tideline <post@{DOMAIN}>".encode() in content
    tags = verify(content, next(iter(records.values())))
    assert tags["d"] == DOMAIN
    # Where it comes back if it can't be delivered.
    assert place.postbox.envelopes[-1].mail_from == "post@press.example"


async def test_a_new_key_has_another_record_and_signs_once_that_is_found(place: Place) -> None:
    assert (await place.owner.post(f"{PAGE}/new-key")).status_code == 404
    await place.tenant.settings(custom_domain=DOMAIN)
    await place.owner.post(PAGE)
    first = await place.records()
    place.set(first)
    await place.owner.post(f"{PAGE}/check")
    question = (await place.owner.get(f"{PAGE}/new-key")).text
    assert "newsletters come from post@press.example" in " ".join(question.split())
    seen = [next(iter(first))]
    for _ in range(2):
        await place.owner.follow(await place.owner.post(f"{PAGE}/new-key"))
        seen.append(next(iter(await place.records())))
    assert len(set(seen)) == 3
    assert b"From: tideline <post@press.example>" in await place.send("Between")
    records = await place.records()
    place.set(records)
    await place.owner.post(f"{PAGE}/check")
    content = await place.send("After")
    assert f"From: tideline <post@{DOMAIN}>".encode() in content
    tags = verify(content, next(iter(records.values())))
    assert f"{tags['s']}._domainkey.{DOMAIN}" == seen[-1]


async def test_records_that_are_gone_end_the_sites_own_sender(place: Place) -> None:
    await place.tenant.settings(custom_domain=DOMAIN)
    await place.owner.post(PAGE)
    records = await place.records()
    place.set(records)
    await place.owner.post(f"{PAGE}/check")
    senders, chore = place.world.parts.mailings.senders, sending_domains_of(place.world.parts)
    assert await senders.own_domain(place.tenant.id) == DOMAIN
    assert await senders.warning(place.tenant.id) == ""
    place.world.clock.advance(hours=25)
    place.names.is_broken = True
    await chore.run()
    # No answer says nothing.
    assert await senders.own_domain(place.tenant.id) == DOMAIN
    place.names.is_broken = False
    place.names.tell_text(next(iter(records)))
    place.world.clock.advance(hours=25)
    await chore.run()
    assert await senders.own_domain(place.tenant.id) == ""
    assert "not from blog.example.com" in await senders.warning(place.tenant.id)
    place.set(records)
    place.world.clock.advance(hours=25)
    await chore.run()
    assert await senders.own_domain(place.tenant.id) == DOMAIN
    # Another domain has to be set up by itself.
    await place.tenant.settings(custom_domain="other.example.com")
    assert await senders.own_domain(place.tenant.id) == ""


async def test_the_installations_domain_is_the_operators(place: Place) -> None:
    post = await place.tenant.published(title="Tides", content_html="<p>High water.</p>")
    mail_page = f"/admin/posts/{post['id']}/mail"
    assert "receivers can’t verify that" in (await place.owner.get(mail_page)).text
    assert (await place.owner.get(OPERATOR_PAGE)).status_code in (403, 404)
    operator = visitor(place.world, await place.world.operator(), BARE)
    await operator.follow(await operator.post(OPERATOR_PAGE))
    records = await place.records(OPERATOR_PAGE, operator)
    assert records["press.example"] == "v=spf1 ip4:192.0.2.25 ~all"
    assert "They have not been checked yet" in (await place.owner.get(mail_page)).text
    place.set(records)
    place.names.tell_text("press.example", "v=spf1 mx -all")
    text = (await operator.post(f"{OPERATOR_PAGE}/check")).text
    assert "Add ip4:192.0.2.25 to it" in text
    assert "Add ip4:192.0.2.25 to it" in (await place.owner.get(mail_page)).text
    place.set(records)
    text = await operator.follow(await operator.post(f"{OPERATOR_PAGE}/check"))
    assert "Receivers can verify that emails come from press.example" in text
    assert "notice-warn" not in (await place.owner.get(mail_page)).text
    content = await place.send("Signed")
    tags = verify(content, next(v for v in records.values() if v.startswith("v=DKIM1")))
    assert tags["d"] == "press.example"


async def test_two_requests_make_one_key_and_a_site_sees_only_its_own(place: Place) -> None:
    await place.tenant.settings(custom_domain=DOMAIN)
    await place.owner.post(PAGE)
    first = await place.records()
    await place.owner.post(PAGE)
    assert await place.records() == first
    other = await place.world.new_tenant("other")
    account = await other.owner()
    answer = await account.api.get("/api/collections/sending_domains/records")
    assert (answer.status_code, answer.json()["items"]) == (200, [])
    path = "/api/collections/sending_domains/records"
    assert (await account.api.post(path, json={"domain": "thief.example"})).status_code == 403
    own = await place.tenant.owner()
    [record] = (await own.api.get(path)).json()["items"]
    await own.api.patch(f"{path}/{record['id']}", json={"is_ready": True, "domain": "x.example"})
    [stored] = await place.world.parts.records.find(sending_domains, {}, tenant_id=place.tenant.id)
    assert (stored["is_ready"], stored["domain"]) == (False, DOMAIN)


async def test_checks_are_limited(place: Place) -> None:
    await place.tenant.settings(custom_domain=DOMAIN)
    await place.owner.post(PAGE)
    for _ in range(20):
        assert (await place.owner.post(f"{PAGE}/check")).status_code == 200
    refused = await place.owner.post(f"{PAGE}/check")
    assert (refused.status_code, refused.headers["retry-after"]) == (429, "60")


async def test_a_test_email_comes_from_the_same_sender(place: Place) -> None:
    await place.tenant.settings(custom_domain=DOMAIN)
    await place.owner.post(PAGE)
    place.set(await place.records())
    await place.owner.post(f"{PAGE}/check")
    post = await place.tenant.published(title="Tides", content_html="<p>High water.</p>")
    await place.owner.post(f"/admin/posts/{post['id']}/mail/test")
    runner = job_runner(place.world.parts)
    while await runner.run_due():
        pass
    content = place.postbox.envelopes[-1].original_content
    assert f"<post@{DOMAIN}>".encode() in content
    assert verify(content, next(iter((await place.records()).values())))["d"] == DOMAIN
