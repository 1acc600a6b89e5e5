"""The addresses of members' pages."""

from __future__ import annotations

from functools import partial

from masthead.faces.reader.endpoint import SitePages
from masthead.faces.reader.member.account import Account
from masthead.faces.reader.member.joining import Joining
from masthead.faces.reader.member.redeeming import redeem_code, redeem_page
from masthead.faces.reader.member.sessions import ACCOUNT, CODE, DELETE, FORGOT, SIGN_IN, SIGN_UP
from masthead.faces.reader.member.single_sign_on import SignOnPages
from masthead.features.members import mailed_links
from masthead.features.payments.gift_mails import REDEEM
from masthead.features.services import FeatureServices
from masthead.web.dispatch import Route
from masthead.web.policy import Limit, WhileSuspended


def member_page_routes(pages: SitePages, services: FeatureServices) -> list[Route]:
    joining, account = Joining(services), Account(services)
    # What a person may ask of their data, of emails and of payments that go on: also while the site
    # is suspended.
    form = partial(pages.form, while_suspended=WhileSuspended.OPEN)
    mine = partial(form, page=account.page)
    # Open: they do not depend on a sign-in, or carry their own token.
    open_form = partial(pages.form, is_open=True, limit=Limit.SIGN_INS)
    entrance = partial(open_form, while_suspended=WhileSuspended.OPEN)
    return [
        open_form(SIGN_UP, joining.sign_up, page=joining.sign_up_page),
        entrance(SIGN_IN, joining.sign_in, page=joining.sign_in_page),
        entrance(FORGOT, joining.forgot, page=joining.forgot_page),
        entrance(mailed_links.PATH, joining.use_link, page=joining.link_page),
        entrance(CODE, joining.use_code, page=joining.sign_in_page),
        *SignOnPages(pages, services).routes(),
        form("/member/sign-out", joining.sign_out),
        form("/member/sign-out-everywhere", account.sign_out_everywhere),
        pages.page(ACCOUNT, account.page, personal=True, while_suspended=WhileSuspended.OPEN),
        mine(f"{ACCOUNT}/name", account.set_name),
        mine(f"{ACCOUNT}/email", account.set_email),
        mine(f"{ACCOUNT}/newsletter", account.set_newsletter),
        mine(f"{ACCOUNT}/newsletters", account.choose_newsletter),
        mine(f"{ACCOUNT}/comment-mails", account.set_comment_mails),
        mine(f"{ACCOUNT}/language", account.set_language),
        mine(f"{ACCOUNT}/password", account.set_password),
        mine(f"{ACCOUNT}/sign-ins", account.end_sign_in),
        mine(f"{ACCOUNT}/connections", account.disconnect),
        mine(f"{ACCOUNT}/export", account.export),
        pages.form(REDEEM, redeem_code, page=redeem_page),
        form(DELETE, account.delete, page=account.delete_page),
    ]
