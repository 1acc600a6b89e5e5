"""The addresses of the admin."""

from __future__ import annotations

from functools import partial

from masthead.base.errors import NotFound
from masthead.base.languages.words import words
from masthead.faces.admin.account_routes import account_routes
from masthead.faces.admin.calls import script_call, script_read, upload_call
from masthead.faces.admin.endpoint import AdminPages, Answer, Handler, Page, Redirect
from masthead.faces.admin.import_routes import import_routes
from masthead.faces.admin.live import ADDRESS as LIVE
from masthead.faces.admin.live import live
from masthead.faces.admin.mailing_routes import mailing_routes
from masthead.faces.admin.navigation import every_group_of
from masthead.faces.admin.pages import activity, offers, shop, staff, statistics, trash, undo
from masthead.faces.admin.pages.account import appearance
from masthead.faces.admin.pages.comments import changes as comment_changes
from masthead.faces.admin.pages.comments import comment
from masthead.faces.admin.pages.comments import listing as comments
from masthead.faces.admin.pages.home import home
from masthead.faces.admin.pages.mailings import preview as mail_preview
from masthead.faces.admin.pages.media import item as media_item
from masthead.faces.admin.pages.media import library as media
from masthead.faces.admin.pages.members import access as member_access
from masthead.faces.admin.pages.members import download as members_csv
from masthead.faces.admin.pages.members import listing as members
from masthead.faces.admin.pages.members import member, stopped
from masthead.faces.admin.pages.members import privacy as member_privacy
from masthead.faces.admin.pages.operator import queue_and_errors as operate
from masthead.faces.admin.pages.operator import site_import, tenant_state, tenants
from masthead.faces.admin.pages.operator.components import components
from masthead.faces.admin.pages.palette import palette
from masthead.faces.admin.pages.settings import (
    accents,
    ai,
    design,
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
    cards,
    editor,
    link_search,
    posts,
    presence,
    preview,
    publishing,
    reviewing,
    revisions,
    sharing,
    snippets,
    tags,
)
from masthead.faces.admin.pages.texts import form as text
from masthead.faces.admin.pages.texts import pages as site_pages
from masthead.faces.admin.pages.texts.lists import TextList
from masthead.faces.admin.pages.webhooks import replay, retry, subscription
from masthead.faces.admin.pages.webhooks.delivery import delivery_page
from masthead.faces.admin.pages.webhooks.overview import webhooks_page
from masthead.faces.admin.request import AdminRequest
from masthead.faces.admin.sections import Section
from masthead.web.dispatch import Route
from masthead.web.policy import Who, largest_import


