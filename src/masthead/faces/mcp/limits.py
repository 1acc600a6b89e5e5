"""How often an assistant may ask for anything but a call: it begins a session, lists the tools. A
call counts in the public API, towards the limit of the plan."""

from __future__ import annotations

from typing import Final

import msgspec

from masthead.identity.key_authentication import ApiKey
from masthead.identity.limits.networks import network_of
from masthead.identity.limits.sliding_window import Limits
from masthead.identity.limits.windows import Allowance, Windows

_REFUSAL: Final = (
    "The assistant starts or lists the tools too often: at most 120 such messages a minute with a "
    "key, and 300 from an address. Wait a minute."
)
OF_KEY: Final = Allowance("mcp/key", Limits(per_minute=120), _REFUSAL)
OF_ADDRESS: Final = Allowance("mcp/address", Limits(per_minute=300), _REFUSAL)
_CALL: Final = "tools/call"


class _Message(msgspec.Struct):
    method: str = ""


async def admit(windows: Windows, key: ApiKey, address: str, body: bytes) -> None:
    """Counts a message that is no call, or raises RateLimited."""
    if not _is_call(body):
        await windows.take(key.tenant.id, OF_KEY.of(key.id), OF_ADDRESS.of(network_of(address)))


def _is_call(body: bytes) -> bool:
    try:
        return msgspec.json.decode(body, type=_Message).method == _CALL
    # Also what is no UTF-8, which is no `DecodeError`.
    except (ValueError, RecursionError):
        return False
