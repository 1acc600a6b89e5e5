"""The shared components of a process, built from the settings. No module of the package opens a
connection or a file at import."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial

from masthead.base import clock
from masthead.base.config import served_secret
from masthead.base.config.keyring import KeyRing
from masthead.base.config.settings import Settings
from masthead.base.counters import CACHES
from masthead.base.ids import TenantId
from masthead.content.texts.presence import Presence
from masthead.engine.events.log import EventLog
from masthead.engine.records.change_log import ChangeLog
from masthead.engine.records.engine import ChangeListener, Records, Subscriber
from masthead.engine.records.versions import TenantVersions
from masthead.engine.records.write.unit_changes import LocalChange
from masthead.faces.importers.jobs import ImportWork
from masthead.faces.reader.accent_style import AccentStyles
from masthead.faces.reader.posted_comments import PostedComments
from masthead.faces.reader.themes import Themes
from masthead.faces.record_api.realtime.hub import Hub
from masthead.faces.site_archive.jobs import SiteImports
from masthead.faces.site_export.jobs import SiteExports
from masthead.features.ai.budget import Budgets
from masthead.features.ai.generation import Generator
from masthead.features.ai.ledger import Ledger
from masthead.features.ai.open_streams import OpenStreams
from masthead.features.comments.discussion import Discussions
from masthead.features.comments.emails import CommentEmails
from masthead.features.comments.mail_links import CommentMailLinks
from masthead.features.factors.enrolment import Factors
from masthead.features.mailings.senders import Senders
from masthead.features.mailings.services import MailingServices, mailing_services
from masthead.features.media.images import ImagePool
from masthead.features.members.email_change import EmailChanges
from masthead.features.members.mail_log import MemberMails
from masthead.features.members.mailed_links import MailedLinks
from masthead.features.members.sign_up import Details
from masthead.features.password_reset.resets import PasswordResets
from masthead.features.password_reset.staff_codes import StaffCodes
from masthead.features.payments.checkout import Checkouts
from masthead.features.payments.inbox import Inbox
from masthead.features.payments.processor import Processor
from masthead.features.privacy.service import Privacy, build_privacy
from masthead.features.single_sign_on.services import SingleSignOn, build_single_sign_on
from masthead.features.site.address import Sites
from masthead.features.site.collection import site_settings
from masthead.features.statistics.counting import ViewCounts
from masthead.features.statistics.reading import Statistics
from masthead.features.statistics.storing import ViewStore
from masthead.features.webhooks.actions import check_url
from masthead.features.webhooks.collection import webhook_subscriptions
from masthead.features.webhooks.fanout import Fanout
from masthead.features.webhooks.queue import DeliveryQueue
from masthead.features.webhooks.retries import Retries
from masthead.identity.accounts import Accounts
from masthead.identity.challenges import Challenges
from masthead.identity.codes import SignInCodes
from masthead.identity.directory import TenantDirectory
from masthead.identity.key_authentication import ApiKeys
from masthead.identity.limits.lookups import Lookups
from masthead.identity.limits.rate_limiter import RateLimiter
from masthead.identity.limits.read_limits import ReadLimit
from masthead.identity.limits.sign_in_throttle import LoginThrottle
from masthead.identity.limits.stores import LimitStore, open_limit_store
from masthead.identity.limits.windows import Windows
from masthead.identity.passkey_sign_ins import PasskeySignIns
from masthead.identity.second_step import SecondSteps
from masthead.outside.mail.outbox import Outbox
from masthead.outside.mail.signing import Signer
from masthead.outside.mail.signing_keys import SigningKeys
from masthead.outside.outbound.client import OutboundClient
from masthead.outside.outbound.streams import OutboundStreams
from masthead.service.installation import open_installation
from masthead.service.schema import tables
from masthead.storage.database import Database
from masthead.storage.migrate import migrate
from masthead.storage.objects import ObjectStore
from masthead.web.cache import AnswerCache
from masthead.web.callers import Callers
from masthead.web.error_log import ErrorLog
from masthead.web.forms import FormTokens
from masthead.web.staff import StaffSignIn
from masthead.web.v1.idempotency import Idempotency


@dataclass(slots=True, kw_only=True)
class Services:
    """The shared components of a process, for the faces, the worker and the commands. A room that
    can't know this class says in a protocol what it needs of it."""

    settings: Settings
    database: Database
    objects: ObjectStore
    images: ImagePool
    keyring: KeyRing
    records: Records
    versions: TenantVersions
    directory: TenantDirectory
    accounts: Accounts
    factors: Factors
    throttle: LoginThrottle
    keys: ApiKeys
    limit_store: LimitStore
    presence: Presence
    idempotency: Idempotency
    error_log: ErrorLog
    outbound: OutboundClient
    generator: Generator
    deliveries: DeliveryQueue
    retries: Retries
    deliveries_queued: asyncio.Event
    """Set by this process's own changes, so that its worker need not wait for the next poll."""
    sites: Sites
    mail: Outbox
    signer: Signer
    signing_keys: SigningKeys
    mailings: MailingServices
    email_changes: EmailChanges
    codes: SignInCodes
    links: MailedLinks
    resets: PasswordResets
    staff_codes: StaffCodes
    privacy: Privacy
    imports: ImportWork
    site_exports: SiteExports
    site_imports: SiteImports
    checkouts: Checkouts
    event_log: EventLog
    callers: Callers
    staff: StaffSignIn
    single_sign_on: SingleSignOn
    form_tokens: FormTokens
    limiter: RateLimiter
    """The limiter of API calls, which also counts those of today."""
    read_limit: ReadLimit
    near_lookups: Lookups
    """Look-ups of posts near an address that leads nowhere."""
    windows: Windows
    ai_budgets: Budgets
    payment_inbox: Inbox
    discussions: Discussions
    posted_comments: PostedComments
    themes: Themes
    accents: AccentStyles
    changes: ChangeLog
    guest_answers: AnswerCache
    """Answers of the record store to guests, by request."""
    views: ViewCounts
    statistics: Statistics
    realtime: Hub = field(init=False)

    async def close(self) -> None:
        await self.realtime.stop()
        await self.outbound.close()
        await self.generator.streams.close()
        await self.keys.flush()
        await self.accounts.sign_ins.flush()
        await self.views.flush()
        await self.error_log.flush()
        await self.limit_store.close()
        self.images.close()
        await self.database.close()


