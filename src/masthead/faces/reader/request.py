"""One request to the reader's site: whose site, for whom, and what it asks for."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Unpack
from urllib.parse import parse_qs
from zoneinfo import ZoneInfo

import msgspec
from msgspec.structs import asdict, replace

from masthead.base import clock
from masthead.base.caller import (
    GUEST_READER,
    STAFF_READER,
    Audience,
    Caller,
    Kind,
    Reader,
    guest,
    site,
)
from masthead.base.errors import BadRequest, NotFound
from masthead.base.ids import TenantId
from masthead.base.languages.formats import Numeral
from masthead.base.languages.words import words
from masthead.content.texts.languages import edition_of, editions_of, root_of
from masthead.engine.records.collection import Collection, Record
from masthead.engine.records.engine import Records
from masthead.engine.records.read.record_reader import FirstOf
from masthead.engine.records.versions import Versions
from masthead.faces.reader.accent_style import AccentStyles
from masthead.faces.reader.posted_comments import PostedComments
from masthead.faces.reader.themes import Themes
from masthead.faces.reader.views import Site
from masthead.features.members.collection import blog_members, reader_of_member
from masthead.features.members.record_view import MemberRecord, as_member
from masthead.features.services import FeatureServices
from masthead.features.site.collection import site_settings
from masthead.features.site.record_view import SettingsRecord, as_settings
from masthead.identity.directory import Tenant
from masthead.identity.limits.lookups import Lookups
from masthead.identity.sign_ins import Client
from masthead.web.request import Request

MAX_QUERY_BYTES = 2_000
MAX_QUERY_FIELDS = 50


class ReaderServices(FeatureServices, kw_only=True, eq=False):
    themes: Themes
    accents: AccentStyles
    posted_comments: PostedComments
    near_lookups: Lookups
    """Look-ups of posts near an address that leads nowhere."""


def build_reader(features: FeatureServices) -> ReaderServices:
    keyring = features.keyring
    return ReaderServices(
        **asdict(features),
        themes=Themes(features.settings.themes_dir),
        accents=AccentStyles(keyring),
        posted_comments=PostedComments(keyring, features.records.clock),
        near_lookups=Lookups(per_second=5),
    )


class Visit(msgspec.Struct, frozen=True):
    """Who asks for a page."""

    caller: Caller
    reader: Reader = GUEST_READER
    member: MemberRecord | None = None
    member_sign_in: str = ""

    @property
    def audience(self) -> Audience:
        return self.reader.audience

    @property
    def is_signed_in(self) -> bool:
        return self.caller.kind is not Kind.GUEST

    @property
    def staff_id(self) -> str:
        return self.caller.id if self.audience is Audience.STAFF else ""


class SiteRequest(msgspec.Struct, dict=True):
    services: ReaderServices
    tenant: Tenant
    caller: Caller
    """The reader's site itself, for the reader: see `SiteRules`."""
    address: str
    """The client's."""
    path: str
    """With `language_root`."""
    query_string: bytes
    query: dict[str, str]
    """The query; for a cached page, only the parameters that it is cached by."""
    site_record: SettingsRecord
    tenant_record: Record
    member: MemberRecord | None = None
    """The member who is signed in. Only forms and personal pages have one: others are cached for
    all readers alike. The same holds for the two below."""
    staff_id: str = ""
    """The account of the staff who is signed in."""
    posted: frozenset[str] = frozenset()
    """The comments that the reader's browser has posted just now."""
    member_sign_in: str = ""
    """Which sign-in of the member it is."""
    client: Client = msgspec.field(default_factory=Client)
    is_https: bool = False
    language_root: str = ""
    """The beginning of the path, if it looks like a language."""
    is_preview: bool = False
    frame_origins: set[str] = msgspec.field(default_factory=set)
    """The sites whose frames the page has. Its policy names them."""
    made_site: Site | None = None
    """For `site_of`."""

    @property
    def sent_query(self) -> dict[str, str]:
        """All of it, for what is not cached: where an old address leads to."""
        return read_query(self.query_string)

    @property
    def records(self) -> Records:
        return self.services.records

    async def first(
        self, collection: Collection, most: int, **wanted: Unpack[FirstOf]
    ) -> list[Record]:
        """The first records of a list that the caller may see."""
        return await self.records.first(self.caller, collection, most, **wanted)

    @property
    def tenant_id(self) -> TenantId:
        return self.tenant.id

    @property
    def audience(self) -> Audience:
        return self.caller.audience

    @property
    def reader(self) -> Reader:
        return self.caller.reader

    @cached_property
    def time_zone(self) -> ZoneInfo:
        return ZoneInfo(self.site_record["time_zone"] or "UTC")

    @cached_property
    def editions(self) -> dict[str, str]:
        """The site's languages: see `content/texts/languages.py`."""
        return editions_of(self.site_record)

    @property
    def edition(self) -> str:
        """Which of them the address is in."""
        return self.language_root[1:]

    @property
    def is_in_no_language(self) -> bool:
        """The address begins like a language that the site does not have."""
        return self.edition not in self.editions

    @property
    def own_path(self) -> str:
        return self.path if self.is_in_no_language else self.path[len(self.language_root) :]

    @cached_property
    def spoken_edition(self) -> str:
        """That of the address, or of a member on their own pages."""
        if self.is_in_no_language:
            return ""
        if not self.edition and self.member is not None:
            return edition_of(self.member["language"], self.site_record)
        return self.edition

    @property
    def root(self) -> str:
        """The beginning of the addresses on the page, without a slash at the end."""
        return root_of(self.spoken_edition)

    @property
    def language(self) -> str:
        """A BCP 47 tag."""
        return self.editions[self.spoken_edition]

    @property
    def now(self) -> str:
        return clock.to_text(self.records.clock())


