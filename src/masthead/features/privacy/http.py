"""`/api/gdpr/*`: requests for exports and deletions, and the links in the emails.

Mail scanners open every link, so a GET changes nothing: it shows a button, which posts. Cancelling
is the exception: a GET that does not accept HTML cancels.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any
from urllib.parse import parse_qs

import msgspec

from masthead.base import clock
from masthead.base.caller import Caller
from masthead.base.config.values import GdprHeaderAuth
from masthead.base.errors import BadRequest, MastheadError, Unauthenticated
from masthead.base.ids import TenantId
from masthead.base.languages.moments import Day
from masthead.base.languages.words import words
from masthead.engine.records.collection import Record
from masthead.features.privacy import description, validation
from masthead.features.privacy.description import PrivacyRequest
from masthead.features.privacy.export import archive_key
from masthead.features.privacy.limits import admit
from masthead.features.privacy.links import PREFIX
from masthead.features.privacy.service import Privacy
from masthead.features.privacy.validation import DataRequest, DeletionRequest, Requester
from masthead.identity.directory import Tenant
from masthead.web import pages
from masthead.web.answers import Answer, Stream, json_answer
from masthead.web.asking_again import ProofTooOld
from masthead.web.bodies import SMALL_FORM_BYTES, SMALL_FORM_VALUES, decode_json_object, struct_of
from masthead.web.files import CACHE_PRIVATELY, serve_object
from masthead.web.pages import Page, page_answer, wants_html
from masthead.web.policy import Body, BodyKind, Limit, Origin, Policy, WhileSuspended, Who
from masthead.web.request import Request
from masthead.web.rows import READ, RouteRow
from masthead.web.services import RoomServices

MAX_QUERY_BYTES = 2_000
AWAITING_CONFIRMATION = "awaiting_confirmation"

_NO_STORE = ((b"cache-control", b"no-store"), (b"referrer-policy", b"no-referrer"))


# While a site is suspended as well: a person may ask for their data.
BY_PERSON = Policy(
    who=Who.VISITOR,
    while_suspended=WhileSuspended.OPEN,
    origin=Origin.COOKIES,
    limit=Limit.DATA_REQUESTS,
    body=Body(BodyKind.JSON, SMALL_FORM_BYTES),
)
BY_LINK = Policy(
    who=Who.LINK,
    while_suspended=WhileSuspended.OPEN,
    body=Body(BodyKind.RAW, SMALL_FORM_BYTES),
)

Step = Callable[[str, str], Awaitable[Record]]
"""Takes a link's request id and token."""


async def export(services: RoomServices[Privacy], request: Request) -> Answer:
    session = await _session(services, request)
    body = validation.check_request(struct_of(DataRequest, await _body(request)))
    requester = await _requester(services, request, session, body)
    await _check(services, request, requester, body)
    asked, export = await services.own.exports.begin(requester, body)
    if export is None:
        return json_answer(202, _state(asked), _NO_STORE)
    token = export.token if requester.is_trusted else ""
    inline = export.inline if requester.is_trusted else None
    answer = description.Export(
        export.request["id"],
        export.request["status"],
        services.own.links.download(asked["id"], token),
        export.request["expires_at"],
        msgspec.UNSET if inline is None else msgspec.Raw(inline),
    )
    return json_answer(200, answer, _NO_STORE)


async def delete(services: RoomServices[Privacy], request: Request) -> Answer:
    session = await _session(services, request)
    body = validation.check_deletion(struct_of(DeletionRequest, await _body(request)))
    requester = await _requester(services, request, session, body)
    validation.check_slug(body, requester.tenant)
    await _check(services, request, requester, body)
    opened = await services.own.requests.open_deletion(requester, body)
    token = opened.cancel_token if requester.is_trusted else ""
    answer = description.Deletion(
        opened.request["id"],
        opened.request["status"],
        body.subject,
        opened.request["grace_until"],
        services.own.links.cancel(opened.request["id"], token),
    )
    return json_answer(202, answer, _NO_STORE)


