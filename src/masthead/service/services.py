"""The shared components of a process, built from the settings: those of `web`, of the capabilities
and of the faces. No module of the package opens a connection or a file at import."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from masthead.base import clock
from masthead.base.config import served_secret
from masthead.base.config.settings import Settings
from masthead.base.ids import TenantId
from masthead.engine.records.engine import ChangeListener, Subscriber
from masthead.engine.records.write.unit_changes import LocalChange
from masthead.faces.services import FaceServices, build_faces
from masthead.features.comments.emails import CommentEmails
from masthead.features.comments.mail_links import CommentMailLinks
from masthead.features.services import build_features
from masthead.features.site.collection import site_settings
from masthead.features.webhooks.actions import check_url
from masthead.features.webhooks.collection import webhook_subscriptions
from masthead.features.webhooks.fanout import Fanout
from masthead.features.webhooks.services import build_webhooks
from masthead.outside.mail.outbox import Outbox
from masthead.service.installation import open_installation
from masthead.service.schema import tables
from masthead.storage.migrate import migrate
from masthead.web.services import build_web

Services = FaceServices
"""For the worker and the commands, which use all of them."""


async def build(settings: Settings, now: clock.Clock = clock.now) -> Services:
    """Opens what the settings name. The database must have the current schema already."""
    installation = await open_installation(settings, now)
    keyring, database, outbound = installation.keyring, installation.database, installation.outbound
    served_secret.remember(settings, keyring)
    webhooks = build_webhooks(database, tables, now)
    commits = LocalCommits()
    mail = Outbox(database, keyring, settings, now)
    comment_emails = CommentEmails(mail, CommentMailLinks(keyring), settings)
    records = installation.make_records(
        subscribers=(
            Subscriber(comment_emails, CommentEmails.events),
            Subscriber(Fanout(database, tables)),
        ),
        on_deliveries_queued=webhooks.queued.set,
        on_changes=commits.tell,
        async_validators={webhook_subscriptions.name: partial(check_url, outbound)},
    )
    web = build_web(
        settings,
        records,
        site_settings,
        objects=installation.objects,
        outbound=outbound,
        mail=mail,
        now=now,
    )
    features = build_features(web, tables, images=installation.images, webhooks=webhooks)
    services = build_faces(features)
    commits.listener = services.realtime.note_changes
    return services


class LocalCommits:
    """Reports this process's own changes as soon as there is a listener: the engine is
    built before."""

    listener: ChangeListener | None = None

    def tell(self, tenant_id: TenantId, changes: Sequence[LocalChange]) -> None:
        if self.listener is not None:
            self.listener(tenant_id, changes)


async def bring_up_to_date(settings: Settings) -> str:
    """Migrates the database; returns its revision."""
    settings.data_dir.mkdir(parents=True, exist_ok=True)
    return await migrate(settings.database_url)
