"""A tenant's site settings: one record per tenant, some of it secret."""

from __future__ import annotations

from masthead.records.collection import Collection, Index
from masthead.records.fields.base import Access
from masthead.records.fields.documents import TextList
from masthead.records.fields.secrets import Secret
from masthead.records.fields.text import Text, Url
from masthead.records.fields.values import Date, Flag, Number, Select
from masthead.site.custom_domain import CustomDomain

site_settings = Collection(
    "site_settings",
    (
        # The tenant's slug, which never changes, repeated here as spec 2.7 shows it.
        Text(name="slug", required=True, max=63, immutable=True, write=Access.PLATFORM),
        Text(name="site_name", required=True, max=255),
        Text(name="site_description", max=2000),
        Url(name="site_logo"),
        Url(name="site_favicon"),
        Flag(name="members_enabled", default=True),
        Flag(name="comments_enabled", default=True),
        TextList(name="cors_origins", max_items=50, max_length=300),
        # A domain routes readers to a tenant, so claiming one is the platform's business.
        CustomDomain(name="custom_domain", write=Access.PLATFORM),
        Flag(name="read_only_mode", write=Access.PLATFORM),
        Date(name="deleted_at", write=Access.PLATFORM),
        Secret(name="member_payment_secret_key", max=500),
        Secret(name="member_payment_webhook_secret", max=500),
        Select(name="ai_provider", values=("openai", "anthropic")),
        Url(name="ai_base_url"),
        Text(name="ai_model", max=255),
        Secret(name="ai_api_key", max=500),
        Number(name="ai_per_minute", nullable=True, min=0),
        Number(name="ai_per_day", nullable=True, min=0),
        # Tokens in and out a day, on whichever key; none is no budget.
        Number(name="ai_daily_tokens", nullable=True, min=0),
    ),
    is_identity=True,
    owner_may_delete=False,
    indexes=(
        Index((), unique=True),
        Index(("custom_domain",), unique=True, across_tenants=True, skip_empty="custom_domain"),
    ),
)
