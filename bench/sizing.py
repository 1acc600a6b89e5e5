"""`python -m bench.sizing`: how many bytes of the database a thousand posts, members and webhook
deliveries take, with their indexes, events and search entries."""

from __future__ import annotations

import contextlib
import sqlite3
from itertools import pairwise

from bench.data import Content
from bench.special import Figure, fill, finish, new_site, options, place
from masthead.base.caller import system
from masthead.features.members.collection import blog_members
from masthead.features.posts.collection import posts
from masthead.features.webhooks.collection import webhook_subscriptions
from masthead.service.services import Services


def main() -> None:
    given = options("sizing", __doc__, rows=2_000)
    with place(given.engine) as installed:
        finish(installed.make(lambda parts: measured(parts, given.rows)))


async def measured(parts: Services, count: int) -> list[Figure]:
    tenant_id = await new_site(parts, "sized")
    made = [post.fields() for post in Content(1, count)]
    members = [
        {"email": f"member{number}@host.example", "newsletter": True} for number in range(2 * count)
    ]
    sizes = [await _bytes(parts)]
    await fill(parts, tenant_id, posts, made)
    sizes.append(await _bytes(parts))
    await fill(parts, tenant_id, blog_members, members[:count])
    sizes.append(await _bytes(parts))
    hook = {"name": "b", "url": "https://hooks.example/", "events": ["member.subscribed"]}
    stamped = {"secret": "s" * 40}
    await parts.records.create(system(tenant_id), webhook_subscriptions, hook, stamped=stamped)
    await fill(parts, tenant_id, blog_members, members[count:])
    sizes.append(await _bytes(parts))
    grown = [later - earlier for earlier, later in pairwise(sizes)]
    # The members of the last step are those of the step before, with a delivery each.
    grown[2] -= grown[1]
    names = ("posts of 1.8 KB", "members", "waiting webhook deliveries")
    return [
        Figure(f"1,000 {name}", size / count / 1_000, "MB")
        for name, size in zip(names, grown, strict=True)
    ]


async def _bytes(parts: Services) -> int:
    while (await parts.records.search_index.run_batch()).indexed:
        pass
    if parts.settings.sqlite_path is None:
        return await parts.database.count_bytes()
    total = 0
    for path in sorted(parts.settings.sqlite_path.parent.glob("*.db")):
        # What is still in the write-ahead log counts as the pages that it becomes.
        with contextlib.closing(sqlite3.connect(path)) as connection:
            pages, free, size = (
                connection.execute(f"PRAGMA {name}").fetchone()[0]
                for name in ("page_count", "freelist_count", "page_size")
            )
        total += int((pages - free) * size)
    return total


if __name__ == "__main__":
    main()
