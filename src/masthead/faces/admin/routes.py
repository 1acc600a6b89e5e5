"""The addresses of the admin."""

from __future__ import annotations

from functools import partial

from masthead.base.errors import NotFound
from masthead.faces.admin.account_routes import account_routes
from masthead.faces.admin.calls import script_call, script_read, upload_call
from masthead.faces.admin.endpoint import AdminPages, Answer, Handler, Page, Redirect
from masthead.faces.admin.import_routes import import_routes
from masthead.faces.admin.live import ADDRESS as LIVE
from masthead.faces.admin.live import live
from masthead.faces.admin.mailing_routes import mailing_routes
from masthead.faces.admin.navigation import every_group_of
from masthead.faces.admin.pages import activity, shop, staff, trash, undo
from masthead.faces.admin.pages.account import appearance
from masthead.faces.admin.pages.comments import changes as comment_changes
from masthead.faces.admin.pages.comments import comment
from masthead.faces.admin.pages.comments import listing as comments
from masthead.faces.admin.pages.home import home
from masthead.faces.admin.pages.mailings import preview as mail_preview
from masthead.faces.admin.pages.media import item as media_item
from masthead.faces.admin.pages.media import library as media
from masthead.faces.admin.pages.members import download as members_csv
from masthead.faces.admin.pages.members import listing as members
from masthead.faces.admin.pages.members import member, stopped
from masthead.faces.admin.pages.members import privacy as member_privacy
from masthead.faces.admin.pages.operator import queue_and_errors as operate
from masthead.faces.admin.pages.operator import site_import, tenant_state, tenants
from masthead.faces.admin.pages.operator.components import components
from masthead.faces.admin.pages.palette import palette
from masthead.faces.admin.pages.settings import (
    ai,
    domain,
    keys,
    mail,
    payments,
    pictures,
    privacy,
    site,
)
from masthead.faces.admin.pages.texts import (
    bulk,
    editor,
    posts,
    presence,
    preview,
    publishing,
    revisions,
    tags,
)
from masthead.faces.admin.pages.texts import form as text
from masthead.faces.admin.pages.texts import pages as site_pages
from masthead.faces.admin.pages.texts.lists import TextList
from masthead.faces.admin.pages.webhooks import retry, subscription
from masthead.faces.admin.pages.webhooks.delivery import delivery_page
from masthead.faces.admin.pages.webhooks.overview import webhooks_page
from masthead.faces.admin.request import AdminRequest
from masthead.faces.admin.single_sign_on_routes import single_sign_on_routes
from masthead.web.dispatch import Route
from masthead.web.policy import Who, largest_import


