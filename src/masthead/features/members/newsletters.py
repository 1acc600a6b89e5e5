"""The newsletters collection: what a site's members subscribe to."""

from __future__ import annotations

from typing import Final

from msgspec.structs import replace

from masthead.engine.records.collection import Collection, Index, Rules, SiteRules
from masthead.engine.records.fields.text import Email, Slug, Text, Url
from masthead.engine.records.fields.values import Flag
from masthead.features.members.digest_times import DIGEST_FIELDS, stamp_digest
from masthead.features.site.appearance import ACCENT_COLOR
from masthead.features.site.collection import MAIN_NEWSLETTER, NEWSLETTERS

MAX_SLUG: Final = 63

newsletters = Collection(
    NEWSLETTERS,
    (
        Slug(
            name="slug",
            source="name",
            max=MAX_SLUG,
            immutable=True,
            help="Never changes, because links in sent emails contain it.",
        ),
        Text(name="name", required=True, max=100),
        Text(name="description", max=500),
        Text(
            name="sender_name",
            max=100,
            help="The name in `From`. If empty, the site's name.",
        ),
        Email(name="reply_to", help="Where replies go. If empty, to the sender's address."),
        Url(
            name="header_image",
            help="A picture at the top of each email, such as `/media/…`. It is shown 600 wide.",
        ),
        replace(
            ACCENT_COLOR,
            help="The colour of links in emails. If empty, the site's. It is darkened or lightened "
            "where it would be hard to read.",
        ),
        Text(
            name="footer",
            max=1_000,
            help="The footer of each email, such as a postal address.",
        ),
        Flag(
            name="is_default",
            help="Whether people who sign up at the site get it. If it is off, new members "
            "have it in their `newsletters_off`.",
        ),
        Flag(
            name="count_opens",
            help="Whether emails count if they are opened, by a picture that mail programs load. "
            "The footer says so.",
        ),
        Flag(
            name="count_clicks",
            help="Whether emails count who follows their links. The footer says so.",
        ),
        *DIGEST_FIELDS,
    ),
    audited="name",
    help=f"What the members of a site subscribe to. Every site has one, `{MAIN_NEWSLETTER}`.",
    editors=Rules(read=""),
    site=SiteRules(read="", fields=("slug", "name", "description", "is_default")),
    required_value=("slug", MAIN_NEWSLETTER),
    before_save=stamp_digest,
    indexes=(Index(("digest_at",), across_tenants=True, skip_empty="digest_at"),),
    audited_without=frozenset({"digest_at", "digest_since"}),
)
