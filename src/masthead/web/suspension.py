"""What a suspended site answers: at its own addresses nothing but 403, except where a face decides
by itself.

403 and not 503: a shared cache in front may show its stored page instead of a 503.
"""

from __future__ import annotations

from collections.abc import Iterable

from masthead.errors import SiteSuspended
from masthead.identity.directory import Tenant


class OpenWhileSuspended:
    """Closed unless named: `paths` are those that a suspended site answers, each with all below
    it."""

    def __init__(self, paths: Iterable[str]) -> None:
        self._exact = frozenset(paths)
        self._below = tuple(f"{each.removesuffix('/')}/" for each in self._exact)

    def check(self, path: str, tenant: Tenant | None) -> None:
        if tenant is None or not tenant.is_suspended:
            return
        if path not in self._exact and not path.startswith(self._below):
            raise SiteSuspended
