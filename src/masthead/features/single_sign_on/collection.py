"""The OpenID Connect providers of a site, and which of their people are which of its accounts."""

from __future__ import annotations

import re
from enum import StrEnum
from typing import Any

from masthead.base.languages.words import staff_words
from masthead.engine.records.collection import Collection, Index, Record
from masthead.engine.records.fields.base import Access, refuse
from masthead.engine.records.fields.documents import TextList
from masthead.engine.records.fields.relation import OnDelete, Relation
from masthead.engine.records.fields.secrets import Secret
from masthead.engine.records.fields.text import Slug, Text
from masthead.engine.records.fields.values import Flag, Select
from masthead.features.members.collection import blog_members
from masthead.identity.tenants import Role, superusers
from masthead.outside.outbound.errors import OutboundError
from masthead.outside.outbound.targets import WEBHOOKS, parse_url

STAFF, MEMBERS, BOTH = "staff", "members", "both"
NO_ROLE = "none"
GIVEN_ROLES = (Role.EDITOR.value, Role.AUTHOR.value, Role.CONTRIBUTOR.value)
"""That a provider can give, the highest first. It never makes an owner."""
MAX_SUBJECT = 255

_DOMAIN = re.compile(r"(?=.{1,253}\Z)[^\s@/:.]+(?:\.[^\s@/:.]+)+\Z")
_CLAIM = re.compile(r"[\x21-\x7e]+")
_SCOPES = re.compile(r"[\x21\x23-\x5b\x5d-\x7e]+(?: [\x21\x23-\x5b\x5d-\x7e]+)*")


class SecondStep(StrEnum):
    """Who asks for the second factor of an account that has one."""

    MASTHEAD = "masthead"
    CLAIM = "claim"
    """The provider, if its `amr` claim says that it has."""
    PROVIDER = "provider"


class Issuer(Text, frozen=True, kw_only=True):
    """Exactly as the provider writes it, since it is compared with what the provider signs."""

    max: int = 255

    def parse(self, value: Any) -> str:
        issuer = super().parse(value)
        try:
            url = parse_url(issuer, WEBHOOKS)
        except OutboundError as error:
            raise refuse("validation_invalid_url", error.message) from None
        if url.raw_query_string or url.raw_fragment or "?" in issuer or "#" in issuer:
            raise refuse(
                "validation_invalid_url", staff_words("Must have neither a query nor a fragment.")
            )
        return issuer


class RoleLines(TextList, frozen=True, kw_only=True):
    """Each item is `value = role`: who has this value of the claim gets this role."""

    max_length: int = 200

    def parse(self, value: Any) -> list[str]:
        return [self._line(each) for each in super().parse(value)]

    def _line(self, line: str) -> str:
        claimed, _, role = (each.strip() for each in line.rpartition("="))
        if not claimed or role not in GIVEN_ROLES:
            raise refuse(
                "validation_invalid_format",
                staff_words(
                    "Each line must be a value, an equals sign and a role (%(roles)s), such as "
                    "newsroom = editor.",
                    roles=", ".join(GIVEN_ROLES),
                ),
            )
        return f"{claimed} = {role}"


class Domains(TextList, frozen=True, kw_only=True):
    max_length: int = 253

    def parse(self, value: Any) -> list[str]:
        domains = [each.lower() for each in super().parse(value)]
        if not all(_DOMAIN.match(each) for each in domains):
            raise refuse(
                "validation_invalid_format",
                staff_words("Each must be a domain such as example.com."),
            )
        return list(dict.fromkeys(domains))


sign_in_providers = Collection(
    "sign_in_providers",
    (
        Text(name="name", required=True, max=60, help="On the button to sign in."),
        Slug(
            name="slug",
            source="name",
            max=63,
            pattern=re.compile(r"[a-z0-9-]{1,63}"),
            allowed=staff_words("May hold a-z, 0-9 and hyphens."),
            immutable=True,
            help="In the callback address, which therefore stays the same.",
        ),
        Issuer(
            name="issuer",
            required=True,
            immutable=True,
            help="The issuer, exactly as the provider writes it.",
        ),
        Text(name="client_id", required=True, max=255, help="The client ID of this site there."),
        Secret(name="client_secret", max=2_000, help="Empty for a public client."),
        Text(
            name="extra_scopes",
            max=255,
            pattern=_SCOPES,
            allowed=staff_words("Must be names of scopes with single blanks between them."),
            help="Scopes to request besides `openid email profile`.",
        ),
        Select(
            name="used_by",
            values=(STAFF, MEMBERS, BOTH),
            default=STAFF,
            help="Who can sign in with it.",
        ),
        Domains(
            name="domains",
            max_items=50,
            help="Only people with an email address of these domains can sign in. Empty: all.",
        ),
        Flag(
            name="creates_accounts",
            help="New people get an account when they first sign in.",
        ),
        Text(
            name="role_claim",
            max=255,
            pattern=_CLAIM,
            allowed=staff_words(
                "Must be the name of a claim, such as groups or realm_access.roles."
            ),
            help="The claim that decides about roles. Empty: the role of an account stays.",
        ),
        RoleLines(
            name="roles",
            max_items=50,
            help="Roles by the values of that claim, such as `newsroom = editor`.",
        ),
        Select(
            name="default_role",
            values=(NO_ROLE, *GIVEN_ROLES),
            default=NO_ROLE,
            help="For staff without any of these values. `none`: they can't sign in.",
        ),
        Select(
            name="second_step",
            values=tuple(SecondStep),
            default=SecondStep.MASTHEAD,
            help="Who asks for the second factor of an account that has one: `masthead`; "
            "`claim`, the provider if its `amr` claim says so; `provider`, always the provider.",
        ),
        Flag(name="enabled", default=True, help="Whether people can sign in with it now."),
    ),
    audited="name",
    help="OpenID Connect providers that people can sign in with.",
    made_by="the admin",
    called=staff_words("sign-in providers"),
)

sign_in_links = Collection(
    "sign_in_links",
    (
        Relation(
            name="provider_id",
            to=sign_in_providers.name,
            required=True,
            on_delete=OnDelete.CASCADE,
            write=Access.ENGINE,
        ),
        Select(name="used_by", values=(STAFF, MEMBERS), default=STAFF, write=Access.ENGINE),
        Text(
            name="subject",
            max=MAX_SUBJECT,
            personal=True,
            write=Access.ENGINE,
            help="The provider's name for the person: the claim `sub`.",
        ),
        Relation(
            name="staff_id", to=superusers.name, on_delete=OnDelete.CASCADE, write=Access.ENGINE
        ),
        Relation(
            name="member_id", to=blog_members.name, on_delete=OnDelete.CASCADE, write=Access.ENGINE
        ),
    ),
    help="Which person of a sign-in provider is which account or member.",
    made_by="a sign-in with a provider",
    indexes=(Index(("provider_id", "used_by", "subject"), unique=True),),
)


def serves(provider: Record, audience: str) -> bool:
    return bool(provider["enabled"]) and provider["used_by"] in (audience, BOTH)
