"""Nothing that is stored runs as script: every payload in every field, on every page.

Encoding alone must hold, so the browser is told to ignore the policy, which would stop most of it.
Skipped where the machine has no Chromium.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote

import pytest
from playwright.async_api import Dialog, Page
from tests.browser import Browser, needs_chromium
from tests.databases import fresh_url
from tests.faces.admin import hostile
from tests.faces.admin.every_page import SAMPLES, Sample
from tests.faces.admin.payloads import PAYLOADS
from tests.served import serving
from tests.world import Account, RunningClock, TenantWorld, World, open_world

from masthead.engine.records.fields.text import Text
from masthead.identity.sessions import MEMBER_COOKIE
from masthead.service.schema import registry

pytestmark = [pytest.mark.sweep, needs_chromium]

SHORT = {each for each in PAYLOADS if len(each) <= 16}
# One payload of so many on each page that shows one record.
STEP = 8
_NAME = re.compile(r"\{([^}]*)\}")

# What would run sooner or later: at once, when it is clicked, or when htmx finds it.
ARMED = """(() => {
  const run = /^[\\u0000-\\u0020]*(javascript|vbscript|data:text|data:image.svg)/i;
  const addresses = ['href', 'src', 'action', 'formaction', 'data', 'xlink:href', 'poster',
    'background', 'srcdoc'];
  const ours = 'script[src*="/assets/"], script[type="application/ld+json"]';
  const never = 'object, embed, base[href], math, marquee, animate, set, foreignObject, style,' +
    ' xmp, meta[http-equiv], link[rel=import], iframe[srcdoc]';
  // An email has its styles in itself: they may only be ones that load and run nothing.
  const isHarmless = text => !/url\\(|expression|@import|javascript|tripwire/i.test(text);
  const isArmed = (each, isMail) => {
    if (isMail && each.matches('style')) return !isHarmless(each.textContent);
    if (each.matches('script') && !each.matches(ours) || each.matches(never)) return true;
    return [...each.attributes].some(({name, value}) =>
      name.startsWith('on') || name === 'style' && !(isMail && isHarmless(value))
      || addresses.includes(name) && run.test(value)
      || name.startsWith('hx-') && value.includes('tripwire('));
  };
  window.armed = (root, isMail) => [...root.querySelectorAll('*')]
    .filter(each => isArmed(each, isMail)).map(each => each.outerHTML.slice(0, 200));
  window.armedAt = async address => {
    const answer = await fetch(address);
    const kind = answer.headers.get('content-type') ?? '';
    // A file, or an answer to a script: nothing of it is shown as it is.
    if (!/html|xml/.test(kind)) return answer.status >= 500 ? [`${answer.status}`] : [];
    const as = kind.includes('xml') ? 'text/xml' : 'text/html';
    const tree = new DOMParser().parseFromString(await answer.text(), as);
    const email = /\\/email\\/page|\\/(welcome\\/\\w+|digest)\\/email/.test(address);
    const found = window.armed(tree, email);
    return answer.status >= 500 ? [...found, `${answer.status}`] : found;
  };
})()"""

# Every address of the reader's site that shows something of a record.
READER = (
    "/",
    "/archive",
    "/search?q=tripwire",
    "/nothing-here-<svg onload=tripwire(0)>",
    "/member/tiers",
    "/member/sign-up",
    "/member/sign-in",
)
FEEDS = ("/feed.xml", "/atom.xml", "/feed.json", "/sitemap.xml", "/sitemap/pages.xml")
MEMBER = ("/member/account", "/member/delete")


@dataclass
class Wire:
    """Records the payloads that ran."""

    fired: list[Any] = field(default_factory=list)
    has_fired: asyncio.Event = field(default_factory=asyncio.Event)

    def __call__(self, number: Any = None) -> None:
        self.fired.append(number)
        self.has_fired.set()

    async def dialog(self, dialog: Dialog) -> None:
        self(dialog.message)
        await dialog.dismiss()


@dataclass(frozen=True)
class Attacked:
    world: World
    tenant: TenantWorld
    origin: str
    known: hostile.Ids
    owner: Account
    operator: Account
    member: Account
    page: Page
    wire: Wire

    async def sign_in(self, account: Account, cookie: str = "pb_auth") -> None:
        await self.page.context.clear_cookies()
        await self.page.context.add_cookies(
            [{"name": cookie, "value": account.token, "url": self.origin}]
        )

    async def opened(self, address: str) -> list[str]:
        """Returns what is armed on a page that is really open, with its scripts."""
        await self.page.goto(address)
        found: list[str] = await self.page.evaluate("armed(document)")
        return found

    async def read(self, address: str) -> list[str]:
        """Returns what would be armed, by the browser's own parser: quicker than to open it."""
        found: list[str] = await self.page.evaluate("address => armedAt(address)", address)
        return found

    async def read_all(self, addresses: list[str]) -> dict[str, list[str]]:
        found: dict[str, list[str]] = await self.page.evaluate(
            "async all => { const found = {}; for (const each of all)"
            " found[each] = await armedAt(each); return found }",
            addresses,
        )
        return found

    def addresses(self, sample: Sample) -> Iterator[str]:
        """One for each record that the address names: the same number of each collection, as they
        belong together."""
        names = [each.partition("-")[0] for each in _NAME.findall(sample.address)]
        if not names:
            yield self.origin + sample.address
            return
        if all(name in self.known for name in names):
            for number in range(len(PAYLOADS)):
                path = _NAME.sub(
                    lambda found, at=number: self.known[found[1].partition("-")[0]][at],
                    sample.address,
                )
                yield self.origin + path


@pytest.fixture(scope="module")
async def attacked(
    tmp_path_factory: pytest.TempPathFactory, browser: Browser
) -> AsyncIterator[Attacked]:
    folder = tmp_path_factory.mktemp("attacked")
    world = await open_world(fresh_url("sqlite", folder), folder, RunningClock())
    tenant = await world.new_tenant(PAYLOADS[0], slug="hostile")
    await tenant.settings(comments_by="everyone")
    owner = await tenant.owner(name=PAYLOADS[1], bio=PAYLOADS[2])
    member = await tenant.member(name=PAYLOADS[3])
    operator = await world.operator(name=PAYLOADS[4])
    known = await hostile.fill(tenant)
    async with serving(world.http) as address:
        context = await browser.new_context(bypass_csp=True)
        wire = Wire()
        await context.expose_function("tripwire", wire)
        await context.add_init_script(ARMED)
        page = await context.new_page()
        page.on("dialog", wire.dialog)
        origin = address.replace("127.0.0.1", tenant.host)
        yield Attacked(world, tenant, origin, known, owner, operator, member, page, wire)
        world.parts.realtime.end_all()
    await world.parts.close()


def shown(*, to_operators: bool) -> list[Sample]:
    return [
        each
        for each in SAMPLES
        if each.site == "demo"
        and each.status == 200
        and each.act is None
        and each.who != "guest"
        and (each.who == "operator") == to_operators
    ]


async def test_nothing_runs_in_the_admin(attacked: Attacked) -> None:
    armed: dict[str, list[str]] = {}
    for account, samples in (
        (attacked.owner, shown(to_operators=False)),
        (attacked.operator, shown(to_operators=True)),
    ):
        await attacked.sign_in(account)
        for sample in samples:
            addresses = list(attacked.addresses(sample))
            if not addresses:
                continue
            if sample.is_page:
                armed[sample.name] = await attacked.opened(addresses[0])
            else:
                armed[sample.name] = await attacked.read(addresses[0])
            if len(addresses) > 1:
                # The next page of the same records reads others.
                armed |= await attacked.read_all(addresses[SAMPLES.index(sample) % STEP :: STEP])
            elif sample.is_page:
                armed |= await older_pages(attacked)
    assert {name: found for name, found in armed.items() if found} == {}
    assert attacked.wire.fired == []


async def older_pages(attacked: Attacked) -> dict[str, list[str]]:
    """The rest of a list whose first page is open."""
    armed = {}
    while await (older := attacked.page.get_by_role("link", name="Older")).count():
        address = await older.get_attribute("href")
        armed[str(address)] = await attacked.opened(f"{attacked.origin}{address}")
    return armed


async def test_nothing_runs_in_the_search_of_the_admin(attacked: Attacked) -> None:
    await attacked.sign_in(attacked.owner)
    await attacked.page.goto(f"{attacked.origin}/admin/posts?q=tripwire")
    for payload in PAYLOADS[::10]:
        assert await attacked.read(f"{attacked.origin}/admin/posts?q={quote(payload)}") == []
        assert await attacked.read(f"{attacked.origin}/admin/posts?tag={quote(payload)}") == []
    await attacked.page.keyboard.press("Control+k")
    await attacked.page.keyboard.type("tripwire")
    await attacked.page.locator("#palette [role=option]").first.wait_for()
    assert await attacked.page.evaluate("armed(document)") == []
    assert attacked.wire.fired == []


async def test_nothing_runs_on_the_readers_site(attacked: Attacked) -> None:
    armed: dict[str, list[str]] = {}
    await attacked.page.context.clear_cookies()
    for path in FEEDS:
        # The browser's own view of them is not looked through, but nothing may run in it.
        await attacked.page.goto(attacked.origin + path)
    for path in READER:
        armed[path] = await attacked.opened(attacked.origin + path)
    for path in FEEDS:
        armed[path] = await attacked.read(attacked.origin + path)
    records = attacked.world.parts.records
    for kind, folder in (("posts", "/posts/"), ("pages", "/"), ("_superusers", "/authors/")):
        collection = attacked.world.collection(kind)
        for record_id in attacked.known[kind]:
            found = await records.find(collection, {"id": record_id}, tenant_id=attacked.tenant.id)
            address = f"{attacked.origin}{folder}{quote(found[0]['slug'], safe='')}"
            armed[address] = await attacked.read(address)
    for payload in PAYLOADS:
        address = f"{attacked.origin}/tags/{quote(payload, safe='')}"
        armed[address] = await attacked.read(address)
    await attacked.sign_in(attacked.member, MEMBER_COOKIE)
    for path in MEMBER:
        armed[path] = await attacked.opened(attacked.origin + path)
    assert {name: found for name, found in armed.items() if found} == {}
    assert attacked.wire.fired == []


async def test_nothing_runs_from_the_settings_of_a_site(attacked: Attacked) -> None:
    """The one record that each site has: one payload after another in all of its fields."""
    await attacked.sign_in(attacked.operator)
    await attacked.page.goto(f"{attacked.origin}/admin")
    settings = attacked.world.collection("site_settings")
    keep = {"slug", "custom_domain", "theme", "language", "time_zone", "read_only_mode"}
    # Code of the owner's runs, where the operator allows it.
    keep |= {"head_html", "foot_html"}
    armed: dict[str, list[str]] = {}
    for number in range(0, len(PAYLOADS), STEP):
        given, _ = hostile.record(settings, number, {})
        await attacked.tenant.settings(
            **{name: value for name, value in given.items() if name not in keep}
        )
        for path in ("/", "/admin", "/feed.xml", "/member/sign-up"):
            armed[f"{path} {number}"] = await attacked.read(attacked.origin + path)
    assert {name: found for name, found in armed.items() if found} == {}
    assert attacked.wire.fired == []


async def test_the_wire_itself_works(attacked: Attacked) -> None:
    async with asyncio.timeout(120):
        await attacked.page.set_content(PAYLOADS[16])
        await attacked.wire.has_fired.wait()
    assert attacked.wire.fired == [16]
    assert await attacked.page.evaluate("armed(document)") != []
    attacked.wire.fired.clear()


def test_the_corpus_is_large() -> None:
    assert len(set(PAYLOADS)) >= 120


def test_every_text_of_every_collection_is_attacked() -> None:
    """Not those with a pattern of their own, such as ids and currencies, and none too short for
    any payload."""
    longest = max(map(len, PAYLOADS))
    left_out = []
    for collection in registry.collections:
        records = [hostile.record(collection, number, {}) for number in range(len(PAYLOADS))]
        for each in collection.fields:
            is_free = type(each) is Text and each.pattern is None and each.name not in hostile.IDS
            if not is_free or (collection.name, each.name) in hostile.MACHINE_MADE:
                continue
            values = {(given | stamped).get(each.name) for given, stamped in records}
            wanted = set(PAYLOADS) if each.max >= longest else SHORT
            if each.max > hostile.LONGEST_ID and not values >= wanted:
                left_out.append((collection.name, each.name))
    assert left_out == []
