"""The addresses of signing in with a provider, and of the providers of a site."""

from __future__ import annotations

from functools import partial

from masthead.faces.admin.endpoint import AdminPages
from masthead.faces.admin.pages.account import single_sign_on as own
from masthead.faces.admin.pages.account.profile import CONNECT
from masthead.faces.admin.pages.account.sign_in import WITH
from masthead.faces.admin.pages.settings import sign_in
from masthead.faces.admin.pages.settings.subnav import SIGN_IN
from masthead.web.dispatch import Route
from masthead.web.policy import Who


def single_sign_on_routes(pages: AdminPages) -> list[Route]:
    entrance, at = partial(pages.at, who=Who.ANYONE), pages.at
    return [
        entrance(f"{WITH}/{{slug}}", get=own.depart),
        entrance(f"{WITH}/{{slug}}/callback", get=own.arrive),
        at(f"{CONNECT}/{{slug}}", get=own.connect),
        at(own.CONNECTIONS, post=own.finish_connecting, asks_again=True),
        at(f"{own.CONNECTIONS}/{{id}}/remove", post=own.disconnect, asks_again=True),
        *_providers(pages),
    ]


def _providers(pages: AdminPages) -> list[Route]:
    at, one = partial(pages.at, who=Who.OWNER), f"{SIGN_IN}/{{id}}"
    sensitive = partial(at, asks_again=True)
    return [
        at(SIGN_IN, get=sign_in.providers_page),
        sensitive(f"{SIGN_IN}/new", get=sign_in.new_form, post=sign_in.add),
        sensitive(one, get=sign_in.provider_form, post=sign_in.save),
        at(f"{one}/try", post=sign_in.try_it),
        sensitive(f"{one}/remove", get=sign_in.remove_form, post=sign_in.remove),
    ]