async def build(settings: Settings, now: clock.Clock = clock.now) -> Services:
    """Opens what the settings name. The database must have the current schema already."""
    installation = await open_installation(settings, now)
    keyring, database, outbound = installation.keyring, installation.database, installation.outbound
    served_secret.remember(settings, keyring)
    deliveries_queued = asyncio.Event()
    commits = LocalCommits()
    deliveries = DeliveryQueue(database, tables)
    mail = Outbox(database, keyring, settings, now)
    comment_emails = CommentEmails(mail, CommentMailLinks(keyring), settings)
    records = installation.make_records(
        subscribers=(
            Subscriber(comment_emails, CommentEmails.events),
            Subscriber(Fanout(database, tables)),
        ),
        on_deliveries_queued=deliveries_queued.set,
        on_changes=commits.tell,
        async_validators={webhook_subscriptions.name: partial(check_url, outbound)},
    )
    mail.log = MemberMails(records, tables)
    signing_keys = SigningKeys(records, settings)
    throttle = LoginThrottle(database, now)
    versions = TenantVersions(database)
    directory = TenantDirectory(records, site_settings, versions)
    sites, objects = Sites(records, settings), installation.objects
    accounts = Accounts(records, keyring, throttle, versions)
    codes = SignInCodes(records, keyring, throttle)
    resets = PasswordResets(records, accounts, throttle, mail, sites)
    streams = OutboundStreams(allow=settings.outbound_allow, ca_file=settings.outbound_ca_file)
    limit_store = open_limit_store(settings.redis_url, database, settings.data_dir, now)
    windows = Windows(limit_store, now)
    generator = Generator(streams, Ledger(database, now), OpenStreams())
    callers = Callers(accounts)
    second_steps = SecondSteps(records, accounts, throttle)
    services = Services(
        settings=settings,
        database=database,
        objects=objects,
        images=installation.images,
        keyring=keyring,
        records=records,
        versions=versions,
        directory=directory,
        accounts=accounts,
        factors=Factors(records, mail, sites),
        throttle=throttle,
        keys=ApiKeys(records, directory, versions),
        limit_store=limit_store,
        presence=Presence(limit_store, now),
        idempotency=Idempotency(database, keyring, now),
        error_log=ErrorLog(database, now),
        outbound=outbound,
        generator=generator,
        deliveries=deliveries,
        retries=Retries(database, deliveries, now),
        deliveries_queued=deliveries_queued,
        sites=sites,
        mail=mail,
        signer=Signer(),
        signing_keys=signing_keys,
        mailings=mailing_services(
            records,
            tables,
            mail,
            Senders(records, sites, signing_keys, settings),
            outbound=outbound,
            keyring=keyring,
        ),
        email_changes=EmailChanges(records, mail, sites),
        codes=codes,
        links=MailedLinks(
            records,
            accounts,
            throttle,
            mail,
            sites=sites,
            codes=codes,
            details=Details(keyring),
        ),
        resets=resets,
        staff_codes=StaffCodes(accounts, codes, resets),
        privacy=build_privacy(records, objects, mail, sites, settings=settings),
        imports=ImportWork(),
        site_exports=SiteExports(records, objects, mail, sites, settings=settings),
        site_imports=SiteImports(records, objects, keyring, settings),
        checkouts=Checkouts(Processor(streams, settings.payment_api_url), windows),
        event_log=EventLog(database),
        callers=callers,
        staff=StaffSignIn(
            records=records,
            accounts=accounts,
            second_steps=second_steps,
            passkeys=PasskeySignIns(
                records, accounts, throttle, Challenges(keyring, throttle, now)
            ),
            directory=directory,
            callers=callers,
        ),
        single_sign_on=build_single_sign_on(
            records, accounts, throttle, keyring=keyring, outbound=outbound
        ),
        form_tokens=FormTokens(keyring),
        limiter=RateLimiter(limit_store, settings.rate_limits, now),
        read_limit=ReadLimit(windows),
        near_lookups=Lookups(per_second=5),
        windows=windows,
        ai_budgets=Budgets(
            limit_store,
            generator.ledger,
            longest_call_seconds=generator.timeouts.longest_call,
            now=now,
        ),
        payment_inbox=Inbox(database),
        discussions=Discussions(records, windows),
        posted_comments=PostedComments(keyring, now),
        themes=Themes(settings.themes_dir),
        accents=AccentStyles(keyring),
        changes=ChangeLog(database, now),
        guest_answers=AnswerCache(versions, now, counts=CACHES["records"]),
        views=ViewCounts(ViewStore(database, now), settings.base_domain, now),
        statistics=Statistics(records),
    )
    services.realtime = Hub(services, services.changes)
    commits.listener = services.realtime.note_changes
    return services


class LocalCommits:
    """Tells of this process's own changes once there is somebody to tell: the engine is built
    before."""

    listener: ChangeListener | None = None

    def tell(self, tenant_id: TenantId, changes: Sequence[LocalChange]) -> None:
        if self.listener is not None:
            self.listener(tenant_id, changes)


async def bring_up_to_date(settings: Settings) -> str:
    """Migrates the database; returns its revision."""
    settings.data_dir.mkdir(parents=True, exist_ok=True)
    return await migrate(settings.database_url)
