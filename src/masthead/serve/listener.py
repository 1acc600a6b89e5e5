"""The listening socket: opened once, shared by the server's processes, and closed without losing
a connection that the kernel has accepted on our behalf."""

from __future__ import annotations

import ctypes
import ipaddress
import socket
import struct
import sys

from masthead.errors import MastheadError

BACKLOG = 1_024
_SO_ATTACH_FILTER = 26
_DROP_EVERYTHING = struct.pack("HBBI", 0x06, 0, 0, 0)  # BPF: return 0 bytes of the packet
_WILDCARDS = ("0.0.0.0", "::", "")  # noqa: S104 - compared with, not listened on


class CannotListen(MastheadError):
    pass


def listen(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family, backlog=BACKLOG)
    except OSError as error:
        raise CannotListen(
            f"Can't listen on {host}:{port} ({error.strerror or error}). "
            "Choose another --host or --port."
        ) from error


def refuse_newcomers(listener: socket.socket) -> None:
    """From now on no connection is begun; those that wait to be accepted still can be.

    Closing at once would reset them although their clients have been told that they are connected.
    Only Linux can do it; elsewhere that moment's clients see a reset and try again.
    """
    if sys.platform != "linux":
        return
    instructions = ctypes.create_string_buffer(_DROP_EVERYTHING)
    program = struct.pack("HL", 1, ctypes.addressof(instructions))
    try:
        listener.setsockopt(socket.SOL_SOCKET, _SO_ATTACH_FILTER, program)
    except OSError:
        # A sandbox without BPF: as on other systems.
        return


def address_of(listener: socket.socket, scheme: str = "http") -> str:
    """`http://127.0.0.1:8000`, with the port that was really taken."""
    host, port = listener.getsockname()[:2]
    return _url(scheme, host, port)


def base_url_for(host: str, port: int, scheme: str = "http") -> str:
    """What links start with when the operator has not said: the name a browser here would use."""
    if host in _WILDCARDS or host == "localhost" or _is_loopback(host):
        return f"{scheme}://localhost:{port}"
    return _url(scheme, host, port)


def _url(scheme: str, host: str, port: int) -> str:
    return f"{scheme}://[{host}]:{port}" if ":" in host else f"{scheme}://{host}:{port}"


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
