"""The addresses of signing in, and of the caller's own account."""

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
from masthead.features.password_reset.resets import ADMIN_PATH
from masthead.web.dispatch import Route
from masthead.web.policy import Who


def account_routes(pages: AdminPages) -> list[Route]:
    return [*_sign_in(pages), *_account(pages), *_factors(pages)]


def _sign_in(pages: AdminPages) -> list[Route]:
    at = partial(pages.at, who=Who.ANYONE)
    return [
        Route("/admin/sign-in", at(get=sign_in.sign_in_form, post=sign_in.sign_in)),
        Route("/admin/sign-in/passkey", at(post=sign_in.sign_in_with_passkey)),
        Route(sign_in.CODE, at(get=sign_in.code_form, post=sign_in.finish_sign_in)),
        Route(
            "/admin/sign-out",
            pages.at(post=sign_in.sign_out, anywhere=True, for_enrolment=True),
        ),
        Route("/admin/forgot", at(get=sign_in.forgot_form, post=sign_in.forgot)),
        Route(ADMIN_PATH, pages.at(get=sign_in.reset_form, post=sign_in.reset, who=Who.LINK)),
    ]


def _account(pages: AdminPages) -> list[Route]:
    at, address = partial(pages.at, anywhere=True), profile.ADDRESS
    return [
        Route(address, at(get=profile.account_page, post=profile.save_profile)),
        Route(f"{address}/sign-ins", at(post=profile.end_others)),
        Route(f"{address}/sign-ins/{{id}}", at("id", post=profile.end_sign_in)),
        Route(f"{address}/password", at(post=profile.change_password)),
        Route(f"{address}/keys", at(post=appearance.choose_keys)),
    ]


def _factors(pages: AdminPages) -> list[Route]:
    at, one = partial(pages.at, anywhere=True), f"{passkeys.ADDRESS}/{{id}}"
    # To add one is sensitive; to remove one asks for one in any case.
    enrol = partial(at, asks_again=True, for_enrolment=True)
    return [
        # Before the code is typed, which the app changes every half minute.
        Route(factors.APP, enrol(get=factors.app_form, post=factors.add_app, asks_first=True)),
        Route(f"{factors.APP}/remove", at(get=factors.remove_app_form, post=factors.remove_app)),
        Route(
            factors.RECOVERY_CODES,
            at(get=factors.recovery_codes_form, post=factors.renew_recovery_codes),
        ),
        Route(passkeys.ADDRESS, enrol(get=passkeys.new_form, post=passkeys.add, asks_first=True)),
        Route(f"{one}/remove", at("id", get=passkeys.remove_form, post=passkeys.remove)),
        Route(CONFIRM, enrol(get=confirm.confirm_form, post=confirm.confirm, takes_proof=True)),
    ]
