"""The listening sockets, which the server's processes share. Closing them loses no connection that
the kernel has accepted."""

from __future__ import annotations

import ctypes
import errno
import ipaddress
import os
import socket
import struct
import sys

from masthead.base.errors import MastheadError

BACKLOG = 1_024
_SO_ATTACH_FILTER = 26
_DROP_EVERYTHING = struct.pack("HBBI", 0x06, 0, 0, 0)  # BPF: return 0 bytes of the packet
_WILDCARDS = ("0.0.0.0", "::", "")  # noqa: S104 - compared with, not listened on


class CannotListen(MastheadError):
    pass


def listen(*hosts: str, port: int) -> list[socket.socket]:
    """A socket for each host, all on one port; the first chooses it when it is 0."""
    opened: list[socket.socket] = []
    try:
        for host in hosts:
            opened.append(_opened(host, port, takes_ipv4=not any(map(_is_ipv4, hosts))))
            port = opened[0].getsockname()[1]
    except CannotListen:
        for each in opened:
            each.close()
        raise
    return opened


def _opened(host: str, port: int, *, takes_ipv4: bool) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # IPv4 clients, too, unless they have a socket of their own.
    is_dual = host == "::" and takes_ipv4 and socket.has_dualstack_ipv6()
    try:
        return socket.create_server(
            (host, port), family=family, backlog=BACKLOG, dualstack_ipv6=is_dual
        )
    except OSError as error:
        raise CannotListen(
            f"Can't listen on {host}:{port}: {_cause(error)}. Choose another --host or --port."
        ) from error


def _cause(error: OSError) -> str:
    """Without what Python adds to the system's own words."""
    if error.errno == errno.EADDRINUSE:
        return "another program listens there"
    # An unknown host has a negative number, of another list.
    number = error.errno or 0
    return (os.strerror(number) if number > 0 else error.strerror or str(error)).lower()


def _is_ipv4(host: str) -> bool:
    return ":" not in host


def stop_accepting(listener: socket.socket) -> None:
    """Refuses new connections; those in the backlog can still be accepted.

    Closing the socket would reset these, although their clients are connected. Only Linux supports
    this; elsewhere those clients see a reset and have to retry.
    """
    if sys.platform != "linux":
        return
    instructions = ctypes.create_string_buffer(_DROP_EVERYTHING)
    program = struct.pack("HL", 1, ctypes.addressof(instructions))
    try:
        listener.setsockopt(socket.SOL_SOCKET, _SO_ATTACH_FILTER, program)
    except OSError:
        # A sandbox without BPF.
        return


def address_of(listener: socket.socket, scheme: str = "http") -> str:
    """`http://127.0.0.1:8000`, with the actual port."""
    host, port = listener.getsockname()[:2]
    return _url(scheme, host, port)


def base_url_for(host: str, port: int, scheme: str = "http") -> str:
    """The default base URL of links: the name that a browser on this machine uses."""
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
