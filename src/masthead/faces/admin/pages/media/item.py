"""One item of the media library: its details, its uses, and replacing its file."""

from __future__ import annotations

import msgspec

from masthead.base.errors import Forbidden, Invalid, Problem, TooLarge
from masthead.base.languages.words import words
from masthead.engine.links.file_readers import is_open
from masthead.engine.links.file_uses import USES
from masthead.engine.records.collection import Collection, Record
from masthead.faces.admin.endpoint import Answer, Page, Redirect
from masthead.faces.admin.environment import day, size_text
from masthead.faces.admin.forms import Ask, Form, Widget, problem_of, summary
from masthead.faces.admin.pages.settings.subnav import WELCOME
from masthead.faces.admin.pages.trash import restore_address
from masthead.faces.admin.people import staff_names
from masthead.faces.admin.request import AdminRequest
from masthead.faces.admin.sections import PAGES, POSTS
from masthead.features.commerce.collection import products
from masthead.features.mailings.welcome_emails import welcome_emails
from masthead.features.media.collection import media
from masthead.features.media.copies import widths_of
from masthead.features.media.http import THUMBNAIL_TYPES
from masthead.features.media.path import media_path
from masthead.features.media.record_view import MediaRecord, as_media
from masthead.features.media.sniff import SVG
from masthead.features.media.upload import replace_file
from masthead.features.site.address import with_origin
from masthead.features.site.collection import site_settings
from masthead.identity.tenants import superusers

ADDRESS = "/admin/media"
SMALL = "300x0"
LARGE = "1200x0"
MAX_USES = 20
"""The most uses of each kind in the list of places where an item is used."""

_READERS = words("Staff, and members who can read a text that uses it")

_FORM = Form(
    media,
    (
        Ask(
            "alt",
            words("Alt text"),
            words("Describe the picture for people who can't see it."),
            rows=3,
        ),
        Ask(
            "caption",
            words("Caption"),
            words("Shown below the picture when you insert it into a text from the library."),
            rows=2,
        ),
        Ask(
            "private",
            words("Private"),
            words(
                "Guests can’t open it; staff can, and so can members who can "
                "read a text that uses it."
            ),
        ),
    ),
)


class Use(msgspec.Struct, frozen=True):
    label: str
    url: str = ""
    """Empty where there is no page for it."""
    note: str = ""


class Detail(msgspec.Struct, frozen=True):
    item: MediaRecord
    preview: str
    facts: tuple[tuple[str, str], ...]
    fields: dict[str, Widget]
    uses: tuple[Use, ...]
    more_uses: int
    """Places that are not listed: too many, or not for this reader."""
    may_change: bool
    back: str
    """The list to return to; empty on a separate page."""

    @property
    def url(self) -> str:
        return f"{ADDRESS}/{self.item['id']}"


async def save_item(request: AdminRequest, item_id: str) -> Answer:
    await request.records.update(request.caller, media, item_id, _FORM.given(request))
    return Redirect(_back(request) or f"{ADDRESS}/{item_id}", words("Saved."))


async def replace_form(request: AdminRequest, item_id: str) -> Answer:
    item = await request.records.get(request.caller, media, item_id)
    try:
        if not request.files:
            raise Invalid({"file": Problem("validation_required", words("Choose a file."))})
        upload = request.files[0]
        upload.field = "file"
        await replace_file(request.services, request.caller, item, upload)
    except (Invalid, TooLarge) as error:
        request.problems = {"file": problem_of(error)}
        return await item_page(request, item_id)
    sentence = words("The file is replaced. Every text that uses it shows the new one.")
    return Redirect(_back(request) or f"{ADDRESS}/{item_id}", sentence)


async def delete_form(request: AdminRequest, item_id: str) -> Answer:
    item = await request.records.get(request.caller, media, item_id)
    detail = await detail_of(request, as_media(item))
    _check_may_change(detail)
    title = words("Delete “%(filename)s”?", filename=detail.item["filename"])
    return Page("media/delete.html", title, {"detail": detail})


async def delete_item(request: AdminRequest, item_id: str) -> Answer:
    item = await request.records.delete(request.caller, media, item_id)
    sentence = words("“%(filename)s” is in the trash.", filename=item["filename"][:80])
    return Redirect(ADDRESS, sentence, undo=restore_address(item))


