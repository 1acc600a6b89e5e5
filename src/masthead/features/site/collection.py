"""The site settings: one record per tenant, with some secret fields."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from masthead.content.texts.languages import editions_jobs
from masthead.engine.links.file_uses import Uses
from masthead.engine.records.changes import Change, Save, Snapshot
from masthead.engine.records.collection import Collection, Index
from masthead.engine.records.fields.base import Access
from masthead.engine.records.fields.documents import TextList
from masthead.engine.records.fields.secrets import Secret
from masthead.engine.records.fields.text import Text, Url
from masthead.engine.records.fields.values import Date, Flag, Number, Select
from masthead.features.site.appearance import ACCENT_COLOR, LANGUAGE, LANGUAGES, Links, TimeZone
from masthead.features.site.custom_domain import CustomDomain
from masthead.features.site.design import CODE, DESIGN, check_code

NEWSLETTERS: Final = "newsletters"
MAIN_NEWSLETTER: Final = "main"


def first_newsletter(change: Change) -> Iterator[Snapshot]:
    """Every site has one from its beginning."""
    if change.old is None and change.new is not None:
        values = {
            "slug": MAIN_NEWSLETTER,
            "name": change.new["site_name"][:100],
            "is_default": True,
        }
        yield Snapshot(NEWSLETTERS, values, by="slug", newest=1)


def before_save(save: Save) -> Mapping[str, Any]:
    """Another domain that was not proven is an operator's."""
    check_code(save)
    old, new = save.old, save.new
    if old is None or new["custom_domain"] == old["custom_domain"]:
        return {}
    if new["domain_check_at"] != old["domain_check_at"]:
        return {}
    return {"domain_check_at": "", "domain_missing_since": ""}


_FILES = Uses(
    (
        *("site_logo", "site_logo_dark", "site_favicon"),
        *("navigation", "footer_links", "announcement"),
        *CODE,
    )
)
MAX_FORMER_KEYS = 10
"""The most former keys: 64 characters each, with blanks between."""

