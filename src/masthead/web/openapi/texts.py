"""Texts and examples of the API's description that are not declared elsewhere."""

from __future__ import annotations

from typing import Any, Final

TITLE = "Masthead API"

INTRODUCTION = """\
Posts, pages, media, comments, members and settings of one site, for import pipelines, mobile apps,
automation platforms and plugins.

**Keys.** Every call carries `Authorization: Bearer <key>`. A key belongs to one site and has
scopes; an owner creates it in the admin, under Settings, Keys, which shows it once.
The API is part of the Pro plan and above. Each site has its own host, and the service's own
address serves all sites: the key decides the site. A host or an `x-tenant-id` header that names
another site is refused with 401, a host that the service does not serve with 404.

**Bodies** are JSON in UTF-8; uploads are multipart forms. Unknown fields and query parameters are
ignored, and named in the answer's `X-Ignored` header. Text can't contain NUL characters, integers
have at most 64 bits, nesting has at most 128 levels. Times are UTC, such as
`2026-11-14T09:30:00.123Z`.

**Lists** are newest first. Use `page` and `per_page`, or follow `rel="next-cursor"` in the `Link`
header, which costs the same on every page and never skips or repeats an item.

**Changes.** Send a record's `ETag` as `If-Match` to change only the version that you have seen (412
otherwise), and an `Idempotency-Key` with a POST to repeat it safely for 24 hours: a repeated call
gets the first answer, with `Idempotent-Replayed: true`.

**Limits** count per key. The answer to every counted call has them in `X-RateLimit-*`. A refused
call gets a 429 with `Retry-After`, the seconds to wait. Without a limit there are no such headers.

**Errors** have one format, `{"error": {"code", "message", "details"}}`. Checks run in this order:
HTTPS, key, plan, limits, scope, query and body, existence, permission. Every answer has an
`X-Request-Id`, which the operator finds in the log.

**Compression.** Answers are compressed with zstd or gzip for clients that accept it.
"""

tags: dict[str, tuple[str, str]] = {
    "posts": ("Posts", "What the site publishes, drafts included."),
    "pages": ("Pages", "Standalone pages, such as About, drafts included."),
    "tags": ("Tags", "Of posts: their names, addresses and descriptions."),
    "media": ("Media", "Uploaded pictures and files."),
    "trash": ("Trash", "Deleted posts, pages and files, which can be restored for 30 days."),
    "comments": ("Comments", "Readers' comments on posts."),
    "members": (
        "Members",
        "The site's members. Addresses are masked, unless the key has the scope "
        "`members:personal`.",
    ),
    "tiers": ("Tiers", "The paid tiers that the site sells."),
    "offers": ("Offers", "Codes with which readers pay less for a tier, or try it first."),
    "mailings": ("Mailings", "Posts sent as emails to the readers of a newsletter."),
    "site-settings": ("Site settings", "The site's name, looks and switches."),
    "redirects": ("Redirects", "Old addresses of the site, and where they lead."),
    "stats": ("Statistics", "How often the site and its posts are read."),
    "webhooks": ("Webhooks", "Subscriptions to the site's events, and the events themselves."),
}
"""Tags by the first part of the path, in reading order."""

common_fields: dict[str, str] = {
    "id": "Opaque, and unique in the site.",
    "tenant_id": "The site's own id.",
    "created": "When the record was created.",
    "updated": "When it last changed.",
}

_TEXT_FIELDS: dict[str, str] = {
    "title": "The headline.",
    "slug": "The last part of the address, unique in the site. Made from the title if you leave "
    "it out. A slug that is taken is refused.",
    "content_html": "The text as HTML, stored and returned as it was sent. Readers see a clean "
    "version, without scripts, styles and anything else that the site does not show. HTML that "
    "would take too long to clean is refused.",
    "content_json": "The rich-text editor's document. If you send it without `content_html`, the "
    "HTML is rendered from it. A change of only `content_html` leaves it as it is.",
    "excerpt": "A teaser for lists and search engines.",
    "status": "Publishing sets `published_at`; going back to draft clears it.",
    "featured_image": "The address of the picture above the text and in lists: an http(s) URL or a "
    "path of the site.",
    "published_at": "Set when the text is published.",
    "seo_title": "The title for search engines.",
    "seo_description": "The description for search engines.",
}

