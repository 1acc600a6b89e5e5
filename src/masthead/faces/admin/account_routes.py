"""The addresses of signing in, of the caller's own account, and of a site's sign-in providers."""

from __future__ import annotations

from functools import partial

from masthead.faces.admin.endpoint import CONFIRM, AdminPages
from masthead.faces.admin.pages.account import (
    appearance,
    confirm,
    factors,
    passkeys,
    profile,
    sign_in,
)
from masthead.faces.admin.pages.account import single_sign_on as own
from masthead.faces.admin.pages.account.profile import CONNECT
from masthead.faces.admin.pages.account.sign_in import WITH
from masthead.faces.admin.pages.settings import sign_in as providers
from masthead.faces.admin.pages.settings.subnav import SIGN_IN
from masthead.features.password_reset.resets import ADMIN_PATH
from masthead.web.dispatch import Route
from masthead.web.policy import Who


def account_routes(pages: AdminPages) -> list[Route]:
    return [
        *_sign_in(pages),
        *_account(pages),
        *_factors(pages),
        *_connections(pages),
        *_providers(pages),
    ]


def _sign_in(pages: AdminPages) -> list[Route]:
    at = partial(pages.at, who=Who.ANYONE)
    return [
        at("/admin/sign-in", get=sign_in.sign_in_form, post=sign_in.sign_in),
        at("/admin/sign-in/passkey", post=sign_in.sign_in_with_passkey),
        at(sign_in.CODE, get=sign_in.code_form, post=sign_in.finish_sign_in),
        pages.at("/admin/sign-out", post=sign_in.sign_out, anywhere=True, for_enrolment=True),
        at("/admin/forgot", get=sign_in.forgot_form, post=sign_in.forgot),
        pages.at(ADMIN_PATH, get=sign_in.reset_form, post=sign_in.reset, who=Who.LINK),
    ]


def _account(pages: AdminPages) -> list[Route]:
    at, address = partial(pages.at, anywhere=True), profile.ADDRESS
    return [
        at(address, get=profile.account_page, post=profile.save_profile),
        at(f"{address}/sign-ins", post=profile.end_others),
        at(f"{address}/sign-ins/{{id}}", post=profile.end_sign_in),
        at(f"{address}/password", post=profile.change_password),
        at(f"{address}/keys", post=appearance.choose_keys),
    ]


def _factors(pages: AdminPages) -> list[Route]:
    at, one = partial(pages.at, anywhere=True), f"{passkeys.ADDRESS}/{{id}}"
    # To add one is sensitive; to remove one asks for one in any case.
    enrol = partial(at, asks_again=True, for_enrolment=True)
    return [
        # Before the code is typed, which the app changes every half minute.
        enrol(factors.APP, get=factors.app_form, post=factors.add_app, asks_first=True),
        at(f"{factors.APP}/remove", get=factors.remove_app_form, post=factors.remove_app),
        at(
            factors.RECOVERY_CODES,
            get=factors.recovery_codes_form,
            post=factors.renew_recovery_codes,
        ),
        enrol(passkeys.ADDRESS, get=passkeys.new_form, post=passkeys.add, asks_first=True),
        at(f"{one}/remove", get=passkeys.remove_form, post=passkeys.remove),
        enrol(CONFIRM, get=confirm.confirm_form, post=confirm.confirm, takes_proof=True),
    ]


def _connections(pages: AdminPages) -> list[Route]:
    entrance, at = partial(pages.at, who=Who.ANYONE), pages.at
    return [
        entrance(f"{WITH}/{{slug}}", get=own.depart),
        entrance(f"{WITH}/{{slug}}/callback", get=own.arrive),
        at(f"{CONNECT}/{{slug}}", get=own.connect),
        at(own.CONNECTIONS, post=own.finish_connecting, asks_again=True),
        at(f"{own.CONNECTIONS}/{{id}}/remove", post=own.disconnect, asks_again=True),
    ]


def _providers(pages: AdminPages) -> list[Route]:
    at, one = partial(pages.at, who=Who.OWNER), f"{SIGN_IN}/{{id}}"
    sensitive = partial(at, asks_again=True)
    return [
        at(SIGN_IN, get=providers.providers_page),
        sensitive(f"{SIGN_IN}/new", get=providers.new_form, post=providers.add),
        sensitive(one, get=providers.provider_form, post=providers.save),
        at(f"{one}/try", post=providers.try_it),
        sensitive(f"{one}/remove", get=providers.remove_form, post=providers.remove),
    ]
