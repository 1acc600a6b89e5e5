"""The work besides requests: jobs, regular chores, deliveries of webhooks, the search index."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING

from masthead.content.texts import jobs as text_jobs
from masthead.content.texts import thinning
from masthead.engine.audit.retention import AuditRetention
from masthead.engine.jobs.runner import Chore, Handler, JobRunner
from masthead.engine.records.due_records import delete_expired
from masthead.engine.records.search.index import Indexer
from masthead.faces.importers import jobs as import_jobs
from masthead.faces.importers.files.work_folder import delete_abandoned
from masthead.faces.importers.member_csv.collection import member_imports
from masthead.faces.site_archive import jobs as site_import_jobs
from masthead.faces.site_archive.leftovers import Leftovers
from masthead.faces.site_export import jobs as site_export_jobs
from masthead.features.commerce.jobs import mark_abandoned
from masthead.features.mailings import stopped_email
from masthead.features.mailings.digests import Digests
from masthead.features.mailings.forms import FormCache
from masthead.features.mailings.progress import MailingProgress
from masthead.features.mailings.queue import RecipientQueue
from masthead.features.mailings.sending_domains import SendingDomains
from masthead.features.mailings.stopping import StoppedAddresses
from masthead.features.mailings.worker import MailingWorker
from masthead.features.media import alt_texts as media_alt_texts
from masthead.features.media import copies as media_copies
from masthead.features.media import jobs as media_jobs
from masthead.features.media import use_counts as media_use_counts
from masthead.features.members.unsubscribe import Unsubscribe
from masthead.features.pages.collection import page_revisions, pages
from masthead.features.payments import gift_mails
from masthead.features.payments import jobs as payment_jobs
from masthead.features.payments.access import end_due
from masthead.features.payments.reconcile import Reconciliation
from masthead.features.posts import jobs as post_jobs
from masthead.features.posts import related, review_emails, tags
from masthead.features.posts.collection import post_revisions, posts
from masthead.features.posts.draft_links import draft_links
from masthead.features.privacy import jobs as privacy_jobs
from masthead.features.site import notices
from masthead.features.site.domain_proof import DomainProofs
from masthead.features.site.domain_repeat import DomainChecks
from masthead.features.statistics.retention import LASTING, Retention
from masthead.features.trash import emptying
from masthead.features.undo.collection import undo_steps
from masthead.features.webhooks import jobs as webhook_jobs
from masthead.features.webhooks.deliver import DeliveryWorker
from masthead.outside.mail import jobs as mail_jobs
from masthead.outside.mail.dns_records import DnsChecks
from masthead.outside.mail.transport import transport_of
from masthead.outside.outbound.name_server import NameServer
from masthead.service.backup.schedule import CONCURRENCY as BACKUP_CONCURRENCY
from masthead.service.backup.schedule import LOOK_EVERY, BackupSchedule
from masthead.service.schema import tables
from masthead.service.services import Services

if TYPE_CHECKING:
    from masthead.service.tracing.spans import Traces

REVISIONS = (post_revisions, page_revisions)
NOTICES = {**payment_jobs.NOTICES, **webhook_jobs.NOTICES, **stopped_email.NOTICES}


def job_handlers(parts: Services) -> Mapping[str, Handler]:
    settings = parts.settings
    return {
        **media_jobs.handlers(parts.records, parts.objects),
        **media_copies.handlers(parts.records, parts.objects, parts.images),
        **media_use_counts.handlers(parts.records),
        **media_alt_texts.handlers(parts.records),
        **post_jobs.handlers(parts.records),
        **review_emails.handlers(
            parts.records, parts.mail, parts.sites, parts.single_sign_on.staff.connected
        ),
        **emptying.handlers(parts.records),
        **text_jobs.handlers(parts.records, (posts, pages)),
        **thinning.handlers(parts.records, REVISIONS),
        **tags.handlers(parts.records),
        **mail_jobs.handlers(
            parts.mail,
            transport_of(settings, parts.signer),
            settings.mail_from,
            parts.signing_keys,
        ),
        **StoppedAddresses(parts.records).handlers(),
        **parts.mailings.welcome.handlers(),
        **parts.passwords.resets.handlers(),
        **parts.factors.handlers(),
        **parts.members.links.handlers(),
        **parts.passwords.staff_codes.handlers(),
        **parts.privacy.work.handlers(),
        **gift_mails.handlers(parts.records, parts.mail, parts.sites),
        **notices.handlers(parts.records, parts.mail, parts.sites, NOTICES),
        **parts.webhooks.retries.handlers(),
        **parts.webhooks.replays.handlers(),
        **import_jobs.handlers(parts),
        **parts.site_exports.handlers(),
        **parts.site_imports.handlers(),
    }


def backup_schedule(parts: Services) -> BackupSchedule:
    return BackupSchedule(parts.settings, parts.records, parts.keyring, parts.records.clock)


def job_runner(parts: Services, traces: Traces | None = None) -> JobRunner:
    """The job worker, in a server process or in one of its own."""
    backups = backup_schedule(parts)
    hourly = timedelta(hours=1)
    expire = partial(delete_expired, parts.records)
    digests = Digests(parts.records, parts.mailings.starting)
    retention = Retention(parts.database, parts.records.clock)
    chores = [
        Chore("logins.sweep", hourly, parts.throttle.sweep),
        Chore("sign_ins.sweep", hourly, parts.accounts.sign_ins.sweep),
        Chore("limits.sweep", hourly, parts.limit_store.sweep),
        Chore("audit.sweep", hourly, partial(_sweep_audit, parts)),
        Chore("errors.sweep", hourly, parts.error_log.sweep),
        Chore("idempotency.sweep", hourly, parts.idempotency.sweep),
        Chore("daily_counts.sweep", timedelta(days=1), partial(_sweep_daily_counts, parts)),
        Chore("readers.forget", timedelta(minutes=30), retention.forget_readers),
        Chore("views.months", timedelta(days=1), retention.add_up_months),
        Chore("webhooks.sweep", hourly, partial(_sweep_webhooks, parts)),
        Chore("access.end", timedelta(minutes=1), partial(end_due, parts.records)),
        Chore("carts.abandon", timedelta(minutes=1), partial(mark_abandoned, parts.records)),
        Chore("payments.reconcile", timedelta(days=1), Reconciliation(parts.records, tables).run),
        Chore("changes.sweep", timedelta(minutes=10), partial(_sweep_changes, parts)),
        Chore("mail_reports.sweep", hourly, parts.mailings.report_tokens.sweep),
        Chore("mail.sweep", hourly, parts.mail.sweep),
        Chore("email_changes.sweep", hourly, parts.members.email_changes.sweep),
        Chore("member_imports.sweep", hourly, partial(expire, member_imports)),
        Chore("member_links.sweep", hourly, parts.members.links.sweep),
        Chore("sign_in_codes.sweep", hourly, parts.codes.sweep),
        Chore("privacy.sweep", hourly, parts.privacy.work.sweep),
        Chore("trash.sweep", hourly, partial(emptying.delete_expired, parts.records)),
        Chore("revisions.thin", hourly, partial(thinning.thin_due, parts.records, REVISIONS)),
        Chore("draft_links.sweep", hourly, partial(expire, draft_links)),
        Chore("related.refresh", related.EVERY, parts.related.refresh),
        Chore("related.sweep", timedelta(days=1), parts.related.sweep),
        Chore("undo.sweep", hourly, partial(expire, undo_steps)),
        Chore("site_export.sweep", hourly, parts.site_exports.sweep),
        Chore("site_import.sweep", hourly, Leftovers(parts.records, parts.objects).sweep),
        Chore("backup.look", LOOK_EVERY, backups.enqueue_due),
        Chore("digests.start", timedelta(minutes=1), digests.start_due),
        Chore("domains.check", hourly, partial(check_domains, parts)),
        Chore("sending_domains.check", hourly, sending_domains_of(parts).run),
    ]
    if parts.keyring.is_rotating:
        rotate = parts.records.reencrypt_secrets
        chores.append(Chore("secrets.rotate", timedelta(days=1), rotate))
    handlers = {**job_handlers(parts), **backups.handlers()}
    return JobRunner(
        parts.database,
        traces.wrap_handlers(handlers) if traces else handlers,
        parts.records.clock,
        chores=chores,
        concurrency=mail_jobs.CONCURRENCY
        | BACKUP_CONCURRENCY
        | privacy_jobs.CONCURRENCY
        | import_jobs.CONCURRENCY
        | site_export_jobs.CONCURRENCY
        | site_import_jobs.CONCURRENCY
        | media_copies.CONCURRENCY
        | text_jobs.CONCURRENCY,
    )


async def check_domains(parts: Services) -> None:
    names = NameServer(parts.settings.dns_server)
    proofs = DomainProofs(parts.records, parts.keyring, names, parts.windows)
    await DomainChecks(parts.records, proofs, parts.mail, parts.settings).run()


def sending_domains_of(parts: Services) -> SendingDomains:
    checks = DnsChecks(NameServer(parts.settings.dns_server), parts.settings)
    return SendingDomains(parts.records, parts.signing_keys, checks, parts.windows)


async def _sweep_audit(parts: Services) -> None:
    await AuditRetention(parts.records.database, tables, parts.records.clock).sweep()


async def _sweep_changes(parts: Services) -> None:
    await parts.changes.sweep()
    await parts.realtime.relay.sweep()


async def _sweep_webhooks(parts: Services) -> None:
    await parts.webhooks.deliveries.sweep(parts.records.clock())
    await parts.webhooks.retries.sweep()


async def _sweep_daily_counts(parts: Services) -> None:
    await parts.records.daily.sweep(parts.records.clock(), LASTING)


def delivery_worker(parts: Services) -> DeliveryWorker:
    return DeliveryWorker(
        parts.webhooks.deliveries,
        parts.outbound,
        parts.keyring,
        parts.settings.retry_policy,
        now=parts.records.clock,
        wake=parts.webhooks.queued,
    )


def form_cache(parts: Services) -> FormCache:
    return FormCache(
        parts.records,
        parts.sites,
        Unsubscribe(parts.records, parts.keyring),
        parts.mailings.senders,
        tracking=parts.mailings.tracking,
    )


def mailing_worker(parts: Services) -> MailingWorker:
    settings, records = parts.settings, parts.records
    forms = form_cache(parts)
    starting = parts.mailings.starting
    return MailingWorker(
        RecipientQueue(parts.database, tables, records.clock),
        forms,
        MailingProgress(records, starting, forms, parts.mail, settings=settings),
        transport_of(settings, parts.signer),
        now=records.clock,
        connections=settings.mail_connections,
        per_second=settings.mails_per_second,
        per_domain=settings.mails_per_domain,
    )


class Background:
    """All background tasks, in a server process or in one of its own."""

    def __init__(self, parts: Services, traces: Traces | None = None) -> None:
        self._loops = (
            job_runner(parts, traces),
            delivery_worker(parts),
            mailing_worker(parts),
            Indexer(parts.records.search_index),
        )
        self._retention = parts.webhooks.deliveries.retention

    async def run_forever(self) -> None:
        await asyncio.to_thread(delete_abandoned)
        await asyncio.gather(*(each.run_forever() for each in self._loops))

    def stop(self) -> None:
        """Running work is finished and recorded; nothing new is started."""
        self._retention.stop()
        for each in self._loops:
            each.stop()
