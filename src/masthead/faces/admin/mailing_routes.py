"""The addresses of newsletters, mailings and the domains that emails are sent from."""

from __future__ import annotations

from functools import partial

from masthead.faces.admin.endpoint import AdminPages
from masthead.faces.admin.pages import sending_domain
from masthead.faces.admin.pages.mailings import mailing, recipients, sending
from masthead.faces.admin.pages.settings import digest, newsletters, welcome
from masthead.faces.admin.pages.settings.subnav import NEWSLETTERS, SENDING, WELCOME
from masthead.web.dispatch import Route
from masthead.web.policy import Who


def mailing_routes(pages: AdminPages) -> list[Route]:
    return [*_mailings(pages), *_sending_domains(pages), *_newsletters(pages)]


def _mailings(pages: AdminPages) -> list[Route]:
    at, post = partial(pages.at, who=Who.EDITOR), "/admin/posts/{id}/mail"
    one = f"{mailing.ADDRESS}/{{id}}"
    return [
        Route(post, at("id", get=sending.mail_form, post=sending.mail_post)),
        Route(f"{post}/test", at("id", post=sending.mail_test)),
        Route(mailing.ADDRESS, at(get=mailing.MailingList.show)),
        Route(one, at("id", get=mailing.mailing_page, post=mailing.act)),
        Route(f"{one}/recipients", at("id", get=recipients.recipients_page)),
        *(
            Route(f"{one}/{each}", at("id", get=partial(mailing.ask, each)))
            for each in mailing.ASKED
        ),
    ]


def _sending_domains(pages: AdminPages) -> list[Route]:
    at, page = pages.at, sending_domain
    owners, operators = Who.OWNER, Who.OPERATOR
    return [
        Route(SENDING, at(get=page.site_page, post=page.make_site_key, who=owners)),
        Route(f"{SENDING}/check", at(post=page.check_site, who=owners)),
        Route(
            f"{SENDING}/new-key",
            at(get=page.ask_new_site_key, post=page.make_new_site_key, who=owners),
        ),
        Route(
            page.INSTALLATION,
            at(get=page.installation_page, post=page.make_installation_key, who=operators),
        ),
        Route(f"{page.INSTALLATION}/check", at(post=page.check_installation, who=operators)),
    ]


def _newsletters(pages: AdminPages) -> list[Route]:
    at, one = partial(pages.at, who=Who.OWNER), f"{NEWSLETTERS}/{{id}}"
    return [
        Route(NEWSLETTERS, at(get=newsletters.newsletters_page)),
        Route(
            f"{NEWSLETTERS}/new",
            at(get=newsletters.new_newsletter_form, post=newsletters.new_newsletter),
        ),
        Route(one, at("id", get=newsletters.newsletter_form, post=newsletters.save_newsletter)),
        Route(
            f"{one}/delete",
            at("id", get=newsletters.delete_form, post=newsletters.delete_newsletter),
        ),
        Route(f"{one}/digest", at("id", get=digest.digest_page, post=digest.send_digest_test)),
        Route(f"{one}/digest/email", at("id", get=digest.digest_email)),
        Route(WELCOME, at(get=welcome.welcome_form)),
        Route(
            f"{WELCOME}/{{kind}}",
            at(
                "kind",
                get=welcome.welcome_form,
                post=welcome.save_welcome,
                limit=welcome.MAX_FORM,
            ),
        ),
        Route(f"{WELCOME}/{{kind}}/email", at("kind", get=welcome.welcome_email)),
    ]