fields: dict[str, dict[str, str]] = {
    "posts": {
        **_TEXT_FIELDS,
        "status": "Publishing sets `published_at`; going back to draft clears it. `published` "
        "with a `published_at` or a `scheduled_for` in the future is refused. There is no status "
        "for scheduled posts: they are drafts with `scheduled_for`.",
        "visibility": "Who may read it once it is published: everyone, members, or paid members.",
        "email_only": "Once it is published, it can be sent by email, but has no page on the site "
        "and is in none of its lists, feeds and searches. Answers have it only where it is true.",
        "tags": "In the order that you send; repeats are dropped.",
    },
    "pages": _TEXT_FIELDS,
    "media": {
        "filename": "The name under which the file is stored.",
        "url": "The file's public address.",
        "mime_type": "Detected from the content.",
        "size": "In bytes.",
        "width": "In pixels, for pictures.",
        "height": "In pixels, for pictures.",
        "alt": "The alternative text of the picture.",
    },
    "trash": {
        "type": "What it was: `posts`, `pages` or `media`.",
        "record_id": "The id that it had, and that it has again after a restore. Nearly always "
        "the id of the entry itself.",
        "title": "The title of a text, or the name of a file.",
        "slug": "The slug that the text had; in the answer to a restore, the one that it has now: "
        "with a number if another text has taken it.",
        "deleted_at": "When it was deleted.",
        "expires_at": "When it is deleted for good.",
    },
    "comments": {
        "post_id": "The post it belongs to.",
        "author_name": "The name shown with it.",
        "author_email": "Never shown to readers.",
        "body": "Plain text.",
        "parent_id": "The comment that it replies to, on the same post.",
        "status": "Only approved comments are shown to readers.",
    },
    "blog_members": {
        "email": "Masked in `/api/v1`: only the first character and the domain. Whole for a key "
        "with the scope `members:personal`.",
        "name": "Only with the scope `members:personal`.",
        "tier": "What the member may read.",
        "status": "The state of the subscription.",
    },
    "mailings": {
        "post_id": "The post that is sent. Each post is sent once to a newsletter.",
        "newsletter": "The newsletter's slug. Every site has `main`, which is the default.",
        "subject": "The post's title, unless another one is given.",
        "scheduled_for": "When it is sent. If the post is a draft then, it is sent when the "
        "post is published. Null: at once.",
        "started_at": "When the list of recipients was fixed and the first email was due.",
        "finished_at": "When the last recipient was accounted for, or it was cancelled.",
    },
    "tiers": {
        "name": "The name that readers see.",
        "currency": "Three letters, such as `eur`.",
    },
    "offers": {
        "tier": "The id of the tier that it is for.",
        "uses": "How many subscriptions were bought with it, as the processor reports.",
    },
    "redirects": {
        "from": "The old path on the site, with its query if it has one. Each path has one "
        "redirect at most.",
        "to": "An address, or a path of the site.",
        "status": "The status of the answer, such as 301 or 302.",
    },
    "webhook_deliveries": {
        "id": "The same as in `X-Service-Delivery`.",
        "event": "The event's name.",
        "event_id": "The event's id, as in a poll.",
        "state": "Whether it waits, was delivered, is dead, or was dropped.",
        "attempts": "How many attempts were made.",
        "last_status": "The status of the last answer; null without one.",
        "next_attempt_at": "When it is tried next; null unless it is pending.",
    },
    "webhook_subscriptions": {
        "name": "A name of your choice.",
        "url": "Where events are sent: an https address that is not in a private network.",
        "headers": "Headers of deliveries in addition to those of the service. Answers show `***` "
        "in place of their values. A change replaces all of them; null removes them.",
        "failure_count": "Deliveries that failed in a row.",
        "last_delivery_at": "When a delivery was last tried.",
        "disabled_at": "When it was disabled. Nothing has been sent since.",
        "secret": "Signs every delivery. Shown only once.",
    },
    "site_settings": {
        "site_name": "The name of the site.",
        "site_description": "One or two sentences about it.",
        "site_logo": "Address of the logo, or a path on the site.",
        "site_favicon": "Address of the icon, or a path on the site.",
        "members_enabled": "Whether readers can join. Existing members stay members.",
        "comments_enabled": "Whether new comments are accepted.",
    },
}

