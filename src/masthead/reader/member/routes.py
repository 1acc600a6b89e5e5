"""The addresses of members' pages."""

from __future__ import annotations

from masthead.members import mailed_links
from masthead.reader.endpoint import SitePages
from masthead.reader.member.account import Account
from masthead.reader.member.joining import Joining
from masthead.reader.member.services import (
    ACCOUNT,
    DELETE,
    FORGOT,
    SIGN_IN,
    SIGN_UP,
    MemberServices,
)
from masthead.web.dispatch import Route


def member_page_routes(pages: SitePages, services: MemberServices) -> list[Route]:
    joining, account = Joining(services), Account(services)
    return [
        # Open: they concern nobody who is signed in, or bring a token of their own.
        Route(SIGN_UP, pages.form(joining.sign_up, page=joining.sign_up_page, is_open=True)),
        Route(SIGN_IN, pages.form(joining.sign_in, page=joining.sign_in_page, is_open=True)),
        Route(FORGOT, pages.form(joining.forgot, page=joining.forgot_page, is_open=True)),
        Route(
            mailed_links.PATH,
            pages.form(joining.use_link, page=joining.link_page, is_open=True),
        ),
        Route("/member/sign-out", pages.form(joining.sign_out)),
        Route("/member/sign-out-everywhere", pages.form(account.sign_out_everywhere)),
        Route(ACCOUNT, pages.endpoint(account.page, personal=True)),
        Route(f"{ACCOUNT}/name", pages.form(account.set_name, page=account.page)),
        Route(f"{ACCOUNT}/email", pages.form(account.set_email, page=account.page)),
        Route(f"{ACCOUNT}/newsletter", pages.form(account.set_newsletter, page=account.page)),
        Route(f"{ACCOUNT}/comment-mails", pages.form(account.set_comment_mails, page=account.page)),
        Route(f"{ACCOUNT}/password", pages.form(account.set_password, page=account.page)),
        Route(f"{ACCOUNT}/sign-ins", pages.form(account.end_sign_in, page=account.page)),
        Route(f"{ACCOUNT}/export", pages.form(account.export, page=account.page)),
        Route(DELETE, pages.form(account.delete, page=account.delete_page)),
    ]
