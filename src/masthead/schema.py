"""All collections and tables of the service."""

from __future__ import annotations

from masthead.ai.ledger import ai_usage
from masthead.audit.collection import audit_log
from masthead.comments.collection import comments
from masthead.commerce.collection import carts, gift_cards, orders, products
from masthead.events.outbox import events
from masthead.identity.api_keys import api_keys
from masthead.identity.tables import sign_in_codes, sign_ins
from masthead.identity.tenants import superusers, tenants
from masthead.importers.collection import import_runs
from masthead.importers.member_csv.collection import member_imports
from masthead.importers.tables import import_items
from masthead.jobs.tables import jobs
from masthead.limits.tables import login_attempts, rate_limit_counters
from masthead.mail.collection import sending_domains
from masthead.mail.tables import mails
from masthead.mailings.collection import mailings
from masthead.mailings.tables import mail_report_tokens, mailing_recipients
from masthead.mailings.welcome_emails import welcome_emails
from masthead.media.collection import media
from masthead.members.collection import blog_members, member_history, member_mails
from masthead.members.newsletters import newsletters
from masthead.members.tables import email_changes, member_links
from masthead.pages.collection import categories, page_revisions, page_working_copies, pages
from masthead.payments.collection import (
    payment_customers,
    payment_products,
    payment_subscriptions,
    tiers,
)
from masthead.payments.tables import (
    payment_inbox,
    payment_refunds,
    payment_refusals,
    payment_reports,
)
from masthead.posts.collection import post_revisions, post_working_copies, posts
from masthead.posts.tags import tag_changes
from masthead.privacy.collection import gdpr_requests
from masthead.record_api.realtime.tables import realtime_requests
from masthead.records.derived.daily_counts import daily_counts
from masthead.records.derived.list_items import listed_values
from masthead.records.registry import Registry
from masthead.records.search.index import search_queue
from masthead.records.tables import (
    LazyTables,
    record_changes,
    record_counts,
    tenant_states,
)
from masthead.single_sign_on.collection import sign_in_links, sign_in_providers
from masthead.site.collection import site_settings
from masthead.site.redirects import redirects
from masthead.site_export.collection import site_exports
from masthead.storage.full_text import documents
from masthead.storage.presence import running_processes
from masthead.trash.collection import trash, trash_items
from masthead.undo.collection import undo_steps
from masthead.web.tables import remembered_answers, request_errors
from masthead.webhooks.collection import webhook_deliveries, webhook_subscriptions
from masthead.webhooks.tables import (
    webhook_attempts,
    webhook_lanes,
    webhook_leases,
    webhook_retries,
)

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
        mailings,
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
        gift_cards,
        tiers,
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
    request_errors,
    running_processes,
)


complete_metadata = tables.complete
"""All tables with their indexes, for migrations."""