def admin_routes(pages: AdminPages) -> list[Route]:
    at, operators = pages.at, Who.OPERATOR
    owners = Who.OWNER
    return [
        Route("/admin", at(get=home)),
        *account_routes(pages),
        Route("/admin/posts/tags", at(get=posts.tag_options)),
        *_texts(pages, posts.PostList),
        *mailing_routes(pages),
        Route("/admin/posts/{id}/email", at("id", get=mail_preview.mail_preview)),
        Route("/admin/posts/{id}/email/page", at("id", get=mail_preview.mail_page)),
        *_texts(pages, site_pages.PageList),
        Route(tags.ADDRESS, at(get=tags.tags_list)),
        Route(f"{tags.ADDRESS}/change", at(get=tags.tag_form, post=tags.change)),
        Route("/admin/form-token", script_read(pages, editor.token_call)),
        Route(
            "/admin/markdown",
            script_call(pages, editor.markdown_call, limit=editor.MAX_MARKDOWN),
        ),
        Route("/admin/comments", at(get=comments.comments_list)),
        Route("/admin/comments/change", at(post=comment_changes.change_comments)),
        Route("/admin/comments/{id}", at("id", get=comment.comment_page)),
        Route("/admin/comments/{id}/reply", at("id", post=comment.answer_comment)),
        Route("/admin/members", at(get=members.MemberList.show)),
        Route("/admin/members/members.csv", at(get=members_csv.download, asks_again=True)),
        Route(
            "/admin/members/new",
            at(get=members.new_member_form, post=members.new_member, who=owners),
        ),
        Route(stopped.ADDRESS, at(get=stopped.StoppedList.show)),
        *import_routes(pages),
        Route("/admin/members/change", at(post=members.change_members, who=owners)),
        Route("/admin/members/{id}", at("id", get=member.member_page, post=member.save_member)),
        Route(
            "/admin/members/{id}/mail-again",
            at("id", get=stopped.lift_form, post=stopped.lift, who=owners),
        ),
        Route(
            "/admin/members/{id}/export",
            at(
                "id",
                post=member_privacy.export_member,
                who=owners,
                while_suspended=True,
                asks_again=True,
            ),
        ),
        Route(
            "/admin/members/{id}/erase",
            at(
                "id",
                get=member_privacy.erase_form,
                post=member_privacy.erase_member,
                who=owners,
                while_suspended=True,
                asks_again=True,
            ),
        ),
        Route(
            "/admin/members/{id}/requests/{request}/cancel",
            at(
                "id",
                "request",
                post=member_privacy.cancel_erasure,
                who=owners,
                while_suspended=True,
            ),
        ),
        Route(
            "/admin/members/{id}/requests/{request}/download",
            at(
                "id",
                "request",
                get=member_privacy.download_export,
                who=owners,
                while_suspended=True,
                asks_again=True,
            ),
        ),
        Route("/admin/settings", at(get=site.site_page, post=site.save_site, who=owners)),
        Route("/admin/settings/accent", at(get=site.accent_sample, who=owners)),
        Route(
            "/admin/settings/domain",
            at(get=domain.domain_page, post=domain.ask_for_domain, who=owners),
        ),
        Route("/admin/settings/domain/address", at(get=domain.address_check, who=owners)),
        Route("/admin/settings/domain/check", at(post=domain.check_domain, who=owners)),
        Route(
            "/admin/settings/domain/remove",
            at(get=domain.remove_form, post=domain.remove_domain, who=owners),
        ),
        Route(
            "/admin/settings/picture/{which}",
            at("which", post=pictures.save_picture, who=owners, files=1),
        ),
        Route(
            "/admin/settings/ai",
            at(get=ai.ai_page, post=ai.save_ai, who=owners, asks_again=True),
        ),
        Route("/admin/settings/mail", at(get=mail.mail_page, who=owners)),
        Route("/admin/settings/mail/test", at(post=mail.send_test, who=owners)),
        Route("/admin/settings/mail/test/{mark}", at("mark", get=mail.test_state, who=owners)),
        Route(
            "/admin/settings/payments",
            at(
                get=payments.payments_page,
                post=payments.save_payments,
                who=owners,
                asks_again=True,
            ),
        ),
        *_privacy(pages),
        Route(
            "/admin/settings/keys",
            at(get=keys.keys_page, post=keys.new_key, who=owners, asks_again=True),
        ),
        Route(
            "/admin/settings/keys/{id}/revoke",
            at("id", get=keys.revoke_form, post=keys.revoke, who=owners, asks_again=True),
        ),
        *single_sign_on_routes(pages),
        *_media(pages),
        *_trash(pages),
        Route(undo.ADDRESS, at("id", post=undo.undo_change)),
        *_staff(pages),
        Route(activity.ActivityList.address, at(get=activity.ActivityList.show, who=owners)),
        Route(
            activity.ActivityEverywhere.address,
            at(get=activity.ActivityEverywhere.show, who=operators),
        ),
        *_shop(pages),
        Route("/admin/theme", at(post=appearance.choose_theme, anywhere=True)),
        Route("/admin/palette", at(get=palette, anywhere=True)),
        Route(LIVE, live(pages)),
        Route("/admin/more", at(get=_more, anywhere=True)),
        Route("/admin/tenants", at(get=tenants.TenantList.show, who=operators)),
        Route(tenants.NEW, at(get=tenants.new_form, post=tenants.create, who=operators)),
        Route(
            tenants.IMPORT,
            at(
                get=site_import.import_form,
                post=site_import.begin_import,
                who=operators,
                files=1,
                largest=largest_import,
            ),
        ),
        Route(
            "/admin/tenants/{id}",
            at("id", get=tenants.tenant_page, post=tenants.choose_tenant, who=operators),
        ),
        Route("/admin/tenants/{id}/plan", at("id", post=tenants.save_plan, who=operators)),
        Route(
            "/admin/tenants/{id}/invite",
            at("id", post=tenants.invite_owner, who=operators, asks_again=True),
        ),
        Route(
            "/admin/tenants/{id}/suspend",
            at("id", get=tenant_state.suspend_form, post=tenant_state.suspend, who=operators),
        ),
        Route("/admin/tenants/{id}/lift", at("id", post=tenant_state.lift, who=operators)),
        Route(
            "/admin/tenants/{id}/delete",
            at(
                "id",
                get=tenant_state.delete_form,
                post=tenant_state.delete,
                who=operators,
                asks_again=True,
            ),
        ),
        Route(
            "/admin/tenants/{id}/stay", at("id", post=tenant_state.cancel_deletion, who=operators)
        ),
        Route(operate.QUEUE, at(get=operate.queue_page, post=operate.change_job, who=operators)),
        Route(operate.ERRORS, at(get=operate.errors_page, who=operators)),
        Route(f"{operate.ERRORS}/{{id}}", at("id", get=operate.error_page, who=operators)),
        Route("/admin/components", at(get=components, who=operators)),
        *_webhooks(pages),
        # Last, because the first route that matches is taken.
        Route("/admin/{rest:path}", at(get=_nothing, anywhere=True)),
    ]