_HTTPS = {"pattern": r"^https://[A-Za-z0-9][^\u0000-\u0020\\\"<>]*$"}

# As `is_web_address`: an http(s) URL with a plain host, or a path of the own site.
WEB_URL: Final = (
    r"https?://[A-Za-z0-9](?:[A-Za-z0-9.-]*[A-Za-z0-9])?(?::[0-9]{1,5})?"
    r'(?:[/?#][^\u0000-\u0020\\"<>]*)?'
)
WEB_ADDRESS: Final = rf'^(?:{WEB_URL}|/(?:[^\u0000-\u0020\\"<>/][^\u0000-\u0020\\"<>]*)?)$'
# JavaScript's \s lacks a few characters that Python's strip() removes.
NOT_BLANK: Final = r"[^\s\u001c-\u001f\u0085]"
_LINK: Final[dict[str, Any]] = {
    "type": "object",
    "properties": {
        "label": {"type": "string", "maxLength": 60, "pattern": NOT_BLANK},
        "url": {"type": "string", "maxLength": 2_000, "pattern": WEB_ADDRESS},
    },
    "required": ["label", "url"],
    "additionalProperties": False,
}

inputs: dict[tuple[str, str], dict[str, Any]] = {
    ("webhook_subscriptions", "url"): _HTTPS,
    ("tiers", "payment_url"): _HTTPS,
    ("site_settings", "footer_links"): {"type": "array", "items": _LINK, "maxItems": 20},
    ("site_settings", "social"): {
        "items": {"type": "string", "maxLength": 300, "pattern": f"^{WEB_URL}$"}
    },
    ("site_settings", "announcement"): {
        "type": "object",
        "properties": {
            "text": {"type": "string", "maxLength": 200, "pattern": NOT_BLANK},
            "url": {"type": ["string", "null"], "maxLength": 2_000, "pattern": WEB_ADDRESS},
            "until": {"type": ["string", "null"], "format": "date-time"},
        },
        "required": ["text"],
        "additionalProperties": False,
    },
}
"""Additional rules of a body that an action or a pattern checks."""

flags: dict[str, dict[str, Any]] = {
    "send_email": {
        "description": "Sends the person an email with a link that confirms the address and "
        "signs in. Without it, no email is sent.",
        "type": "boolean",
        "default": False,
    },
    "disabled": {
        "description": "`false` enables a disabled subscription again.",
        "type": "boolean",
        "const": False,
    },
}

formats: dict[tuple[str, str], dict[str, Any]] = {
    ("posts", "url"): {"format": "uri"},
    ("pages", "url"): {"format": "uri"},
    ("media", "url"): {"format": "uri"},
    ("webhook_subscriptions", "url"): {"format": "uri"},
    ("webhook_subscriptions", "secret"): {"minLength": 64, "maxLength": 64},
}
"""Formats of answers beyond the field's own type."""

_POST_ID, _COMMENT_ID = "k3v9q0x7m2c8b1d", "9w2p4z6t8r0y1u3"

common_examples: dict[str, Any] = {
    "id": _POST_ID,
    "tenant_id": "t7n4b2w9c5x1z8q",
    "created": "2026-11-14T09:12:41.530Z",
    "updated": "2026-11-14T09:30:00.123Z",
}

