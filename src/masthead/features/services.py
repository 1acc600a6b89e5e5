"""The services of all capabilities, built on those of `web`."""

from __future__ import annotations

from msgspec.structs import asdict

from masthead.features.ai.services import AiServices, build_ai
from masthead.features.comments.discussion import Discussions
from masthead.features.factors.enrolment import Factors
from masthead.features.mailings.services import MailingServices, build_mailings
from masthead.features.media.access import FileServices
from masthead.features.media.images import ImagePool
from masthead.features.members.mail_log import MemberMails
from masthead.features.members.services import MemberServices, build_members
from masthead.features.password_reset.services import PasswordServices, build_passwords
from masthead.features.payments.services import PaymentServices, build_payments
from masthead.features.posts.related import RelatedPosts
from masthead.features.privacy.requests import erase_now
from masthead.features.privacy.service import Privacy, build_privacy
from masthead.features.single_sign_on.services import SingleSignOn, build_single_sign_on
from masthead.features.site.address import Sites
from masthead.features.statistics.counting import ViewCounts
from masthead.features.statistics.reading import Statistics
from masthead.features.statistics.storing import ViewStore
from masthead.features.webhooks.services import WebhookServices
from masthead.storage.metadata import Tables
from masthead.web.services import WebServices


class FeatureServices(FileServices, kw_only=True, eq=False):
    sites: Sites
    discussions: Discussions
    members: MemberServices
    mailings: MailingServices
    factors: Factors
    passwords: PasswordServices
    single_sign_on: SingleSignOn
    payments: PaymentServices
    webhooks: WebhookServices
    privacy: Privacy
    ai: AiServices
    views: ViewCounts
    statistics: Statistics
    related: RelatedPosts

    async def close(self) -> None:
        self.images.close()
        await self.views.flush()
        await super().close()


def build_features(
    web: WebServices,
    tables: Tables,
    *,
    images: ImagePool,
    webhooks: WebhookServices,
) -> FeatureServices:
    records, settings = web.records, web.settings
    sites = Sites(records, settings)
    web.mail.log = MemberMails(records, tables)
    return FeatureServices(
        **asdict(web),
        images=images,
        sites=sites,
        discussions=Discussions(records, web.windows),
        members=build_members(web, sites, erase_now),
        mailings=build_mailings(web, tables, sites),
        factors=Factors(records, web.mail, sites),
        passwords=build_passwords(web, sites),
        single_sign_on=build_single_sign_on(web),
        payments=build_payments(web),
        webhooks=webhooks,
        privacy=build_privacy(web, sites),
        ai=build_ai(web),
        views=ViewCounts(
            ViewStore(web.database, records.clock), settings.base_domain, records.clock
        ),
        statistics=Statistics(records),
        related=RelatedPosts(records),
    )
