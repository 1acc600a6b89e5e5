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