examples: dict[str, dict[str, Any]] = {
    "posts": {
        "title": "The lighthouse keeps its own hours",
        "slug": "the-lighthouse-keeps-its-own-hours",
        "url": "https://coast.example.com/posts/the-lighthouse-keeps-its-own-hours",
        "content_html": "<p>At four the lamp goes out, whatever the almanac says.</p>",
        "content_json": {
            "type": "doc",
            "content": [
                {
                    "type": "paragraph",
                    "content": [
                        {
                            "type": "text",
                            "text": "At four the lamp goes out, whatever the almanac says.",
                        }
                    ],
                }
            ],
        },
        "excerpt": "Notes from a winter on the point.",
        "status": "published",
        "visibility": "public",
        "featured_image": "https://coast.example.com/media/5f8h1j3k6l9m2n4/lamp_room.jpg",
        "tags": ["coast", "winter"],
        "published_at": "2026-11-14T09:30:00.123Z",
        "seo_title": "",
        "seo_description": "",
    },
    "pages": {
        "id": "p4g6e8i0n2s4t6u",
        "title": "About the coast",
        "slug": "about",
        "url": "https://coast.example.com/about",
        "content_html": "<p>Four people and a dog write from the water's edge.</p>",
        "excerpt": "Who writes here, and why.",
        "status": "published",
        "featured_image": "",
        "published_at": "2026-11-14T09:30:00.123Z",
        "seo_title": "",
        "seo_description": "",
    },
    "media": {
        "id": "5f8h1j3k6l9m2n4",
        "filename": "lamp_room_47r13hicyn.jpg",
        "url": "https://coast.example.com/media/5f8h1j3k6l9m2n4/lamp_room_47r13hicyn.jpg",
        "mime_type": "image/jpeg",
        "size": 184_213,
        "width": 1600,
        "height": 1067,
        "alt": "The lamp room at dusk",
    },
    "comments": {
        "id": _COMMENT_ID,
        "post_id": _POST_ID,
        "author_name": "Ada",
        "author_email": "ada@example.com",
        "body": "I grew up in sight of that light.",
        "parent_id": "",
        "status": "approved",
    },
    "trash": {
        "id": _POST_ID,
        "type": "posts",
        "record_id": _POST_ID,
        "title": "The lighthouse keeps its own hours",
        "slug": "the-lighthouse-keeps-its-own-hours",
        "deleted_at": "2026-11-14T09:30:00.123Z",
        "expires_at": "2026-12-14T09:30:00.123Z",
    },
    "blog_members": {
        "id": "b8d0f2h4j6l8n0p",
        "email": "jonas@example.com",
        "name": "Jonas",
        "tier": "paid",
        "status": "active",
        "newsletter": True,
        "labels": ["harbour fair"],
        "consent": "Paper form at the harbour fair, May 2026.",
    },
    "tiers": {
        "id": "t1i3e5r7s9u2p4p",
        "name": "Supporter",
        "price": 500,
        "currency": "eur",
        "interval": "month",
        "benefits": ["Every post", "A letter on Sundays"],
        "position": 1,
        "active": True,
        "payment_url": "",
        "payment_price_id": "price_1Abc",
    },
    "tags": {
        "id": "t8a6g4s2c0o9a7s",
        "name": "coast",
        "slug": "coast",
        "description": "Everything between high and low water.",
        "posts": 12,
    },
    "offers": {
        "id": "o1f3f5e7r9s2p4r",
        "code": "spring",
        "tier": "t1i3e5r7s9u2p4p",
        "kind": "percent",
        "value": 50,
        "months": 3,
        "ends_at": "2026-12-31T23:00:00.000Z",
        "max_uses": 100,
        "uses": 12,
        "active": True,
    },
    "redirects": {
        "id": "r2e4d6i8r1e3c5t",
        "from": "/2019/lighthouse/",
        "to": "/posts/the-lighthouse-keeps-its-own-hours",
        "status": 301,
    },
    "mailings": {
        "id": "m1l3i5n7g9s2t4u",
        "to": "ada@example.com",
        "post_id": _POST_ID,
        "newsletter": "main",
        "subject": "The lighthouse keeps its own hours",
        "audience": "all",
        "labels": [],
        "status": "sending",
        "recipients": 1840,
        "sent": 612,
        "failed": 3,
        "uncertain": 0,
        "bounced": 2,
        "complained": 0,
        "unsubscribed": 1,
        "opens": None,
        "clicks": None,
        "scheduled_for": "",
        "started_at": "2026-11-14T09:30:00.123Z",
        "finished_at": "",
    },
    "webhook_deliveries": {
        "id": "d1f3h5j7l9n1p3r",
        "event": "post.published",
        "event_id": "e2g4i6k8m0o2q4s",
        "state": "delivered",
        "attempts": 1,
        "last_status": 204,
        "next_attempt_at": "",
    },
    "webhook_subscriptions": {
        "id": "w3h5k7m9p1r3t5v",
        "name": "Newsroom board",
        "url": "https://hooks.example.com/masthead",
        "events": ["post.published", "comment.received"],
        "filter": "data.title ~ 'lighthouse'",
        "per_minute": 60,
        "overlap_hours": 24,
        "from": "2026-11-14T09:00:00Z",
        "to": "2026-11-14T12:00:00Z",
        "headers": {"Authorization": "Bearer 7f3k"},
        "failure_count": 0,
        "last_delivery_at": "2026-11-14T09:30:01.007Z",
        "disabled_at": "",
        "secret": "4f8c1e6a9b2d7053" * 4,
    },
    "site_settings": {
        "id": "s1e3g5i7k9m1o3q",
        "site_name": "Coast & Harbour",
        "site_description": "A weekly letter from the water's edge.",
        "site_logo": "https://coast.example.com/media/logo.svg",
        "site_favicon": "",
        "members_enabled": True,
        "comments_enabled": True,
    },
}

