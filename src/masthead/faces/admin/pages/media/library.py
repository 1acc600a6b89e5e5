"""The media library: its lists, uploads, and the choice of a picture."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from typing import Any, ClassVar

import msgspec

from masthead.base.errors import BadRequest, Invalid, MastheadError, NotFound
from masthead.engine.records.collection import Record
from masthead.engine.records.filter.ast import Expression
from masthead.engine.records.filter.conditions import all_of, equals, has_item
from masthead.engine.records.read.page import ListRequest
from masthead.faces.admin.calls import JsonAnswer
from masthead.faces.admin.endpoint import Answer, Page, Redirect
from masthead.faces.admin.lists import Filters, Listing, options, read_page
from masthead.faces.admin.pages.media.item import ADDRESS, Detail, detail_of, size_text, thumb_of
from masthead.faces.admin.request import AdminRequest
from masthead.features.media.collection import NO_ALT, UNUSED, list_name, media
from masthead.features.media.record_view import MediaRecord, as_media
from masthead.features.media.upload import store_upload
from masthead.web.multipart import Form, Upload

PER_PAGE = 24
CHOICES_PER_PAGE = 12
MAX_FILES = 4
"""How many of the largest files a form without script may hold; more of smaller ones."""
TYPES = {
    "image": "Pictures",
    "video": "Videos",
    "audio": "Audio",
    "application": "Documents",
    "text": "Texts",
}
USES = {"unused": "Unused"}
ALTS = {"missing": "Missing"}
VIEWS = {"list": "List"}


class MediaFilters(Filters, frozen=True):
    address: ClassVar[str] = ADDRESS
    choices: ClassVar[Mapping[str, Container[str]]] = {
        "type": TYPES,
        "use": USES,
        "alt": ALTS,
        "view": VIEWS,
    }

    q: str = ""
    type: str = ""
    use: str = ""
    alt: str = ""
    view: str = ""

    @property
    def is_narrow(self) -> bool:
        return any(name != "view" for name in self.parameters())

    @property
    def conditions(self) -> list[Expression]:
        """Each combination has a list of its own, except that no other type lacks alternative
        text."""
        if self.use and self.alt:
            found = [has_item("library_lists", list_name(UNUSED, NO_ALT))]
        elif self.use and self.type:
            return [has_item("library_lists", list_name(UNUSED, self.type))]
        elif self.use or self.alt:
            found = [has_item("library_lists", list_name(UNUSED if self.use else NO_ALT))]
        else:
            found = []
        is_said = bool(self.alt) and self.type == "image"
        return [*found, equals("mime_family", self.type)] if self.type and not is_said else found

    @property
    def search(self) -> str:
        """The last word may be unfinished."""
        return self.q if not self.q or self.q.endswith(('"', "*")) else f"{self.q}*"

    def listing(self) -> Listing:
        conditions = self.conditions
        wanted = ListRequest(
            filter=all_of(conditions) or "",
            search=self.search,
            sort="" if self.q else "-created",
            skip_total=bool(self.q) or len(conditions) > 1,
        )
        return Listing(media, wanted, self.url)


class Tile(msgspec.Struct, frozen=True):
    id: str
    name: str
    url: str
    thumb: str
    """Empty for what is no picture."""
    extension: str
    """The extension of the name, shown where there is no picture."""
    kind: str
    size: str
    dimensions: str
    use: str
    is_private: bool
    lacks_alt: bool
    alt: str
    added: str
    added_at: str
    picture: Mapping[str, Any]
    """The values of the item that a text needs."""


class Refused(msgspec.Struct, frozen=True):
    name: str
    reason: str


async def library(request: AdminRequest) -> Answer:
    return await _library(request)


async def upload_form(request: AdminRequest) -> Answer:
    """Without script: several files at once. Those that are refused are named with the reason."""
    stored, refused = 0, list[Refused]()
    for upload in request.files:
        try:
            await _store_file(request, upload, {})
            stored += 1
        except MastheadError as error:
            refused.append(Refused(upload.filename, reason_of(error)))
    if not request.files:
        refused.append(Refused("No file", "Choose at least one."))
    said = f"{stored} file{'' if stored == 1 else 's'} uploaded." if stored else ""
    if refused:
        return await _library(request, refused, said)
    return Redirect(ADDRESS, said)


async def upload_call(request: AdminRequest, form: Form) -> JsonAnswer:
    """One file, from the library, the editor, or the choice of a picture."""
    upload = next((each for each in form.files if each.field == "file"), None)
    if upload is None:
        raise BadRequest("The request contains no file.")
    given = {name: value for name, value in form.fields if name == "alt"}
    return JsonAnswer(
        dict(picture_of(request, as_media(await _store_file(request, upload, given))))
    )


async def choices(request: AdminRequest) -> Answer:
    """The pictures that a text may be given, for the script of the choice."""
    filters = MediaFilters(q=request.query.get("q", "").strip(), type="image")
    if not request.is_fragment:
        return Redirect(filters.url())
    page = await read_page(request, _choice_listing(filters), CHOICES_PER_PAGE)
    items, pager = page or ([], None)
    values = {
        "tiles": [tile_of(request, as_media(each)) for each in items],
        "pager": pager,
        "q": filters.q,
    }
    return Page("media/_choices.html", "Choose a picture", values, fragment="media/_choices.html")


def _choice_listing(filters: MediaFilters) -> Listing:
    listing = filters.listing()

    def url(**more: str | int) -> str:
        return filters.url(**more).replace(ADDRESS, f"{ADDRESS}/choose", 1)

    return Listing(listing.collection, listing.wanted, url)


async def _library(
    request: AdminRequest, refused: Sequence[Refused] = (), said: str = ""
) -> Answer:
    filters = MediaFilters.of(request.query)
    page = await read_page(request, filters.listing(), PER_PAGE)
    if page is None:
        return Redirect(filters.url())
    items, pager = page
    total = pager.total
    if filters.is_narrow:
        total = await request.records.counts.total(request.caller, media, "")
    chosen = request.query.get("item", "")
    values = {
        "filters": filters,
        "tiles": [tile_of(request, as_media(each)) for each in items],
        "pager": pager,
        "total": total,
        "types": options(TYPES),
        "uses": options(USES),
        "alts": options(ALTS),
        "has_media": total > 0,
        "chosen": chosen,
        "detail": await _read_chosen(request, chosen, filters),
        "refused": refused,
        "said": said,
    }
    return Page(
        "media/library.html",
        "Media",
        values,
        status=422 if refused else 200,
        fragment="media/_list.html",
    )


async def _read_chosen(request: AdminRequest, item_id: str, filters: MediaFilters) -> Detail | None:
    """The item that is shown beside the list; one that was deleted is no error."""
    if not item_id:
        return None
    try:
        item = await request.records.get(request.caller, media, item_id)
    except NotFound:
        return None
    return await detail_of(request, as_media(item), back=filters.url(item=item_id))


async def _store_file(request: AdminRequest, upload: Upload, given: Mapping[str, str]) -> Record:
    upload.field = "file"
    return await store_upload(request.services, request.caller, media, given, uploads=[upload])


def reason_of(error: MastheadError) -> str:
    """Beside the name of a file that was refused."""
    if isinstance(error, Invalid):
        return " ".join(problem.message for problem in error.problems.values())
    return str(error)


def tile_of(request: AdminRequest, item: MediaRecord) -> Tile:
    is_picture = item["mime_family"] == "image"
    return Tile(
        id=item["id"],
        name=item["filename"],
        url=f"{ADDRESS}/{item['id']}",
        thumb=thumb_of(item),
        extension=item["filename"].rpartition(".")[2].upper()[:5],
        kind=item["mime_type"],
        size=size_text(item["size"]),
        dimensions=f"{item['width']} × {item['height']}" if item["width"] else "",
        use=_use(item),
        is_private=item["private"],
        lacks_alt=is_picture and not item["alt"],
        alt=item["alt"],
        added=request.when(item["created"]),
        added_at=item["created"],
        picture=picture_of(request, item),
    )


def _use(item: MediaRecord) -> str:
    if item["uses"]:
        return "1 use" if item["uses"] == 1 else f"{item['uses']:,} uses"
    return "In a change" if item["draft_uses"] else "Unused"


def picture_of(request: AdminRequest, item: MediaRecord) -> dict[str, Any]:
    """The values of an item for scripts."""
    return {
        "id": item["id"],
        "url": request.site_url + item["url"],
        "alt": item["alt"],
        "caption": item["caption"],
        "width": item["width"],
        "height": item["height"],
        "thumb": thumb_of(item),
        "filename": item["filename"],
    }
