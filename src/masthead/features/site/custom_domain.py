"""The field of a tenant's own domain, which must lie outside the platform's domain."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from masthead.base.languages.words import staff_words
from masthead.engine.records.fields.base import Field, refuse
from masthead.engine.records.fields.text import Text
from masthead.engine.records.registry import Registry
from masthead.identity.hosts import BadHost, is_address, parse_host


class CustomDomain(Text, frozen=True, kw_only=True):
    """Stored in lower case and without a trailing dot, as hosts are compared."""

    max: int = 253
    base_domain: str = ""
    """The platform's own, whose subdomains are tenants' slugs."""

    def parse(self, value: Any) -> str:
        text = super().parse(value).strip()
        return self._domain(text) if text else ""

    def _domain(self, text: str) -> str:
        try:
            host = parse_host(text)
        except BadHost:
            raise _bad(staff_words("Must be a domain name such as blog.example.com.")) from None
        if host.port is not None or "." not in host.name or is_address(host.name):
            raise _bad(staff_words("Must be a domain name such as blog.example.com."))
        if host.name == self.base_domain or host.name.endswith(f".{self.base_domain}"):
            raise _bad(
                staff_words(
                    "Names under %(domain)s belong to the platform.", domain=self.base_domain
                )
            )
        return host.name


def with_base_domain(registry: Registry, base_domain: str) -> Registry:
    """The same collections, in which a site's own domain must lie outside the platform's."""

    def bound(field: Field) -> Field:
        if isinstance(field, CustomDomain):
            return replace(field, base_domain=base_domain)
        return field

    return registry.with_fields_bound("site_settings", bound)


def _bad(message: str) -> Exception:
    return refuse("validation_invalid_format", message)
