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
    entrance, at = partial(pages.at, "slug", who=Who.ANYONE), pages.at
    return [
        Route(f"{WITH}/{{slug}}", entrance(get=own.depart)),
        Route(f"{WITH}/{{slug}}/callback", entrance(get=own.arrive)),
        Route(f"{CONNECT}/{{slug}}", at("slug", get=own.connect)),
        Route(own.CONNECTIONS, at(post=own.finish_connecting, asks_again=True)),
        Route(f"{own.CONNECTIONS}/{{id}}/remove", at("id", post=own.disconnect, asks_again=True)),
        *_providers(pages),
    ]


def _providers(pages: AdminPages) -> list[Route]:
    at, one = partial(pages.at, who=Who.OWNER), f"{SIGN_IN}/{{id}}"
    sensitive = partial(at, asks_again=True)
    return [
        Route(SIGN_IN, at(get=sign_in.providers_page)),
        Route(f"{SIGN_IN}/new", sensitive(get=sign_in.new_form, post=sign_in.add)),
        Route(one, sensitive("id", get=sign_in.provider_form, post=sign_in.save)),
        Route(f"{one}/try", at("id", post=sign_in.try_it)),
        Route(f"{one}/remove", sensitive("id", get=sign_in.remove_form, post=sign_in.remove)),
    ]
