"""`python -m bench.pages`: pages of the reader's site a second, of a site with 100,000 posts.

Warm pages come from the cache. A page that misses is drawn anew for every request: each address has
a value of its own for a parameter that the page reads. Exits with 1 if a target is missed, an
answer is wrong or a publish is not seen by the next request.
"""

from __future__ import annotations

import argparse
import asyncio
import http.client
import statistics
from dataclasses import dataclass
from itertools import islice
from typing import Any, Final

from bench import data, datasets, load, process
from bench.databases import POSTGRESQL, SQLITE, databases
from bench.http import call, request_bytes
from masthead.base import clock
from masthead.base.caller import system
from masthead.base.config.settings import Settings
from masthead.base.ids import TenantId, new_id
from masthead.identity.given_passwords import new_credentials
from masthead.service.services import bring_up_to_date
from masthead.service.services import build as build_parts

TENANT: Final = "magazine"
POSTS: Final = 100_000
EMAIL, PASSWORD = "bench@example.com", "bench-password-1"
PUBLISHES: Final = 50
ARTICLE: Final = "".join(
    f"<h2>Part {part}</h2>" + f"<p>{'A sentence of some words, as people write. ' * 12}</p>" * 2
    for part in range(6)
) + ('<pre><code class="language-python">def f(x):\n    return x + 1  # more\n</code></pre>')
_SERIAL = load.SERIAL.decode()


@dataclass(frozen=True)
class Row:
    name: str
    path: str
    target: int
    is_signed_in: bool = False


ROWS: Final = (
    Row("post, warm", "/posts/article", 3_000),
    Row("post, every request misses", f"/posts/article?thread={_SERIAL}", 400),
    Row("home, warm", "/", 3_000),
    Row("home, every request misses", f"/?before=2999-01-01T00:00:00.000Z_0000000{_SERIAL}", 400),
    Row("post of a signed-in member", "/posts/article", 300, is_signed_in=True),
)


def main() -> int:
    options = _options()
    with datasets.run_folder() as folder, databases(options.database, folder) as new_database:
        environment = {"MASTHEAD_DATABASE_URL": new_database()}
        settings = Settings.from_environ(environment, data_dir=folder / "data")
        asyncio.run(_build(settings, options.posts))
        with process.masthead(settings.data_dir, environment) as (port, _):
            return 0 if _measured(port, options) else 1


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="bench.pages", description=__doc__)
    parser.add_argument("--database", choices=(SQLITE, POSTGRESQL), default=SQLITE)
    parser.add_argument("--posts", type=int, default=POSTS)
    parser.add_argument("--seconds", type=float, default=3.0)
    parser.add_argument("--rounds", type=int, default=3)
    return parser.parse_args()


def _measured(port: int, options: argparse.Namespace) -> bool:
    is_good = True
    host = {"Host": f"{TENANT}.localhost:{port}"}
    token = _token(port, "blog_members", host)
    for row in ROWS:
        headers = host | ({"Authorization": token} if row.is_signed_in else {})
        plan = load.Plan(
            port,
            [request_bytes("GET", row.path, headers)],
            seconds=options.seconds,
            min_body_bytes=2_000,
        )
        results = [load.run(plan) for _ in range(options.rounds)]
        rates = sorted(each.rps for each in results)
        problems = [problem for each in results for problem in each.problems]
        wrong = {status for each in results for status in each.statuses} - {"200"}
        is_met = statistics.median(rates) >= row.target and not problems and not wrong
        is_good &= is_met
        print(
            f"{row.name:30} {statistics.median(rates):8,.0f}/s"
            f" ({rates[0]:,.0f} to {rates[-1]:,.0f})"
            f"  p99 {statistics.median(each.p99_ms for each in results):6.1f} ms"
            f"  {results[0].body_bytes // max(1, results[0].requests):7,} bytes"
            f"  target {row.target:,}: {'met' if is_met else 'NOT MET'} {problems or wrong or ''}"
        )
    seen = _publishes_seen(port, host)
    print(f"publishes seen by the next request: {seen} of {PUBLISHES}")
    return is_good and seen == PUBLISHES


def _token(port: int, collection: str, host: dict[str, str]) -> str:
    path = f"/api/collections/{collection}/auth-with-password"
    credentials = {"identity": EMAIL, "password": PASSWORD}
    return str(call(port, "POST", path, credentials, host)["token"])


def _publishes_seen(port: int, host: dict[str, str]) -> int:
    signed = host | {"Authorization": _token(port, "_superusers", host)}
    posts = "/api/collections/posts/records"
    seen = 0
    for number in range(PUBLISHES):
        title = f"Published just now {number}"
        call(port, "POST", posts, {"title": title, "status": "published"}, signed)
        seen += title in _page(port, host)
    return seen


def _page(port: int, host: dict[str, str]) -> str:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    try:
        connection.request("GET", "/", headers=host)
        return connection.getresponse().read().decode()
    finally:
        connection.close()


async def _build(settings: Settings, count: int) -> None:
    await bring_up_to_date(settings)
    parts = await build_parts(settings)
    try:
        records, tenant_id = parts.records, TenantId(new_id())
        caller, collections = system(tenant_id), parts.records.registry
        async with records.unit(caller, emit_events=False) as unit:
            tenant = {"id": tenant_id, "slug": TENANT, "name": "The Magazine"}
            await unit.create(collections["tenants"], tenant)
            site = {"slug": TENANT, "site_name": "The Magazine", "site_description": "Long reads."}
            await unit.create(collections["site_settings"], site)
        for name in ("_superusers", "blog_members"):
            credentials = await new_credentials({"password": PASSWORD}, required=True)
            more = {"verified": True} if name == "blog_members" else {}
            await records.create(
                caller, collections[name], {"email": EMAIL}, stamped=credentials | more
            )
        remaining = data.posts_of_one(TENANT, count)
        while batch := list(islice(remaining, 500)):
            async with records.unit(caller, emit_events=False) as unit:
                for post in batch:
                    await unit.create(collections["posts"], _fields(post))
        article = {"title": "Article", "content_html": ARTICLE, "status": "published"}
        await records.create(caller, collections["posts"], article)
    finally:
        await parts.close()


def _fields(post: data.Post) -> dict[str, Any]:
    return {
        "title": post.title,
        "slug": post.slug,
        "status": post.status,
        "visibility": post.visibility,
        "tags": post.tags,
        "excerpt": post.excerpt,
        "content_html": post.content_html,
        "published_at": clock.to_text(post.published_at) if post.published_at else "",
    }


if __name__ == "__main__":
    raise SystemExit(main())