async def _session(services: RoomServices[Privacy], request: Request) -> Caller | None:
    """The signed-in caller, on any host; the tenants are compared later. Refuses a caller who
    has neither a session nor an accepted header."""
    caller = await services.web.callers.anywhere(request)
    if caller.kind in validation.SESSIONS:
        # As the admin asks again: the answer has data, or the link to it.
        if caller.is_admin and not await services.web.accounts.sign_ins.is_proved(caller):
            raise ProofTooOld
        return caller
    accepts_header = services.web.settings.gdpr_header_auth is not GdprHeaderAuth.OFF
    if request.header(b"x-tenant-id") is None or not accepts_header:
        raise Unauthenticated(validation.NO_CREDENTIAL)
    return None


async def _requester(
    services: RoomServices[Privacy], request: Request, session: Caller | None, body: DataRequest
) -> Requester:
    tenant = await _tenant(services, request, session, body.tenant_id)
    if session is not None:
        validation.check_session(session, tenant, body)
    is_full = services.web.settings.gdpr_header_auth is GdprHeaderAuth.FULL
    return Requester(tenant, session, is_trusted=session is not None or is_full)


async def _tenant(
    services: RoomServices[Privacy], request: Request, session: Caller | None, named: str
) -> Tenant:
    """The body's `tenant_id` wins over the header; a session knows its own."""
    addressed = request.tenant
    if not named and addressed is not None:
        return addressed
    wanted = named or (session.tenant_id if session else None)
    found = await services.web.directory.by_id(TenantId(wanted)) if wanted else None
    if found is None:
        raise BadRequest("Name the site with `tenant_id` or the x-tenant-id header.")
    return found


async def _check(
    services: RoomServices[Privacy], request: Request, requester: Requester, body: DataRequest
) -> None:
    if body.subject == validation.MEMBER:
        await services.own.requests.member(requester.tenant.id, body.member_id)
    # Only accepted requests count. A gateway that sets the header (`full`) has its own limits.
    if requester.session or not requester.is_trusted:
        await admit(services.web.windows, requester.tenant.id, requester.session, request.address)


async def download(services: RoomServices[Privacy], request: Request) -> Stream:
    export = await services.own.requests.export_by_link(*_link(request))
    key = archive_key(export)
    ending = key.rpartition(".")[2]
    return Stream(
        lambda send: serve_object(
            request.scope,
            send,
            store=services.web.objects,
            key=key,
            filename=f"{export['subject']}-export-{export['created'][:10]}.{ending}",
            content_type=f"application/{ending}",
            download=True,
            cache_control=CACHE_PRIVATELY,
        )
    )


async def cancel(services: RoomServices[Privacy], request: Request) -> Answer:
    requests = services.own.requests
    # A program's GET cancels, which is harmless; a browser gets the button.
    if request.method == "POST" or not wants_html(request):
        return await _act(services, request, requests.cancel)
    return await _show(services, request, requests.deletion_by_cancel_link, is_cancel=True)


async def confirm(services: RoomServices[Privacy], request: Request) -> Answer:
    requests = services.own.requests
    if request.method == "POST":
        return await _act(services, request, requests.confirm)
    return await _show(services, request, requests.deletion_by_confirm_link, is_cancel=False)


async def _act(services: RoomServices[Privacy], request: Request, act: Step) -> Answer:
    if request.method == "POST":
        await request.body()

    async def answer() -> Answer:
        deletion = await act(*_link(request))
        if wants_html(request):
            return page_answer(request, await _page(services, deletion, has_button=False))
        return json_answer(200, _state(deletion), _NO_STORE)

    return await _or_error_page(request, answer)


async def _show(
    services: RoomServices[Privacy], request: Request, find: Step, *, is_cancel: bool
) -> Answer:
    """A page with a button, or the state as JSON; changes nothing."""

    async def answer() -> Answer:
        deletion = await find(*_link(request))
        is_waiting = not deletion["confirmed_at"]
        if wants_html(request):
            has_button = is_cancel or is_waiting
            page = await _page(services, deletion, has_button=has_button, is_cancel=is_cancel)
            return page_answer(request, page)
        status = AWAITING_CONFIRMATION if is_waiting else deletion["status"]
        return json_answer(200, PrivacyRequest(deletion["id"], status), _NO_STORE)

    return await _or_error_page(request, answer)


