"""Who may pass a collection's rule at all, before any record is looked at."""

from __future__ import annotations

from masthead.caller import Caller, Kind
from masthead.errors import Forbidden, Unauthenticated


def allow(caller: Caller, rule: str | None) -> None:
    """Locked means administrators only; anyone else learns which door they stand at."""
    if caller.is_admin or rule is not None:
        return
    if caller.kind is Kind.GUEST:
        raise Unauthenticated
    raise Forbidden("Only administrators can perform this action.")
