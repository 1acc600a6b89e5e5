"""The links of the frame: only pages that exist, and only those that the caller can use."""

from __future__ import annotations

from dataclasses import dataclass

from masthead.admin.request import AdminRequest


@dataclass(frozen=True, slots=True)
class Link:
    label: str
    url: str
    icon: str
    is_current: bool = False


@dataclass(frozen=True, slots=True)
class Group:
    label: str
    links: tuple[Link, ...]


HOME = ("Home", "/admin", "house")
POSTS = ("Posts", "/admin/posts", "file-text")
SETTINGS = ("Settings", "/admin/settings/keys", "settings")
STAFF = ("People", "/admin/staff", "users")
ACCOUNT = ("Your account", "/admin/account", "user")
TENANTS = ("Sites", "/admin/tenants", "globe")
COMPONENTS = ("Components", "/admin/components", "panel-right")
MORE = ("More", "/admin/more", "menu")


def groups_of(request: AdminRequest) -> tuple[Group, ...]:
    groups: list[Group] = []
    if request.site is not None:
        groups.append(Group("", _links(request, HOME, POSTS)))
    # Others could open the page of their own account alone.
    people = [SETTINGS, STAFF] if request.site is not None and request.caller.is_admin else []
    groups.append(Group("Settings", _links(request, *people, ACCOUNT)))
    if request.is_operator:
        groups.append(Group("Operate", _links(request, TENANTS, COMPONENTS)))
    return tuple(groups)


def bottom_of(request: AdminRequest) -> tuple[Link, ...]:
    """The bar at the bottom of a phone. What has no room there is on the page "More"."""
    shown = (HOME, POSTS, MORE) if request.site is not None else (TENANTS, MORE)
    return _links(request, *shown)


def _links(request: AdminRequest, *rows: tuple[str, str, str]) -> tuple[Link, ...]:
    return tuple(Link(label, url, icon, _is_at(request.path, url)) for label, url, icon in rows)


def _is_at(path: str, url: str) -> bool:
    return path == url or (url != HOME[1] and path.startswith(f"{url}/"))
