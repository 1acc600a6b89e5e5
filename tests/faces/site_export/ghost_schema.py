"""The tables of Ghost 5.130 that an export has, with their columns."""

from __future__ import annotations

from typing import Final

_META: Final = (
    *("og_image", "og_title", "og_description", "twitter_image", "twitter_title"),
    *("twitter_description", "meta_title", "meta_description"),
)
POST: Final = frozenset(
    {
        *("id", "uuid", "title", "slug", "mobiledoc", "lexical", "html", "comment_id"),
        *("plaintext", "feature_image", "featured", "type", "status", "locale", "visibility"),
        *("email_recipient_filter", "created_at", "updated_at", "published_at"),
        *("custom_excerpt", "codeinjection_head", "codeinjection_foot", "custom_template"),
        *("canonical_url", "newsletter_id", "show_title_and_feature_image"),
    }
)
TABLES: Final[dict[str, frozenset[str]]] = {
    "posts": POST,
    "posts_authors": frozenset({"id", "post_id", "author_id", "sort_order"}),
    "posts_tags": frozenset({"id", "post_id", "tag_id", "sort_order"}),
    "posts_meta": frozenset(
        {
            *("id", "post_id", *_META, "email_subject", "frontmatter", "feature_image_alt"),
            *("feature_image_caption", "email_only"),
        }
    ),
    "tags": frozenset(
        {
            *("id", "name", "slug", "description", "feature_image", "parent_id", "visibility"),
            *(*_META, "codeinjection_head", "codeinjection_foot", "canonical_url"),
            *("accent_color", "created_at", "updated_at"),
        }
    ),
    "users": frozenset(
        {
            *("id", "name", "slug", "password", "email", "profile_image", "cover_image", "bio"),
            *("website", "location", "facebook", "twitter", "accessibility", "status", "locale"),
            *("visibility", "meta_title", "meta_description", "tour", "last_seen"),
            *("comment_notifications", "created_at", "updated_at"),
        }
    ),
    # Its own export leaves this table out.
    "comments": frozenset(
        {
            *("id", "post_id", "member_id", "parent_id", "in_reply_to_id", "status", "html"),
            *("edited_at", "created_at", "updated_at"),
        }
    ),
    "roles": frozenset({"id", "name", "description", "created_at", "updated_at"}),
    "roles_users": frozenset({"id", "role_id", "user_id"}),
    "settings": frozenset(
        {"id", "group", "key", "value", "type", "flags", "created_at", "updated_at"}
    ),
}
MEMBERS_CSV: Final = (
    "id,email,name,note,subscribed_to_emails,complimentary_plan,stripe_customer_id,created_at,"
    "deleted_at,labels,tiers"
)