async def detail_of(request: AdminRequest, item: MediaRecord, back: str = "") -> Detail:
    uses = await _uses(request, item)
    # A change that is not live yet belongs to a text that is listed anyway, or stands for it.
    counted = sum(not each.note for each in uses)
    is_own = item["uploaded_by"] == request.caller.id
    return Detail(
        as_media(with_origin(item, media, request.site_url)),
        preview=large_of(item),
        facts=await _facts(request, item),
        fields=_FORM.values(request, item)["fields"],
        uses=tuple(uses),
        more_uses=max(item["uses"] - counted, 0),
        may_change=not request.caller.is_writer or is_own,
        back=back,
    )


async def item_page(request: AdminRequest, item_id: str) -> Answer:
    item = await request.records.get(request.caller, media, item_id)
    detail = await detail_of(request, as_media(item), _back(request))
    labels = {"file": words("File")} | {name: each.label for name, each in detail.fields.items()}
    values = {"detail": detail, "problems": summary(request, labels)}
    return Page("media/item.html", item["filename"], values, fragment="media/_detail.html")


def _back(request: AdminRequest) -> str:
    """The list that the item is shown beside."""
    given = request.form.get("back", "") or request.query.get("back", "")
    is_list = given == ADDRESS or given.startswith(f"{ADDRESS}?")
    return given if is_list and given.isprintable() else ""


def _check_may_change(detail: Detail) -> None:
    if not detail.may_change:
        raise Forbidden(words("Only its uploader, an editor or an owner can delete this file."))


async def _facts(request: AdminRequest, item: MediaRecord) -> tuple[tuple[str, str], ...]:
    names = await staff_names(request)
    sides = f"{item['width']} × {item['height']}, " if item["width"] else ""
    moment = request.local(item["created"])
    by = names.get(item["uploaded_by"], "")
    facts = [
        (words("Size"), f"{sides}{size_text(item['size'])}"),
        (words("Type"), item["mime_type"]),
        (words("Added"), f"{day(moment)}{f', {by}' if by else ''}"),
        (words("Opens for"), words("Everyone") if is_open(item) else _READERS),
    ]
    widths = widths_of(item["picture_sizes"])
    return (*facts, (words("Copies"), ", ".join(map(str, widths)))) if widths else tuple(facts)


async def _uses(request: AdminRequest, item: MediaRecord) -> list[Use]:
    """Where it is used, as far as the caller may read it."""
    found: dict[str, Use] = {}
    for section in (POSTS, PAGES):
        for text in await _find_using(request, section.texts, item, "title"):
            url = section.url(text["id"])
            found[url] = Use(text["title"], url)
        for copy in await _find_using(
            request, section.kind.working_copies, item, "title", section.kind.pointer
        ):
            url = section.url(copy[section.kind.pointer])
            found.setdefault(
                url, Use(copy["title"], url, words("in changes that are not live yet"))
            )
    uses = list(found.values())
    uses += [
        Use(words("The site’s settings"))
        for _ in await _find_using(request, site_settings, item, "id")
    ]
    for person in await _find_using(request, superusers, item, "name"):
        uses.append(
            Use(words("The picture of %(name)s", name=person["name"] or words("an account")))
        )
    for text in await _find_using(request, welcome_emails, item, "kind"):
        uses.append(
            Use(
                words("The welcome email for paid members")
                if text["kind"] == "paid"
                else words("The welcome email for free members"),
                f"{WELCOME}/{text['kind']}",
            )
        )
    for product in await _find_using(request, products, item, "name"):
        uses.append(Use(words("The product %(name)s", name=product["name"])))
    return uses


async def _find_using(
    request: AdminRequest, collection: Collection, item: MediaRecord, *names: str
) -> list[Record]:
    try:
        return await request.first(
            collection,
            MAX_USES,
            listing=(USES, item["id"]),
            sort="-created",
            names=frozenset({"id", *names}),
        )
    except Forbidden:
        return []


def thumb_of(item: MediaRecord, size: str = SMALL) -> str:
    """The path of a thumb, which is the same on every host. Empty if no browser shows the file."""
    path = media_path(item["id"], item["file"])
    if item["mime_type"] == SVG:
        return path
    if not item["width"]:
        return ""
    if item["mime_type"] in THUMBNAIL_TYPES:
        return f"{path}?thumb={size}"
    widths = widths_of(item["picture_sizes"])
    return f"{path}/{widths[0] if size == SMALL else widths[-1]}.webp" if widths else path


def large_of(item: MediaRecord) -> str:
    return thumb_of(item, LARGE)