def admin_routes(pages: AdminPages) -> list[Route]:
    at, operators = pages.at, partial(pages.at, who=Who.OPERATOR)
    owners = partial(pages.at, who=Who.OWNER)
    sensitive = partial(owners, asks_again=True)
    return [
        at("/admin", get=home),
        *account_routes(pages),
        at(statistics.ADDRESS, get=statistics.statistics_page, who=Who.EDITOR),
        at(statistics.OF_POST, get=statistics.post_statistics),
        at("/admin/posts/tags", get=posts.tag_options),
        *_texts(pages, posts.PostList),
        *mailing_routes(pages),
        at("/admin/posts/{id}/email", get=mail_preview.mail_preview),
        at("/admin/posts/{id}/email/page", get=mail_preview.mail_page),
        *_texts(pages, site_pages.PageList),
        at(tags.ADDRESS, get=tags.tags_list),
        at(f"{tags.ADDRESS}/change", get=tags.tag_form, post=tags.change),
        Route("/admin/form-token", script_read(pages, editor.token_call)),
        Route(
            "/admin/markdown",
            script_call(pages, editor.markdown_call, limit=editor.MAX_MARKDOWN),
        ),
        Route("/admin/cards", script_call(pages, cards.card_call)),
        Route("/admin/links", script_read(pages, link_search.links_call)),
        *_snippets(pages),
        at("/admin/comments", get=comments.CommentList.show),
        at("/admin/comments/change", post=comment_changes.change_comments),
        at("/admin/comments/{id}", get=comment.comment_page),
        at("/admin/comments/{id}/reply", post=comment.answer_comment),
        at("/admin/members", get=members.MemberList.show),
        at("/admin/members/members.csv", get=members_csv.download, asks_again=True),
        owners("/admin/members/new", get=members.new_member_form, post=members.new_member),
        at(stopped.ADDRESS, get=stopped.StoppedList.show),
        *import_routes(pages),
        owners("/admin/members/change", post=members.change_members),
        at("/admin/members/{id}", get=member.member_page, post=member.save_member),
        owners(
            "/admin/members/{id}/access", get=member.member_page, post=member_access.change_access
        ),
        owners("/admin/members/{id}/sign-out", post=member.sign_out, while_suspended=True),
        owners("/admin/members/{id}/mail-again", get=stopped.lift_form, post=stopped.lift),
        sensitive(
            "/admin/members/{id}/export", post=member_privacy.export_member, while_suspended=True
        ),
        sensitive(
            "/admin/members/{id}/erase",
            get=member_privacy.erase_form,
            post=member_privacy.erase_member,
            while_suspended=True,
        ),
        owners(
            "/admin/members/{id}/requests/{request}/cancel",
            post=member_privacy.cancel_erasure,
            while_suspended=True,
        ),
        sensitive(
            "/admin/members/{id}/requests/{request}/download",
            get=member_privacy.download_export,
            while_suspended=True,
        ),
        owners("/admin/settings", get=site.site_page, post=site.save_site),
        owners("/admin/settings/design", get=design.design_page, post=design.save_design),
        owners("/admin/settings/design/accent", get=accents.accent_sample),
        sensitive("/admin/settings/design/code", get=design.design_page, post=design.save_code),
        owners(
            "/admin/settings/design/preview",
            get=design.design_preview,
            post=design.design_preview,
        ),
        owners("/admin/settings/domain", get=domain.domain_page, post=domain.ask_for_domain),
        owners("/admin/settings/domain/address", get=domain.address_check),
        owners("/admin/settings/domain/check", post=domain.check_domain),
        owners("/admin/settings/domain/remove", get=domain.remove_form, post=domain.remove_domain),
        owners("/admin/settings/design/picture/{which}", post=pictures.save_picture, files=1),
        sensitive("/admin/settings/ai", get=ai.ai_page, post=ai.save_ai),
        owners("/admin/settings/mail", get=mail.mail_page),
        owners("/admin/settings/mail/test", post=mail.send_test),
        owners("/admin/settings/mail/test/{mark}", get=mail.test_state),
        sensitive(
            "/admin/settings/payments", get=payments.payments_page, post=payments.save_payments
        ),
        *_privacy(pages),
        sensitive("/admin/settings/keys", get=keys.keys_page, post=keys.new_key),
        sensitive("/admin/settings/keys/{id}/revoke", get=keys.revoke_form, post=keys.revoke),
        *_media(pages),
        *_trash(pages),
        at(undo.ADDRESS, post=undo.undo_change),
        *_staff(pages),
        owners(activity.ActivityList.address, get=activity.ActivityList.show),
        operators(activity.ActivityEverywhere.address, get=activity.ActivityEverywhere.show),
        *_shop(pages),
        at("/admin/theme", post=appearance.choose_theme, anywhere=True),
        at("/admin/palette", get=palette, anywhere=True),
        Route(LIVE, live(pages)),
        at("/admin/more", get=_more, anywhere=True),
        operators("/admin/tenants", get=tenants.TenantList.show),
        operators(tenants.NEW, get=tenants.new_form, post=tenants.create),
        operators(
            tenants.IMPORT,
            get=site_import.import_form,
            post=site_import.begin_import,
            files=1,
            largest=largest_import,
        ),
        operators("/admin/tenants/{id}", get=tenants.tenant_page, post=tenants.choose_tenant),
        operators("/admin/tenants/{id}/plan", post=tenants.save_plan),
        operators("/admin/tenants/{id}/invite", post=tenants.invite_owner, asks_again=True),
        operators(
            "/admin/tenants/{id}/suspend", get=tenant_state.suspend_form, post=tenant_state.suspend
        ),
        operators("/admin/tenants/{id}/lift", post=tenant_state.lift),
        operators(
            "/admin/tenants/{id}/delete",
            get=tenant_state.delete_form,
            post=tenant_state.delete,
            asks_again=True,
        ),
        operators("/admin/tenants/{id}/stay", post=tenant_state.cancel_deletion),
        operators(operate.QUEUE, get=operate.queue_page, post=operate.change_job),
        operators(operate.ERRORS, get=operate.errors_page),
        operators(f"{operate.ERRORS}/{{id}}", get=operate.error_page),
        operators("/admin/components", get=components),
        *_webhooks(pages),
        # Last, because the first route that matches is taken.
        at("/admin/{rest:path}", get=_nothing, anywhere=True),
    ]