def _privacy(pages: AdminPages) -> list[Route]:
    """While the site is suspended as well."""
    address = "/admin/settings/privacy"
    at = partial(pages.at, who=Who.OWNER, while_suspended=True)
    return [
        Route(address, at(get=privacy.privacy_page)),
        Route(f"{address}/export", at(post=privacy.export_site, asks_again=True)),
        Route(
            f"{address}/delete",
            at(get=privacy.delete_form, post=privacy.delete_site, asks_again=True),
        ),
        Route(f"{address}/{{id}}/cancel", at("id", post=privacy.cancel_deletion)),
        Route(f"{address}/{{id}}/download", at("id", get=privacy.download_copy, asks_again=True)),
    ]


def _webhooks(pages: AdminPages) -> list[Route]:
    address, at = "/admin/webhooks", partial(pages.at, who=Who.OWNER)
    return [
        Route(address, at(get=webhooks_page)),
        Route(
            f"{address}/new",
            at(get=subscription.new_form, post=subscription.new_webhook, asks_again=True),
        ),
        Route(f"{address}/retry", at(post=retry.retry_some)),
        Route(f"{address}/retries/{{id}}", at("id", get=retry.retry_page)),
        Route(f"{address}/deliveries/{{id}}", at("id", get=delivery_page)),
        Route(f"{address}/deliveries/{{id}}/retry", at("id", post=retry.retry_one)),
        Route(
            f"{address}/{{id}}",
            # Another address gets what the old one got.
            at(
                "id", get=subscription.webhook_page, post=subscription.save_webhook, asks_again=True
            ),
        ),
        Route(f"{address}/{{id}}/pause", at("id", post=subscription.pause)),
        Route(f"{address}/{{id}}/turn-on", at("id", post=subscription.turn_on)),
        Route(f"{address}/{{id}}/rotate", at("id", post=subscription.rotate, asks_again=True)),
        Route(f"{address}/{{id}}/test", at("id", post=subscription.test)),
        Route(
            f"{address}/{{id}}/delete",
            at("id", get=subscription.delete_form, post=subscription.delete),
        ),
    ]


def _staff(pages: AdminPages) -> list[Route]:
    address, at = "/admin/staff", partial(pages.at, who=Who.OWNER, asks_again=True)
    return [
        Route(address, at(get=staff.staff_page, post=staff.invite)),
        Route(f"{address}/second-factor", at(post=staff.require_factors)),
        Route(f"{address}/{{id}}", at("id", get=staff.person_page, post=staff.save_person)),
        Route(f"{address}/{{id}}/invite", at("id", post=staff.invite_again)),
        Route(f"{address}/{{id}}/factors", at("id", post=staff.reset_factors)),
        Route(f"{address}/{{id}}/remove", at("id", post=staff.remove)),
    ]


