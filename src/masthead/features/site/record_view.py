"""The fields of a record of `site_settings`, for the type checker. Written by `make views`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, cast

from masthead.engine.records.collection import Record

if TYPE_CHECKING:
    from masthead.engine.records.typed_record import TypedRecord

    class SettingsRecord(
        TypedRecord[
            Literal[
                "id",
                "tenant_id",
                "slug",
                "site_name",
                "site_description",
                "site_logo",
                "site_favicon",
                "accent_color",
                "language",
                "time_zone",
                "theme",
                "fonts",
                "width",
                "home_layout",
                "footer_text",
                "site_logo_dark",
                "head_html",
                "foot_html",
                "comments_by",
                "comments_moderation",
                "crawlers",
                "custom_domain",
                "wanted_domain",
                "member_payment_secret_key",
                "member_payment_webhook_secret",
                "ai_provider",
                "ai_base_url",
                "ai_model",
                "ai_api_key",
                "ai_for",
                "former_link_keys",
            ],
            Literal[
                "code_allowed",
                "members_enabled",
                "comments_enabled",
                "related_posts",
                "count_views",
                "require_second_factor",
                "editors_send_mailings",
                "read_only_mode",
            ],
            Literal["version"],
            Literal["languages", "social", "cors_origins"],
            Literal[
                "navigation",
                "footer_links",
                "announcement",
                "domain_check_at",
                "domain_missing_since",
                "deleted_at",
                "ai_per_minute",
                "ai_per_day",
                "ai_daily_tokens",
                "created",
                "updated",
            ],
        ]
    ): ...
else:
    SettingsRecord = Record


def as_settings(record: Record) -> SettingsRecord:
    return cast(SettingsRecord, record)
