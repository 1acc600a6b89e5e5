"""Uses a client that was generated from the API's description: what a key can do, record by record.

Run with the address and a key; the generated package must be on the path.
"""

from __future__ import annotations

import sys
from datetime import UTC, date, datetime, timedelta
from typing import Any

from masthead_api_client import AuthenticatedClient, models
from masthead_api_client.api.comments import create_comment, delete_comment, get_comment
from masthead_api_client.api.members import create_member, delete_member, get_member
from masthead_api_client.api.offers import create_offer, delete_offer, get_offer, list_offers
from masthead_api_client.api.pages import create_page, delete_page, get_page, list_pages
from masthead_api_client.api.posts import (
    create_post,
    delete_post,
    get_post,
    list_posts,
    update_post,
)
from masthead_api_client.api.redirects import create_redirect, delete_redirect, list_redirects
from masthead_api_client.api.statistics import view_stats
from masthead_api_client.api.tags import create_tag, delete_tag, list_tags, update_tag
from masthead_api_client.api.tiers import create_tier, delete_tier, get_tier, update_tier
from masthead_api_client.api.webhooks import (
    create_subscription,
    delete_subscription,
    list_deliveries,
    replay_events,
    rotate_secret,
)


def main(address: str, key: str) -> None:
    with AuthenticatedClient(base_url=address, token=key) as client:
        write_posts(client)
        write_pages(client)
        name_tags(client)
        sell_tiers(client)
        keep_members(client)
        answer_readers(client)
        lead_old_paths(client)
        read_numbers(client)
        listen(client)


def write_posts(client: AuthenticatedClient) -> None:
    made = create_post.sync(
        client=client,
        body=models.PostCreate(title="Made by a generated client", tags=["one", "two"]),
    )
    assert isinstance(made, models.PostData), made
    post = made.data
    assert (post.slug, post.tags) == ("made-by-a-generated-client", ["one", "two"])
    assert post.published_at is None

    page = list_posts.sync(client=client, per_page=1)
    assert isinstance(page, models.PostSummaryPage), page
    assert [each.id for each in page.items] == [post.id]

    published = models.PostUpdate(status=models.PostUpdateStatus.PUBLISHED)
    changed = update_post.sync(id=post.id, client=client, body=published)
    assert isinstance(changed, models.PostData), changed
    assert changed.data.published_at is not None

    read: Any = get_post.sync(id=post.id, client=client)
    assert isinstance(read, models.Post), read
    assert read == changed.data

    assert delete_post.sync_detailed(id=post.id, client=client).status_code == 204
    gone: Any = get_post.sync(id=post.id, client=client)
    assert gone.error.code is models.ErrorCode.NOT_FOUND


def write_pages(client: AuthenticatedClient) -> None:
    status = models.PageCreateStatus.PUBLISHED
    made = create_page.sync(client=client, body=models.PageCreate(title="About", status=status))
    assert isinstance(made, models.PageData), made
    assert made.data.url
    assert get_page.sync(id=made.data.id, client=client) == made.data
    listed = list_pages.sync(client=client, sort=models.ListPagesSort.TITLE)
    assert isinstance(listed, models.PageSummaryPage), listed
    assert made.data.id in [each.id for each in listed.items]
    assert delete_page.sync_detailed(id=made.data.id, client=client).status_code == 204


def name_tags(client: AuthenticatedClient) -> None:
    made = create_tag.sync(client=client, body=models.TagCreate(name="generated"))
    assert isinstance(made, models.TagData), made
    described = models.TagUpdate(description="By a program")
    changed = update_tag.sync(id=made.data.id, client=client, body=described)
    assert isinstance(changed, models.TagData), changed
    listed = list_tags.sync(client=client, name="generated")
    assert isinstance(listed, models.TagPage), listed
    assert [each.description for each in listed.items] == ["By a program"]
    assert delete_tag.sync_detailed(id=made.data.id, client=client).status_code == 204