def _privacy(pages: AdminPages) -> list[Route]:
    """While the site is suspended as well."""
    address = "/admin/settings/privacy"
    at = partial(pages.at, who=Who.OWNER, while_suspended=True)
    return [
        at(address, get=privacy.privacy_page),
        at(f"{address}/export", post=privacy.export_site, asks_again=True),
        at(f"{address}/delete", get=privacy.delete_form, post=privacy.delete_site, asks_again=True),
        at(f"{address}/{{id}}/cancel", post=privacy.cancel_deletion),
        at(f"{address}/{{id}}/download", get=privacy.download_copy, asks_again=True),
    ]


def _webhooks(pages: AdminPages) -> list[Route]:
    address, at = "/admin/webhooks", partial(pages.at, who=Who.OWNER)
    return [
        at(address, get=webhooks_page),
        at(
            f"{address}/new",
            get=subscription.new_form,
            post=subscription.new_webhook,
            asks_again=True,
        ),
        at(f"{address}/new/try", post=subscription.try_new),
        at(f"{address}/retry", post=retry.retry_some),
        at(f"{address}/retries/{{id}}", get=retry.retry_page),
        at(f"{address}/deliveries/{{id}}", get=delivery_page),
        at(f"{address}/deliveries/{{id}}/retry", post=retry.retry_one),
        # Another address gets what the old one got.
        at(
            f"{address}/{{id}}",
            get=subscription.webhook_page,
            post=subscription.save_webhook,
            asks_again=True,
        ),
        at(f"{address}/{{id}}/try", post=subscription.try_saved),
        at(f"{address}/{{id}}/replay", get=replay.replay_form, post=replay.replay),
        at(f"{address}/{{id}}/pause", post=subscription.pause),
        at(f"{address}/{{id}}/turn-on", post=subscription.turn_on),
        at(f"{address}/{{id}}/rotate", post=subscription.rotate, asks_again=True),
        at(f"{address}/{{id}}/test", post=subscription.test),
        at(f"{address}/{{id}}/delete", get=subscription.delete_form, post=subscription.delete),
    ]


def _staff(pages: AdminPages) -> list[Route]:
    address, at = "/admin/staff", partial(pages.at, who=Who.OWNER, asks_again=True)
    return [
        at(address, get=staff.staff_page, post=staff.invite),
        at(f"{address}/second-factor", post=staff.require_factors),
        at(f"{address}/{{id}}", get=staff.person_page, post=staff.save_person),
        at(f"{address}/{{id}}/invite", post=staff.invite_again),
        at(f"{address}/{{id}}/factors", post=staff.reset_factors),
        at(f"{address}/{{id}}/sign-out", post=staff.sign_out),
        at(f"{address}/{{id}}/remove", post=staff.remove),
    ]


def _texts(pages: AdminPages, texts: type[TextList]) -> list[Route]:
    """A list of texts, and the pages of each of them."""
    at, section = pages.at, texts.section
    address = section.address

    def of(handler: Handler) -> Handler:
        return partial(handler, section)

    save = script_call(pages, partial(editor.save_call, section), "id", limit=editor.MAX_SAVE)
    return [
        at(address, get=texts.show),
        at(f"{address}/bulk", post=partial(bulk.change_selected, texts)),
        at(f"{address}/new", get=of(text.new_form), post=of(text.create), limit=text.MAX_FORM),
        at(f"{address}/{{id}}", get=of(text.form), post=of(text.save), limit=text.MAX_FORM),
        Route(f"{address}/{{id}}/text", save),
        Route(
            f"{address}/{{id}}/here",
            script_call(pages, partial(presence.here_call, section), "id"),
        ),
        at(
            f"{address}/{{id}}/publish",
            get=of(publishing.publish_form),
            post=of(publishing.publish),
        ),
        *_review(pages, section),
        *_sharing(pages, section),
        at(f"{address}/{{id}}/duplicate", post=of(text.duplicate), limit=text.MAX_FORM),
        at(f"{address}/{{id}}/preview", get=of(preview.preview)),
        at(f"{address}/{{id}}/preview/page", get=of(preview.preview_page)),
        at(f"{address}/{{id}}/revisions", get=of(revisions.revisions)),
        at(
            f"{address}/{{id}}/revisions/{{revision}}",
            get=of(revisions.revision),
            post=of(revisions.restore),
        ),
        at(f"{address}/{{id}}/delete", get=of(text.delete_form), post=of(text.delete)),
    ]


