"""Writes the demo tenant through the engine, with dates in the past months."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from datetime import datetime, timedelta
from pathlib import Path

import msgspec

from masthead.base.caller import Caller, system
from masthead.base.ids import TenantId
from masthead.content.texts.markdown import convert
from masthead.engine.records.accounts import new_token_key
from masthead.engine.records.collection import Collection
from masthead.engine.records.engine import Records
from masthead.features.comments.collection import comments
from masthead.features.media.collection import media
from masthead.features.media.path import media_path
from masthead.features.media.services import SharedServices
from masthead.features.media.upload import store_upload
from masthead.features.members.collection import blog_members
from masthead.features.pages.collection import pages
from masthead.features.payments.collection import tiers
from masthead.features.posts.collection import posts
from masthead.features.site.collection import site_settings
from masthead.identity.limits.plans import Plan
from masthead.identity.setup import NewTenant, create_tenant
from masthead.identity.tenants import Role, superusers
from masthead.service.demo.magazine import DemoAuthor, DemoComment, DemoPost, read_magazine
from masthead.web.multipart import Upload

SLUG = "demo"
NAME = "Tideline"
DESCRIPTION = "Notes from Sallow Bay: people, walks, suppers and the occasional long read."
OWNER = "owner@demo.example"

FOUNDED_DAYS_AGO = 120
ABOUT = {
    "title": "About",
    "status": "published",
    "content_html": "<p>Tideline is a small magazine about Sallow Bay, made by eight people who"
    " live there. It is printed four times a year and appears here the rest of the time.</p>"
    "<p>It carries no advertising. Members pay for it, and see the books once a year.</p>",
}

_PICTURES = Path(__file__).parent / "pictures"


class StoryClock(msgspec.Struct):
    """A clock that is set by hand; the engine stamps records with it."""

    moment: datetime

    def __call__(self) -> datetime:
        return self.moment


async def create_demo_tenant(records: Records, password: str) -> TenantId:
    new = NewTenant(
        slug=SLUG, name=NAME, plan=Plan.BUSINESS, owner_email=OWNER, owner_password=password
    )
    created = await create_tenant(records, new)
    (settings,) = await records.find(site_settings, {}, tenant_id=created.tenant_id)
    await records.update(
        system(created.tenant_id),
        site_settings,
        settings["id"],
        {
            "site_description": DESCRIPTION,
            "language": "en-GB",
            "time_zone": "Europe/London",
            "comments_by": "everyone",
            "navigation": [
                {"label": "Long reads", "url": "/tags/long-reads"},
                {"label": "Walks", "url": "/tags/walks"},
                {"label": "Food", "url": "/tags/food"},
                {"label": "About", "url": "/about"},
            ],
        },
    )
    return created.tenant_id


async def fill_demo_tenant(
    services: SharedServices, story: StoryClock, tenant_id: TenantId, now: datetime
) -> None:
    """The records must use `story` as their clock, which is set before each record."""
    records, caller, magazine = services.records, system(tenant_id), read_magazine()
    for position, member in enumerate(magazine.members):
        story.moment = now - timedelta(days=FOUNDED_DAYS_AGO - 4 * position, hours=5)
        given = {
            "email": member.email,
            "name": member.name,
            "tier": member.tier,
            "status": member.status,
            "newsletter": member.newsletter,
        }
        stamped = {"token_key": new_token_key()}
        await records.create(caller, blog_members, given, stamped=stamped)
    await _create(records, caller, pages, ABOUT)
    for tier in magazine.tiers:
        await _create(records, caller, tiers, tier)
    post_ids = await _write_posts(services, story, caller, now)
    await _write_comments(records, story, caller, now, post_ids=post_ids)
    story.moment = now


async def _write_posts(
    services: SharedServices, story: StoryClock, caller: Caller, now: datetime
) -> dict[str, str]:
    records, ids, magazine = services.records, {}, read_magazine()
    authors = {each.name: await _create_author(records, caller, each) for each in magazine.authors}
    # Now, because an upload of the past without a record would be swept up at once.
    story.moment = now
    pictures = {
        post.key: await _picture(services, caller, post) for post in magazine.posts if post.picture
    }
    for post in magazine.posts:
        story.moment = _published(post, now)
        given = {
            "authors": [authors[post.author]] if post.author else [],
            "featured_image": pictures.get(post.key, ""),
            "title": post.title,
            "tags": list(post.tags),
            "excerpt": post.excerpt,
            **(await asyncio.to_thread(convert, post.markdown))._asdict(),
            "status": post.status,
            "visibility": post.visibility,
        }
        ids[post.key] = await _create(records, caller, posts, given)
    return ids


async def _create_author(records: Records, caller: Caller, author: DemoAuthor) -> str:
    """Without a password: nobody can sign in as them."""
    email = f"{author.name.lower().replace(' ', '.')}@demo.example"
    given = {"email": email, "name": author.name, "bio": author.bio, "role": Role.AUTHOR}
    stamped = {"token_key": new_token_key()}
    return str((await records.create(caller, superusers, given, stamped=stamped))["id"])


async def _picture(services: SharedServices, caller: Caller, post: DemoPost) -> str:
    """The path of the uploaded picture."""
    upload = Upload("file", post.picture, "image/webp")
    await upload.fill(_once((_PICTURES / post.picture).read_bytes()))
    given = {"alt": post.alt}
    record = await store_upload(services, caller, media, given, uploads=[upload])
    return media_path(record["id"], record["file"])


async def _once(content: bytes) -> AsyncIterator[bytes]:
    yield content


async def _write_comments(
    records: Records, story: StoryClock, caller: Caller, now: datetime, *, post_ids: dict[str, str]
) -> None:
    magazine = read_magazine()
    published = {post.key: _published(post, now) for post in magazine.posts}
    staff = await _ids_by_name(records, caller, superusers)
    members = await _ids_by_name(records, caller, blog_members)
    ids: list[str] = []
    for position, comment in enumerate(magazine.comments, 1):
        # In order and before now: a reply is later than its parent.
        age = now - published[comment.post]
        story.moment = published[comment.post] + age * position / (len(magazine.comments) + 1)
        stamped = {"staff_id": staff.get(comment.author, "")}
        if not stamped["staff_id"]:
            stamped["member_id"] = members.get(comment.author, "")
        given = _comment(comment, post_ids, ids)
        ids.append((await records.create(caller, comments, given, stamped=stamped))["id"])


async def _ids_by_name(records: Records, caller: Caller, collection: Collection) -> dict[str, str]:
    found = await records.find(collection, {}, tenant_id=caller.tenant_id, limit=100)
    return {each["name"]: each["id"] for each in found}


def _published(post: DemoPost, now: datetime) -> datetime:
    return now - timedelta(days=post.days_ago, hours=2)


def _comment(comment: DemoComment, post_ids: dict[str, str], ids: list[str]) -> dict[str, str]:
    email = next(
        (each.email for each in read_magazine().members if each.name == comment.author), ""
    )
    return {
        "post_id": post_ids[comment.post],
        "author_name": comment.author,
        "author_email": email,
        "body": comment.body,
        "parent_id": "" if comment.replies_to is None else ids[comment.replies_to],
        "status": comment.status,
    }


async def _create(
    records: Records, caller: Caller, collection: Collection, given: Mapping[str, object]
) -> str:
    return str((await records.create(caller, collection, given))["id"])