def sell_tiers(client: AuthenticatedClient) -> None:
    price = models.TierCreate(name="Generated", price=500, currency="eur")
    tier = create_tier.sync(client=client, body=price)
    assert isinstance(tier, models.TierData), tier
    dearer = update_tier.sync(id=tier.data.id, client=client, body=models.TierUpdate(price=700))
    assert isinstance(dearer, models.TierData), dearer
    shown = get_tier.sync(id=tier.data.id, client=client)
    assert isinstance(shown, models.Tier), shown
    assert shown.price == 700

    half = models.OfferCreate(
        code="Generated", tier=tier.data.id, kind=models.OfferCreateKind.PERCENT, value=50
    )
    offer = create_offer.sync(client=client, body=half)
    assert isinstance(offer, models.OfferData), offer
    assert (offer.data.code, offer.data.uses) == ("generated", 0)
    assert get_offer.sync(id=offer.data.id, client=client) == offer.data
    listed = list_offers.sync(client=client)
    assert isinstance(listed, models.OfferPage), listed
    in_use: Any = delete_tier.sync(id=tier.data.id, client=client)
    assert in_use.error.code is models.ErrorCode.CONFLICT
    assert delete_offer.sync_detailed(id=offer.data.id, client=client).status_code == 204
    assert delete_tier.sync_detailed(id=tier.data.id, client=client).status_code == 204


def keep_members(client: AuthenticatedClient) -> None:
    jonas = models.MemberCreate(
        email="generated@example.com", newsletter=True, consent="Form at the fair"
    )
    made = create_member.sync(client=client, body=jonas)
    assert isinstance(made, models.MemberData), made
    shown = get_member.sync(id=made.data.id, client=client)
    assert isinstance(shown, models.Member), shown
    assert delete_member.sync_detailed(id=made.data.id, client=client).status_code == 204


def answer_readers(client: AuthenticatedClient) -> None:
    status = models.PostCreateStatus.PUBLISHED
    post = create_post.sync(client=client, body=models.PostCreate(title="Talk", status=status))
    assert isinstance(post, models.PostData), post
    said = models.CommentCreate(post_id=post.data.id, author_name="Ann", body="Well said.")
    made = create_comment.sync(client=client, body=said)
    assert isinstance(made, models.CommentData), made
    assert isinstance(get_comment.sync(id=made.data.id, client=client), models.Comment)
    assert delete_comment.sync_detailed(id=made.data.id, client=client).status_code == 204


def lead_old_paths(client: AuthenticatedClient) -> None:
    made = create_redirect.sync(
        client=client, body=models.RedirectCreate(from_="/generated", to="/about")
    )
    assert isinstance(made, models.RedirectData), made
    assert isinstance(list_redirects.sync(client=client), models.RedirectPage)
    assert delete_redirect.sync_detailed(id=made.data.id, client=client).status_code == 204


def read_numbers(client: AuthenticatedClient) -> None:
    first, last = date(2026, 11, 1), date(2026, 11, 30)
    shown = view_stats.sync(client=client, from_=first, to=last)
    assert isinstance(shown, models.Stats), shown
    assert len(shown.data.days) == 30


def listen(client: AuthenticatedClient) -> None:
    every = models.WebhookSubscriptionCreateEventsItem.VALUE_0
    made = create_subscription.sync(
        client=client,
        body=models.WebhookSubscriptionCreate(
            name="Generated", url="https://93.184.215.14/", events=[every], per_minute=60
        ),
    )
    assert isinstance(made, models.WebhookSubscriptionCreated), made
    overlap = models.WebhookSecretRotation(overlap_hours=24)
    rotated = rotate_secret.sync(id=made.id, client=client, body=overlap)
    assert isinstance(rotated, models.WebhookSecret), rotated
    now = datetime.now(UTC)
    span = models.WebhookReplay(from_=now - timedelta(hours=1), to=now)
    again = replay_events.sync(id=made.id, client=client, body=span)
    assert isinstance(again, models.WebhookReplayed), again
    assert isinstance(list_deliveries.sync(id=made.id, client=client), models.WebhookDeliveryPage)
    assert delete_subscription.sync_detailed(id=made.id, client=client).status_code == 204


if __name__ == "__main__":
    main(*sys.argv[1:])