def _sharing(pages: AdminPages, section: Section) -> list[Route]:
    if not section.has_review:
        return []
    at, address = pages.at, f"{section.address}/{{id}}/share"
    return [
        at(address, get=sharing.share_page, post=sharing.make_share_link),
        at(f"{address}/{{link}}/end", post=sharing.end_share_link),
    ]


def _review(pages: AdminPages, section: Section) -> list[Route]:
    if not section.has_review:
        return []
    address = f"{section.address}/{{id}}/send-back"
    sending = pages.at(
        address, get=reviewing.send_back_form, post=reviewing.send_back, who=Who.EDITOR
    )
    return [sending]


def _snippets(pages: AdminPages) -> list[Route]:
    at, address = partial(pages.at, who=Who.EDITOR), snippets.ADDRESS
    saving = script_call(pages, snippets.save_call, limit=snippets.MAX_FORM)
    return [
        pages.at(address, get=snippets.SnippetList.show),
        Route(f"{address}/found", script_read(pages, snippets.found_call)),
        Route(f"{address}/document", script_read(pages, snippets.document_call)),
        Route(f"{address}/save", saving),
        at(
            f"{address}/new",
            get=snippets.new_snippet,
            post=snippets.create_snippet,
            limit=snippets.MAX_FORM,
        ),
        at(
            f"{address}/{{id}}",
            get=snippets.snippet_form,
            post=snippets.save_snippet,
            limit=snippets.MAX_FORM,
        ),
        at(f"{address}/{{id}}/delete", post=snippets.delete_snippet),
    ]


def _media(pages: AdminPages) -> list[Route]:
    at, item = pages.at, "/admin/media/{id}"
    uploading = upload_call(pages, media.upload_call)
    return [
        at("/admin/media", get=media.MediaList.show, post=media.upload_form, files=media.MAX_FILES),
        at("/admin/media/choose", get=media.choices),
        Route("/admin/media/upload", uploading),
        at(item, get=media_item.item_page, post=media_item.save_item),
        at(f"{item}/file", post=media_item.replace_form, files=1),
        at(f"{item}/delete", get=media_item.delete_form, post=media_item.delete_item),
    ]


def _trash(pages: AdminPages) -> list[Route]:
    at, entry = pages.at, f"{trash.ADDRESS}/{{id}}"
    return [
        at(trash.ADDRESS, get=trash.TrashList.show),
        at(f"{trash.ADDRESS}/empty", get=trash.empty_form, post=trash.empty),
        at(f"{entry}/restore", post=trash.restore),
        at(f"{entry}/delete", get=trash.delete_form, post=trash.delete),
    ]


def _shop(pages: AdminPages) -> list[Route]:
    at, gift_cards = partial(pages.at, who=Who.OWNER), shop.GiftCardList
    return [
        at(shop.OrderList.address, get=shop.OrderList.show),
        at(f"{shop.OrderList.address}/{{id}}", get=shop.order_page),
        at(gift_cards.address, get=gift_cards.show),
        at(f"{gift_cards.address}/{{id}}", get=shop.gift_card_page),
        *_goods_routes(pages, shop.PRODUCTS),
        *_goods_routes(pages, shop.TIERS),
        at(offers.OfferList.address, get=offers.OfferList.show),
        at(f"{offers.OfferList.address}/new", get=offers.new_offer, post=offers.create_offer),
        at(f"{offers.OfferList.address}/{{id}}", get=offers.offer_form, post=offers.save_offer),
    ]


def _goods_routes(pages: AdminPages, goods: shop.Goods) -> list[Route]:
    at, address = partial(pages.at, who=Who.OWNER), goods.page.address

    def of(handler: Handler) -> Handler:
        return partial(handler, goods)

    return [
        at(address, get=goods.page.show),
        at(f"{address}/new", get=of(shop.new_goods), post=of(shop.create_goods)),
        at(f"{address}/{{id}}", get=of(shop.goods_form), post=of(shop.save_goods)),
    ]


async def _more(request: AdminRequest) -> Answer:
    # Called by the template, when it is known whether the site sells.
    return Page("more.html", words("More"), {"groups": partial(every_group_of, request)})


async def _nothing(request: AdminRequest) -> Answer:
    if request.path == "/admin/":
        return Redirect("/admin")
    raise NotFound