site_settings = Collection(
    "site_settings",
    (
        Text(
            name="slug",
            required=True,
            max=63,
            immutable=True,
            write=Access.PLATFORM,
            help="The tenant's slug, the first part of its host name. Never changes.",
        ),
        Text(name="site_name", required=True, max=255),
        Text(name="site_description", max=2000),
        Url(name="site_logo"),
        Url(name="site_favicon"),
        ACCENT_COLOR,
        LANGUAGE,
        LANGUAGES,
        TimeZone(
            name="time_zone",
            help="The time zone of dates on the site, such as Europe/Lisbon. Empty is UTC.",
        ),
        Links(
            name="navigation",
            help="The links at the top of every page: a list of objects with `label` and `url`.",
        ),
        *DESIGN,
        Flag(name="members_enabled", default=True),
        Flag(name="comments_enabled", default=True),
        Select(
            name="comments_by",
            values=("everyone", "members", "paid"),
            default="members",
            help="Who may comment on the site. Nobody can while `comments_enabled` is off.",
        ),
        Select(
            name="comments_moderation",
            values=("none", "guests", "all"),
            default="guests",
            help="Whose comments wait until staff has approved them.",
        ),
        Flag(
            name="related_posts",
            default=True,
            help="Whether a post ends with others on the same subject, by tags and words.",
        ),
        Flag(
            name="count_views",
            default=True,
            help="Whether views of the site's pages are counted: see Statistics in the admin. No "
            "address and no cookie is stored for it.",
        ),
        Flag(
            name="require_second_factor",
            write=Access.ADMIN,
            help="Staff without a second factor can only add one.",
        ),
        Flag(
            name="editors_send_mailings",
            default=True,
            help="Editors may email posts, and pause, resume and cancel mailings. If not, only "
            "owners may; editors still see the mailings.",
        ),
        TextList(
            name="cors_origins",
            max_items=50,
            max_length=300,
            help="Origins whose pages may call the APIs from a browser, or `*` for all.",
        ),
        Select(
            name="crawlers",
            values=("all", "search", "none"),
            default="all",
            help="Which programs may read the site: all, search engines without AI, or none. "
            "`robots.txt` asks crawlers to keep to it.",
        ),
        # A domain routes readers to a tenant: an owner asks for one, and
        # features/site/domain_proof.py sets it once its DNS has the proof.
        CustomDomain(
            name="custom_domain",
            write=Access.PLATFORM,
            help="The site's own host name, such as `blog.example.com`.",
        ),
        CustomDomain(
            name="wanted_domain",
            help="The domain that the owner wants. It becomes `custom_domain` once a TXT "
            "record proves that it is theirs; the admin shows the record and checks it.",
        ),
        Date(
            name="domain_check_at",
            write=Access.PLATFORM,
            help="When the TXT record of `custom_domain` is checked again. Empty if an "
            "operator has set the domain, which needs no proof.",
        ),
        Date(
            name="domain_missing_since",
            write=Access.PLATFORM,
            help="Since when the TXT record of `custom_domain` is missing. The domain is "
            "dropped two weeks later.",
        ),
        Flag(
            name="read_only_mode",
            write=Access.PLATFORM,
            help="Refuses every change of the site with 403. Payments are still recorded.",
        ),
        Date(
            name="deleted_at",
            write=Access.PLATFORM,
            help="Since when the site waits for its deletion. It is read-only meanwhile.",
        ),
        Secret(
            name="member_payment_secret_key",
            max=500,
            help="The payment processor's key. It opens checkouts and the customer portal. "
            "With a live key, test events are ignored.",
        ),
        Secret(
            name="member_payment_webhook_secret",
            max=500,
            help="Signs the events that the processor sends to `/api/member-webhook/<slug>`.",
        ),
        Select(
            name="ai_provider",
            values=("openai", "anthropic"),
            help="The kind of AI server. If empty, the platform's.",
        ),
        Url(name="ai_base_url", help="Where the AI key is sent. If empty, the platform's address."),
        Text(
            name="ai_model",
            max=255,
            help="If empty, the platform's model, or a small model of the provider.",
        ),
        Secret(
            name="ai_api_key",
            max=500,
            help="The site's own key for the AI provider. If empty, the platform's key.",
        ),
        Select(
            name="ai_for",
            values=("anyone", "staff"),
            help="Who can use the AI, and so spend the key. If empty, anyone if the site has "
            "its own key; otherwise the operator's setting applies.",
        ),
        Secret(
            name="former_link_keys",
            max=MAX_FORMER_KEYS * 65,
            write=Access.ENGINE,
            help="Of a site that was moved here with its secrets: the keys of the links to "
            "unsubscribe in emails from before.",
        ),
        Number(name="ai_per_minute", nullable=True, min=0, help="AI calls a minute. If empty, 60."),
        Number(name="ai_per_day", nullable=True, min=0, help="AI calls a day. If empty, 1,000."),
        Number(
            name="ai_daily_tokens",
            nullable=True,
            min=0,
            help="AI tokens a day, input and output together. If empty, there is no limit.",
        ),
    ),
    audited="site_name",
    help="The settings of a site: one record per tenant.",
    listings=(_FILES.listings,),
    followers=(_FILES,),
    is_identity=True,
    hooks_read=(
        "comments_enabled",
        "members_enabled",
        "comments_by",
        "comments_moderation",
        "editors_send_mailings",
        "custom_domain",
        "time_zone",
        "language",
        "languages",
    ),
    owner_may_delete=False,
    indexes=(
        Index((), unique=True),
        Index(("custom_domain",), unique=True, across_tenants=True, skip_empty="custom_domain"),
        Index(("domain_check_at",), across_tenants=True, skip_empty="domain_check_at"),
    ),
    before_save=before_save,
    jobs=editions_jobs,
    snapshots=first_newsletter,
)