bodies: dict[str, list[str]] = {
    "PostCreate": ["title", "content_html", "excerpt", "status", "tags"],
    "PostUpdate": ["status"],
    "PageCreate": ["title", "content_html", "status"],
    "PageUpdate": ["excerpt"],
    "CommentCreate": ["post_id", "author_name", "author_email", "body"],
    "CommentModeration": ["status"],
    "MailingCreate": ["post_id", "newsletter", "audience", "subject"],
    "MediaUpdate": ["alt"],
    "MemberCreate": ["email", "name", "newsletter", "labels"],
    "MemberUpdate": ["tier"],
    "TierCreate": ["name", "price", "currency", "interval", "benefits"],
    "TierUpdate": ["active"],
    "TagCreate": ["name", "description"],
    "TagUpdate": ["description"],
    "OfferCreate": ["code", "tier", "kind", "value", "months", "max_uses"],
    "OfferUpdate": ["active"],
    "RedirectCreate": [],
    "WebhookSubscriptionCreate": ["name", "url", "events"],
    "WebhookSubscriptionUpdate": ["events"],
    "SiteSettingsUpdate": ["site_name", "comments_enabled"],
}
"""The fields in the example of a body."""

CURSOR = "MjAyNi0xMS0xNFQwOToxMjo0MS41MzBafGszdjlxMHg3bTJjOGIxZA"

error_messages: dict[tuple[int, str], str] = {
    (400, "BAD_REQUEST"): "The request body is not valid JSON.",
    (401, "UNAUTHORIZED"): "The API key is missing, wrong, expired or revoked.",
    (403, "INVALID_SCOPE"): "This key lacks the scope posts:write. Use a key that has it.",
    (403, "FORBIDDEN"): "Comments are disabled on this site.",
    (404, "NOT_FOUND"): "There is no such record. It may have been deleted.",
    (409, "CONFLICT"): "The mailing has ended: it is sent.",
    (413, "BAD_REQUEST"): "The request body is larger than the 8,388,608 bytes accepted here.",
    (429, "RATE_LIMITED"): "Too many calls. Try again in 17 seconds.",
}
"""Messages of errors whose own message depends on the call."""