def _texts(pages: AdminPages, texts: type[TextList]) -> list[Route]:
    """A list of texts, and the pages of each of them."""
    at, section = pages.at, texts.section
    address = section.address

    def of(handler: Handler) -> Handler:
        return partial(handler, section)

    save = script_call(pages, partial(editor.save_call, section), "id", limit=editor.MAX_SAVE)
    return [
        Route(address, at(get=texts.show)),
        Route(f"{address}/bulk", at(post=partial(bulk.change_selected, texts))),
        Route(
            f"{address}/new",
            at(get=of(text.new_form), post=of(text.create), limit=text.MAX_FORM),
        ),
        Route(
            f"{address}/{{id}}",
            at("id", get=of(text.form), post=of(text.save), limit=text.MAX_FORM),
        ),
        Route(f"{address}/{{id}}/text", save),
        Route(
            f"{address}/{{id}}/here",
            script_call(pages, partial(presence.here_call, section), "id"),
        ),
        Route(
            f"{address}/{{id}}/publish",
            at("id", get=of(publishing.publish_form), post=of(publishing.publish)),
        ),
        Route(f"{address}/{{id}}/preview", at("id", get=of(preview.preview))),
        Route(f"{address}/{{id}}/preview/page", at("id", get=of(preview.preview_page))),
        Route(f"{address}/{{id}}/revisions", at("id", get=of(revisions.revisions))),
        Route(
            f"{address}/{{id}}/revisions/{{revision}}",
            at("id", "revision", get=of(revisions.revision), post=of(revisions.restore)),
        ),
        Route(f"{address}/{{id}}/delete", at("id", get=of(text.delete_form), post=of(text.delete))),
    ]


def _media(pages: AdminPages) -> list[Route]:
    at, item = pages.at, "/admin/media/{id}"
    uploading = upload_call(pages, media.upload_call)
    return [
        Route(
            "/admin/media",
            at(get=media.MediaList.show, post=media.upload_form, files=media.MAX_FILES),
        ),
        Route("/admin/media/choose", at(get=media.choices)),
        Route("/admin/media/upload", uploading),
        Route(item, at("id", get=media_item.item_page, post=media_item.save_item)),
        Route(f"{item}/file", at("id", post=media_item.replace_form, files=1)),
        Route(
            f"{item}/delete",
            at("id", get=media_item.delete_form, post=media_item.delete_item),
        ),
    ]


def _trash(pages: AdminPages) -> list[Route]:
    at, entry = pages.at, f"{trash.ADDRESS}/{{id}}"
    return [
        Route(trash.ADDRESS, at(get=trash.TrashList.show)),
        Route(f"{trash.ADDRESS}/empty", at(get=trash.empty_form, post=trash.empty)),
        Route(f"{entry}/restore", at("id", post=trash.restore)),
        Route(f"{entry}/delete", at("id", get=trash.delete_form, post=trash.delete)),
    ]


def _shop(pages: AdminPages) -> list[Route]:
    at, gift_cards = partial(pages.at, who=Who.OWNER), shop.GiftCardList
    return [
        Route(shop.OrderList.address, at(get=shop.OrderList.show)),
        Route(f"{shop.OrderList.address}/{{id}}", at("id", get=shop.order_page)),
        Route(gift_cards.address, at(get=gift_cards.show)),
        Route(f"{gift_cards.address}/{{id}}", at("id", get=shop.gift_card_page)),
        *_offer_routes(pages, shop.PRODUCTS),
        *_offer_routes(pages, shop.TIERS),
    ]


def _offer_routes(pages: AdminPages, offer: shop.Offer) -> list[Route]:
    at, address = partial(pages.at, who=Who.OWNER), offer.page.address

    def of(handler: Handler) -> Handler:
        return partial(handler, offer)

    return [
        Route(address, at(get=offer.page.show)),
        Route(f"{address}/new", at(get=of(shop.new_offer), post=of(shop.create_offer))),
        Route(f"{address}/{{id}}", at("id", get=of(shop.offer_form), post=of(shop.save_offer))),
    ]


async def _more(request: AdminRequest) -> Answer:
    # Called by the template, when it is known whether the site sells.
    return Page("more.html", "More", {"groups": partial(every_group_of, request)})


async def _nothing(request: AdminRequest) -> Answer:
    if request.path == "/admin/":
        return Redirect("/admin")
    raise NotFound
