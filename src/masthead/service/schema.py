"""All collections and tables of the service."""

from __future__ import annotations

from masthead.engine.audit.collection import audit_log
from masthead.engine.events.outbox import events
from masthead.engine.jobs.tables import jobs
from masthead.engine.records.derived.daily_counts import daily_counts
from masthead.engine.records.derived.list_items import listed_values
from masthead.engine.records.registry import Registry
from masthead.engine.records.search.index import search_queue
from masthead.engine.records.tables import LazyTables, record_changes, record_counts, tenant_states
from masthead.faces.importers.collection import import_runs
from masthead.faces.importers.member_csv.collection import member_imports
from masthead.faces.importers.tables import import_items
from masthead.faces.record_api.realtime.tables import realtime_requests
from masthead.faces.site_export.collection import site_exports
from masthead.features.ai.ledger import ai_usage
from masthead.features.comments.collection import comments
from masthead.features.commerce.collection import carts, gift_cards, orders, products
from masthead.features.mailings.collection import mailings
from masthead.features.mailings.tables import mail_report_tokens, mailing_recipients
from masthead.features.mailings.welcome_emails import welcome_emails
from masthead.features.media.collection import media
from masthead.features.members.collection import blog_members, member_history, member_mails
from masthead.features.members.newsletters import newsletters
from masthead.features.members.tables import email_changes, member_links
from masthead.features.pages.collection import (
    categories,
    page_revisions,
    page_working_copies,
    pages,
)
from masthead.features.payments.collection import (
    payment_customers,
    payment_products,
    payment_subscriptions,
    tiers,
)
from masthead.features.payments.offers import offers
from masthead.features.payments.tables import (
    payment_inbox,
    payment_refunds,
    payment_refusals,
    payment_reports,
)
from masthead.features.posts.collection import post_revisions, post_working_copies, posts
from masthead.features.posts.draft_links import draft_links
from masthead.features.posts.snippets import snippets
from masthead.features.posts.tables import related_marks, related_posts
from masthead.features.posts.tag_records import tags
from masthead.features.posts.tags import tag_changes
from masthead.features.privacy.collection import gdpr_requests
from masthead.features.single_sign_on.collection import sign_in_links, sign_in_providers
from masthead.features.site.collection import site_settings
from masthead.features.site.redirects import redirects
from masthead.features.statistics.tables import day_readers, day_salts, view_counts
from masthead.features.trash.collection import trash, trash_items
from masthead.features.undo.collection import undo_steps
from masthead.features.webhooks.collection import webhook_deliveries, webhook_subscriptions
from masthead.features.webhooks.tables import (
    webhook_attempts,
    webhook_lanes,
    webhook_leases,
    webhook_retries,
)
from masthead.identity.api_keys import api_keys
from masthead.identity.limits.tables import login_attempts, rate_limit_counters
from masthead.identity.tables import sign_in_codes, sign_ins
from masthead.identity.tenants import superusers, tenants
from masthead.outside.mail.collection import sending_domains
from masthead.outside.mail.tables import mails
from masthead.storage.full_text import documents
from masthead.storage.presence import running_processes
from masthead.web.tables import remembered_answers, request_errors

registry = Registry(
    (
        superusers,
        tenants,
        site_settings,
        blog_members,
        member_history,
        member_mails,
        newsletters,
        welcome_emails,
        sending_domains,
        posts,
        post_revisions,
        post_working_copies,
        draft_links,
        snippets,
        mailings,
        tags,
        tag_changes,
        pages,
        page_revisions,
        page_working_copies,
        categories,
        comments,
        media,
        products,
        orders,
        carts,
        tiers,
        offers,
        gift_cards,
        payment_products,
        payment_customers,
        payment_subscriptions,
        api_keys,
        webhook_subscriptions,
        webhook_deliveries,
        gdpr_requests,
        redirects,
        import_runs,
        site_exports,
        member_imports,
        trash,
        trash_items,
        undo_steps,
        sign_in_providers,
        sign_in_links,
        audit_log,
    )
)

tables = LazyTables(registry)

bookkeeping = (
    tenant_states,
    record_counts,
    daily_counts,
    listed_values,
    documents,
    search_queue,
    events,
    record_changes,
    realtime_requests,
    jobs,
    login_attempts,
    sign_ins,
    rate_limit_counters,
    remembered_answers,
    webhook_lanes,
    webhook_leases,
    webhook_attempts,
    webhook_retries,
    payment_inbox,
    payment_refunds,
    payment_refusals,
    payment_reports,
    ai_usage,
    mails,
    mailing_recipients,
    mail_report_tokens,
    email_changes,
    member_links,
    sign_in_codes,
    import_items,
    related_posts,
    related_marks,
    view_counts,
    day_salts,
    day_readers,
    request_errors,
    running_processes,
)


complete_metadata = tables.complete
"""All tables with their indexes, for migrations."""
