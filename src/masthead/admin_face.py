"""The admin on the shared components. `app.py` imports it after the start, see `LazyFace`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from masthead.admin.endpoint import AdminPages
from masthead.admin.environment import AdminTemplates
from masthead.admin.request import AdminServices, Webhooks
from masthead.admin.routes import admin_routes
from masthead.background import job_handlers
from masthead.errors import MastheadError
from masthead.events.log import EventLog
from masthead.face_services import discussions, privacy_limit, rate_limiter
from masthead.jobs.queue_state import QueueState
from masthead.outbound.name_server import NameServer
from masthead.parts import Parts
from masthead.password_reset.invitations import Invitations
from masthead.payments.inbox import Inbox
from masthead.payments.reconcile import Reports
from masthead.privacy.requests import ERASE_JOB
from masthead.reader.preview import Previews
from masthead.reader.request import ReaderServices
from masthead.site.domain_proof import DomainProofs
from masthead.site.test_mail import TestMails
from masthead.web.answers import Answer, Stream
from masthead.web.assets import Assets, assets_routes
from masthead.web.dispatch import Dispatch, Route
from masthead.web.forms import FormTokens
from masthead.web.policy import Origin
from masthead.web.request import Request
from masthead.web.staff import StaffSignIn


class AdminFace:
    """`assets` are those of the site, ours as we ship them first. `elsewhere` answers what has no
    route."""

    def __init__(
        self,
        parts: Parts,
        staff: StaffSignIn,
        site: ReaderServices,
        assets: Sequence[Assets],
        elsewhere: Route,
    ) -> None:
        self._pages = pages = _pages(parts, staff, site, assets[0])
        own = self._pages.services.templates.assets
        self.routes = Dispatch(
            [
                *(_refusing(each, pages) for each in admin_routes(pages)),
                *assets_routes(own, *assets),
            ],
            fallback=elsewhere,
        )

    async def error_answer(self, request: Request, error: MastheadError) -> Answer | Stream:
        return await self._pages.error_answer(request, error)


def _refusing(route: Route, pages: AdminPages) -> Route:
    """A script is refused as an API is: it shows no page."""
    origins = {each.policy.origin for each in route.actions.values()}
    is_script = not origins.isdisjoint({Origin.PAGE, Origin.SCRIPT})
    return route if is_script else replace(route, error_answer=pages.refuse)


def _pages(parts: Parts, staff: StaffSignIn, site: ReaderServices, shared: Assets) -> AdminPages:
    return AdminPages(
        AdminServices(
            records=parts.records,
            accounts=parts.accounts,
            resets=parts.resets,
            invitations=Invitations(
                parts.records, parts.accounts, parts.throttle, parts.mail, parts.sites
            ),
            discussions=discussions(parts),
            directory=parts.directory,
            settings=parts.settings,
            keyring=parts.keyring,
            staff=staff,
            form_tokens=FormTokens(parts.keyring),
            templates=AdminTemplates(shared),
            domains=DomainProofs(
                parts.records,
                parts.keyring,
                NameServer(parts.settings.dns_server),
                parts.limit_store,
            ),
            limiter=rate_limiter(parts),
            ai_ledger=parts.generator.ledger,
            mail=parts.mail,
            test_mails=TestMails(
                parts.records, parts.mail, parts.sites, parts.limit_store, parts.keyring
            ),
            payments=Inbox(parts.database),
            payment_reports=Reports(parts.database),
            previews=Previews(site),
            queue=QueueState(
                parts.database,
                tuple(job_handlers(parts)),
                parts.records.clock,
                # A person has asked for it.
                never_discarded=(ERASE_JOB,),
            ),
            error_log=parts.error_log,
            objects=parts.objects,
            images=parts.images,
            webhooks=Webhooks(
                outbound=parts.outbound,
                log=parts.deliveries.log,
                retries=parts.retries,
                events=EventLog(parts.database),
            ),
            privacy=parts.privacy,
            privacy_limit=privacy_limit(parts),
            site_exports=parts.site_exports,
        )
    )