async def _page(
    services: RoomServices[Privacy], deletion: Record, *, has_button: bool, is_cancel: bool = False
) -> Page:
    site = await services.own.requests.site(TenantId(deletion["tenant_id"]))
    title, text, button = _page_texts(
        deletion, site.name, has_button=has_button, is_cancel=is_cancel
    )
    return Page(
        deletion["status"],
        title,
        (text,),
        button=button,
        site_name=site.name,
        site_url=site.url,
        language=site.language,
    )


async def _or_error_page(request: Request, answer: Callable[[], Awaitable[Answer]]) -> Answer:
    """A browser gets errors as a page."""
    try:
        return await answer()
    except MastheadError as error:
        if not wants_html(request):
            raise
        request.error = error
        return await pages.error_answer(request, error)


def _page_texts(
    request: Record, site: str, *, has_button: bool, is_cancel: bool
) -> tuple[str, str, str]:
    """Title, sentence and button of a page."""
    is_site = request["subject"] == validation.TENANT
    if has_button and is_cancel:
        text = words("A deletion of %(site)s was requested. You can cancel it.", site=site)
        if not is_site:
            text = words(
                "A deletion of your data at %(site)s was requested. You can cancel it.", site=site
            )
        return words("Cancel the deletion?"), text, words("Cancel the deletion")
    if has_button:
        text = words(
            "30 days after you confirm it, the deletion of %(site)s can't be undone.", site=site
        )
        if not is_site:
            text = words(
                "30 days after you confirm it, the deletion of your data at %(site)s can't be "
                "undone.",
                site=site,
            )
        return words("Delete for good?"), text, words("Confirm the deletion")
    if request["status"] == "cancelled":
        text = words("Nothing of %(site)s will be deleted.", site=site)
        if not is_site:
            text = words("Nothing of your data at %(site)s will be deleted.", site=site)
        return words("The deletion is cancelled"), text, ""
    values = {"site": site, "date": Day(clock.from_text(request["grace_until"]))}
    text = words(
        "The deletion of %(site)s happens after %(date)s. The email has a link to cancel it.",
        **values,
    )
    if not is_site:
        text = words(
            "The deletion of your data at %(site)s happens after %(date)s. The email has a link to "
            "cancel it.",
            **values,
        )
    return words("The deletion is confirmed"), text, ""


async def _body(request: Request) -> dict[str, Any]:
    raw = await request.body()
    return decode_json_object(raw, max_values=SMALL_FORM_VALUES)


def _link(request: Request) -> tuple[str, str]:
    query = request.query_string
    values = parse_qs(query.decode("latin-1")) if len(query) <= MAX_QUERY_BYTES else {}
    tokens = values.get("token", [])
    return request.path_parameters["id"], tokens[0] if len(tokens) == 1 else ""


def _state(request: Record) -> PrivacyRequest:
    return PrivacyRequest(request["id"], request["status"])


_DELETION = f"{PREFIX}/delete/{{id}}"
ROWS = (
    RouteRow("POST", f"{PREFIX}/export", export, BY_PERSON, description.EXPORT),
    RouteRow(READ, f"{PREFIX}/export/{{id}}", download, BY_LINK, description.DOWNLOAD),
    RouteRow("POST", f"{PREFIX}/delete", delete, BY_PERSON, description.DELETE),
    RouteRow("GET", f"{_DELETION}/cancel", cancel, BY_LINK, description.CANCEL),
    RouteRow("POST", f"{_DELETION}/cancel", cancel, BY_LINK, description.CANCEL_BY_FORM),
    RouteRow("GET", f"{_DELETION}/confirm", confirm, BY_LINK, description.SHOW),
    RouteRow("POST", f"{_DELETION}/confirm", confirm, BY_LINK, description.CONFIRM),
)
