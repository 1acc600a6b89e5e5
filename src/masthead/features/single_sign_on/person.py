"""Whom a provider has signed in, and what its claims say of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from masthead.base.email_address import MAX_OCTETS, is_email, normal_email
from masthead.engine.records.collection import Record
from masthead.engine.records.fields.languages import language_tag_in
from masthead.features.single_sign_on.collection import GIVEN_ROLES, NO_ROLE, SecondStep

MAX_NAME = 255
_SECOND_FACTORS = frozenset({"mfa", "otp", "hwk"})
"""In the claim `amr` (RFC 8176)."""


class Person(msgspec.Struct, frozen=True):
    provider: Record
    subject: str
    claims: Mapping[str, Any]

    @property
    def email(self) -> str:
        """In its normal form; empty without a valid one."""
        given = self.claims.get("email")
        if not isinstance(given, str) or len(given) > MAX_OCTETS:
            return ""
        address = normal_email(given)
        return address if is_email(address) else ""

    @property
    def verified_email(self) -> str:
        """Empty unless the provider says that the address is the person's own. Microsoft says it in
        a claim of its own."""
        said = self.claims.get("email_verified", self.claims.get("xms_edov"))
        return self.email if said in (True, "true", "1") else ""

    @property
    def name(self) -> str:
        given = self.claims.get("name")
        if not isinstance(given, str):
            return ""
        printable = "".join(each for each in given if each.isprintable())
        return " ".join(printable.split())[:MAX_NAME]

    @property
    def language(self) -> str:
        """A BCP 47 tag; empty if the provider names none."""
        given = self.claims.get("locale")
        return language_tag_in(given) if isinstance(given, str) else ""

    @property
    def is_of_allowed_domain(self) -> bool:
        domains = self.provider["domains"]
        return not domains or self.verified_email.rpartition("@")[2] in domains

    @property
    def has_done_second_step(self) -> bool:
        """In the eyes of the site's owner."""
        trusted = self.provider["second_step"]
        if trusted == SecondStep.CLAIM:
            methods = self.claims.get("amr")
            return isinstance(methods, list) and any(
                each in _SECOND_FACTORS for each in methods if isinstance(each, str)
            )
        return bool(trusted == SecondStep.PROVIDER)

    @property
    def role(self) -> str:
        """The highest that the provider gives them; empty if it gives none."""
        held = claim_values(self.claims, self.provider["role_claim"])
        given = set()
        for line in self.provider["roles"]:
            value, _, role = line.rpartition(" = ")
            if value in held:
                given.add(role)
        default = self.provider["default_role"]
        fallback = "" if default == NO_ROLE else default
        return next((each for each in GIVEN_ROLES if each in given), fallback)


def claim_values(claims: Mapping[str, Any], name: str) -> set[str]:
    """The values of a claim, which has one or a list of them. A name with dots also leads into an
    object, such as `realm_access.roles`."""
    found: Any = claims.get(name)
    if found is None:
        found = claims
        for part in name.split("."):
            found = found.get(part) if isinstance(found, Mapping) else None
    values = found if isinstance(found, list) else [found]
    return {each for each in values if isinstance(each, str)}