async def open_request(
    services: ReaderServices,
    tenant: Tenant,
    reader: Reader,
    request: Request,
    *,
    visit: Visit | None = None,
    posted: frozenset[str] = frozenset(),
    query: dict[str, str] | None = None,
    versions: Versions | None = None,
) -> SiteRequest:
    """`visit` is given for forms and personal pages only, `query` for all others, `versions` if
    the caller has read them."""
    versions = versions or await services.versions.of(tenant.id)
    stored = await services.directory.site_records(tenant.id, versions.identity)
    if stored is None:
        raise NotFound
    caller = site(tenant.id, reader)
    return SiteRequest(
        services,
        tenant,
        caller,
        request.address,
        request.path,
        request.query_string,
        read_query(request.query_string) if query is None else query,
        as_settings(stored.settings or _no_settings()),
        stored.tenant,
        visit.member if visit else None,
        visit.staff_id if visit else "",
        posted,
        visit.member_sign_in if visit else "",
        request.client,
        request.is_https,
        request.language_root,
    )


def _no_settings() -> Record:
    return {each.name: each.default_value() for each in site_settings.fields}


async def visit_of(services: ReaderServices, request: Request, tenant_id: TenantId) -> Visit:
    """The tier is read for every request, because access to paid posts ends with the payment."""
    caller = await services.callers.of(request)
    if caller.kind is Kind.GUEST or caller.tenant_id != tenant_id:
        return Visit(guest(tenant_id))
    if caller.kind is not Kind.MEMBER:
        return Visit(caller, STAFF_READER)
    member = await _member(services, caller, tenant_id)
    if member is None:
        return Visit(guest(tenant_id))
    return Visit(caller, reader_of_member(member), member, caller.sign_in)


async def personal_visit(services: ReaderServices, request: Request, tenant_id: TenantId) -> Visit:
    """The same, and the member that staff is signed in as, too."""
    visit = await visit_of(services, request, tenant_id)
    if visit.audience is not Audience.STAFF:
        return visit
    # A browser may be signed in as staff and as a member.
    caller = await services.callers.member_of(request)
    if caller.kind is not Kind.MEMBER or caller.tenant_id != tenant_id:
        return visit
    member = await _member(services, caller, tenant_id)
    return replace(visit, member=member, member_sign_in=caller.sign_in)


async def _member(
    services: ReaderServices, caller: Caller, tenant_id: TenantId
) -> MemberRecord | None:
    found = await services.records.find_one(blog_members, {"id": caller.id}, tenant_id=tenant_id)
    return as_member(found) if found else None


def read_query(raw: bytes, names: Sequence[str] | None = None) -> dict[str, str]:
    """The last value of each name, or of the given ones, in their order."""
    if not raw:
        return {}
    if len(raw) > MAX_QUERY_BYTES:
        raise BadRequest(
            words(
                "The address has over %(number)s bytes after its question mark.",
                number=Numeral(MAX_QUERY_BYTES),
            )
        )
    try:
        found = parse_qs(raw.decode("latin-1"), errors="replace", max_num_fields=MAX_QUERY_FIELDS)
    except ValueError as error:
        raise BadRequest(
            words(
                "The address has over %(number)s values after its question mark.",
                number=MAX_QUERY_FIELDS,
            )
        ) from error
    return {name: found[name][-1] for name in (found if names is None else names) if name in found}
