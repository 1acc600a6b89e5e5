"""Requests of people and robots as an access log has them, and what counting them must give.

The expected counts are kept in sets of addresses, which the service never has: they are the other
way to count, with which its own is compared.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from masthead.base.ids import TenantId
from masthead.identity.directory import Tenant
from masthead.identity.limits.plans import Plan
from masthead.web.request import Request, Viewed

PEOPLE: Final = (
    "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) "
    "Chrome/{0}.0.0.0 Safari/537.36",
    "Mozilla/5.0 (iPhone; CPU iPhone OS 18_{0} like Mac OS X) AppleWebKit/605.1.15 (KHTML, like "
    "Gecko) Version/18.0 Mobile/15E148 Safari/604.1",
    "Mozilla/5.0 (X11; Linux x86_64; rv:{0}.0) Gecko/20100101 Firefox/{0}.0",
)
ROBOTS: Final = (
    "Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)",
    "Mozilla/5.0 AppleWebKit/537.36 (KHTML, like Gecko; compatible; GPTBot/1.2; "
    "+https://openai.com/gptbot)",
    "curl/8.5.0",
    "Feedly/1.0 (+http://www.feedly.com/fetcher.html; 3 subscribers)",
    "",
)
_VERSIONS: Final = 20
_REFERRERS: Final = ("", "https://www.search.example/", "https://news.example/item?id=1")
_STATUSES: Final = (200, 200, 200, 200, 304, 404)
_LISTS: Final = ("home", "archive", "tag")


class Line(NamedTuple):
    method: str
    status: int
    address: str
    user_agent: str
    viewed: Viewed
    referrer: str
    is_anonymous: bool
    is_prefetch: bool

    def request(self, tenant: Tenant) -> Request:
        headers = [(b"host", f"{tenant.slug}.localhost".encode())]
        if self.user_agent:
            headers.append((b"user-agent", self.user_agent.encode()))
        if self.referrer:
            headers.append((b"referer", self.referrer.encode()))
        if self.is_anonymous:
            headers.append((b"sec-gpc", b"1"))
        if self.is_prefetch:
            headers.append((b"sec-purpose", b"prefetch"))
        scope = {"method": self.method, "path": "/", "query_string": b"", "headers": headers}
        request = Request(scope, _nothing, tenant=tenant, address=self.address)
        request.viewed = self.viewed
        return request

    @property
    def is_view(self) -> bool:
        is_person = self.user_agent not in ROBOTS
        is_page = self.method == "GET" and self.status in (200, 304)
        return is_person and is_page and not self.is_prefetch


@dataclass
class Expected:
    views: Counter[tuple[str, str]] = field(default_factory=Counter)
    """Numbers by kind and subject, as in `view_counts`."""
    readers: dict[tuple[str, str], set[tuple[str, str]]] = field(default_factory=dict)

    def add(self, line: Line) -> None:
        if not line.is_view:
            return
        source = line.referrer.removeprefix("https://").removeprefix("www.").partition("/")[0]
        for subject in (("site", ""), tuple(line.viewed), ("source", source or "direct")):
            self.views[subject] += 1  # type: ignore[index]
            if not line.is_anonymous:
                reader = (line.address, line.user_agent)
                self.readers.setdefault(subject, set()).add(reader)  # type: ignore[arg-type]

    @property
    def rows(self) -> dict[tuple[str, str], tuple[int, int]]:
        return {each: (n, len(self.readers.get(each, ()))) for each, n in self.views.items()}


def lines(number: int, seed: int, *, posts: int = 200, people: int = 0) -> Iterator[Line]:
    """The same ones for the same arguments: a third of robots, and some that are no views."""
    draw = random.Random(seed)
    people = people or max(number // 5, 1)
    for _ in range(number):
        who = draw.randrange(people)
        agent = PEOPLE[who % len(PEOPLE)].format(100 + who % _VERSIONS)
        if draw.random() < 1 / 3:
            agent = draw.choice(ROBOTS)
        post = min(int(draw.expovariate(8 / posts)), posts - 1)
        viewed = Viewed("post", f"post{post:011}")
        if draw.random() < 0.3:
            viewed = Viewed("list", draw.choice(_LISTS))
        yield Line(
            "GET" if draw.random() < 0.97 else "HEAD",
            draw.choice(_STATUSES),
            f"2001:db8::{who // 60_000:x}:{who % 60_000:x}",
            agent,
            viewed,
            draw.choice(_REFERRERS),
            who % 10 == 0,
            draw.random() < 0.02,
        )


def tenant_of(tenant_id: TenantId, slug: str) -> Tenant:
    return Tenant(tenant_id, slug, slug, Plan.BUSINESS, None, None, None)


async def _nothing() -> dict[str, object]:
    return {"type": "http.disconnect"}
