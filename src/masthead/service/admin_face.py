"""The admin on the shared components. `app.py` imports it after the start, see `LazyFace`."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from masthead.base.errors import MastheadError
from masthead.faces.admin.endpoint import AdminPages
from masthead.faces.admin.environment import AdminTemplates
from masthead.faces.admin.job_queue import QueueState
from masthead.faces.admin.request import AdminTools
from masthead.faces.admin.routes import admin_routes
from masthead.faces.reader.endpoint import SitePages
from masthead.faces.reader.preview import Previews
from masthead.features.password_reset.invitations import Invitations
from masthead.features.payments.reconcile import Reports
from masthead.features.privacy.requests import ERASE_JOB
from masthead.features.site.domain_proof import DomainProofs
from masthead.features.site.mail_trial import TestMails
from masthead.outside.outbound.name_server import NameServer
from masthead.service.background import job_handlers, sending_domains_of
from masthead.service.services import Services
from masthead.web.answers import Answer, Stream
from masthead.web.assets import Assets, assets_routes
from masthead.web.dispatch import Dispatch, Route
from masthead.web.policy import Origin
from masthead.web.request import Request


class AdminFace:
    """`assets` are those of the site, ours as we ship them first. `elsewhere` answers what has no
    route."""

    def __init__(
        self, services: Services, site: SitePages, assets: Sequence[Assets], elsewhere: Route
    ) -> None:
        self._pages = pages = AdminPages(services, _tools(services, site, assets[0]))
        own = self._pages.tools.templates.assets
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


def _tools(services: Services, site: SitePages, shared: Assets) -> AdminTools:
    settings, records = services.settings, services.records
    return AdminTools(
        templates=AdminTemplates(shared),
        invitations=Invitations(
            records, services.accounts, services.throttle, services.mail, services.sites
        ),
        domains=DomainProofs(
            records, services.keyring, NameServer(settings.dns_server), services.windows
        ),
        sending=sending_domains_of(services),
        test_mails=TestMails(
            records, services.mail, services.sites, services.windows, keyring=services.keyring
        ),
        payment_reports=Reports(services.database),
        previews=Previews(site.services),
        queue=QueueState(
            services.database,
            tuple(job_handlers(services)),
            records.clock,
            # A person has asked for it.
            never_discarded=(ERASE_JOB,),
        ),
    )
