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
        at(post, get=sending.mail_form, post=sending.mail_post),
        at(f"{post}/test", post=sending.mail_test),
        at(mailing.ADDRESS, get=mailing.MailingList.show),
        at(one, get=mailing.mailing_page, post=mailing.act),
        at(f"{one}/recipients", get=recipients.recipients_page),
        *(at(f"{one}/{each}", get=partial(mailing.ask, each)) for each in mailing.ASKED),
    ]


def _sending_domains(pages: AdminPages) -> list[Route]:
    page, operators = sending_domain, partial(pages.at, who=Who.OPERATOR)
    owners = partial(pages.at, who=Who.OWNER)
    return [
        owners(SENDING, get=page.site_page, post=page.make_site_key),
        owners(f"{SENDING}/check", post=page.check_site),
        owners(f"{SENDING}/new-key", get=page.ask_new_site_key, post=page.make_new_site_key),
        operators(page.INSTALLATION, get=page.installation_page, post=page.make_installation_key),
        operators(f"{page.INSTALLATION}/check", post=page.check_installation),
    ]


def _newsletters(pages: AdminPages) -> list[Route]:
    at, one = partial(pages.at, who=Who.OWNER), f"{NEWSLETTERS}/{{id}}"
    return [
        at(NEWSLETTERS, get=newsletters.newsletters_page),
        at(
            f"{NEWSLETTERS}/new",
            get=newsletters.new_newsletter_form,
            post=newsletters.new_newsletter,
        ),
        at(one, get=newsletters.newsletter_form, post=newsletters.save_newsletter),
        at(f"{one}/delete", get=newsletters.delete_form, post=newsletters.delete_newsletter),
        at(f"{one}/digest", get=digest.digest_page, post=digest.send_digest_test),
        at(f"{one}/digest/email", get=digest.digest_email),
        at(WELCOME, get=welcome.welcome_form),
        at(
            f"{WELCOME}/{{kind}}",
            get=welcome.welcome_form,
            post=welcome.save_welcome,
            limit=welcome.MAX_FORM,
        ),
        at(f"{WELCOME}/{{kind}}/email", get=welcome.welcome_email),
    ]
