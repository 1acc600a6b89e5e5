"""Ends the connections of sessions that have ended, before they are told of a change."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from masthead.base.caller import Caller, Kind, guest, in_tenant
from masthead.base.ids import TenantId
from masthead.engine.records.change_log import ChangeLog, LogState
from masthead.faces.record_api.realtime.connection import Connection
from masthead.web.services import WebServices


class SessionCheck:
    def __init__(self, services: WebServices, changes: ChangeLog) -> None:
        self._services = services
        self._log = changes

    async def caller_of(self, token: str, tenant_id: TenantId | None) -> Caller:
        """A guest, if the session has ended."""
        found = await self._services.accounts.sessions.caller_of(token) if token else None
        return _at(found, tenant_id) if found else guest(tenant_id)

    async def run(
        self, connections: Iterable[Connection], states: Mapping[str, LogState] | None = None
    ) -> None:
        """`states` are those of their tenants and of the platform, if they are known."""
        connections = list(connections)
        if not connections:
            return
        if states is None:
            tenants = {each.tenant_id or TenantId("") for each in connections}
            states = await self._log.states([*tenants, TenantId("")])
        now = self._services.records.clock()
        for each in connections:
            # The platform's own tenant has the accounts of operators.
            identities = (_identity(states, each.tenant_id or ""), _identity(states, ""))
            if each.expires is not None and each.expires <= now:
                each.close()
            elif each.identities != identities:
                token = each.token
                await self._check(each)
                if each.token == token:
                    each.identities = identities

    async def _check(self, connection: Connection) -> None:
        if connection.token:
            caller = await self._services.accounts.sessions.caller_of(connection.token)
            if caller is None:
                connection.close()
                return
            connection.caller = _at(caller, connection.tenant_id)
        if connection.tenant_id and connection.caller.kind is not Kind.OPERATOR:
            tenant = await self._services.directory.by_id(connection.tenant_id)
            if tenant is None or tenant.is_suspended:
                connection.close()


def _identity(states: Mapping[str, LogState], tenant_id: str) -> int:
    state = states.get(tenant_id)
    return state.identity if state else 0


def _at(caller: Caller, tenant_id: TenantId | None) -> Caller:
    """Operators work in any site."""
    if caller.kind is Kind.OPERATOR and tenant_id:
        return in_tenant(caller, tenant_id)
    return caller
