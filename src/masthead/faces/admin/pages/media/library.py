"""The media library: its lists, uploads, and the choice of a picture."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
from msgspec.structs import replace

from masthead.base.errors import BadRequest, Invalid, MastheadError, NotFound
from masthead.base.languages.words import counted, words
from masthead.engine.records.collection import Record
from masthead.engine.records.filter.ast import Expression
from masthead.engine.records.filter.conditions import equals, has_item
from masthead.faces.admin.calls import JsonAnswer
from masthead.faces.admin.endpoint import Answer, Page, Redirect
from masthead.faces.admin.environment import number
from masthead.faces.admin.forms import sentence_of
from masthead.faces.admin.lists import ListPage, Pick, Search, read_page
from masthead.faces.admin.pages.media.item import ADDRESS, Detail, detail_of, thumb_of
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
    "image": words("Pictures"),
    "video": words("Videos"),
    "audio": words("Audio"),
    "application": words("Documents"),
    "text": words("Texts"),
}


class MediaList(ListPage, frozen=True):
    address = ADDRESS
    title = words("Media")
    collection = media
    template = "media/_list.html"
    page = "media/library.html"
    search = Search(words("Search names, alt texts and captions"), words("Search media"))
    picks = (
        Pick("type", words("Type"), words("Any type"), TYPES),
        Pick("use", words("Use"), words("Used or not"), {"unused": words("Unused")}),
        Pick("alt", words("Alt text"), words("Any alt text"), {"missing": words("Missing")}),
    )
    choices = (("view", ("list",)),)
    no_match = (
        words("No file matches"),
        words("No file matches. Try fewer filters or other words."),
    )
    per_page = PER_PAGE

    q: str = ""
    type: str = ""
    use: str = ""
    alt: str = ""
    view: str = ""

    @property
    def is_narrow(self) -> bool:
        return any(name != "view" for name in self.parameters())

    def kept(self, _: Sequence[Pick]) -> dict[str, str]:
        """The view is chosen in the filter bar, too."""
        return {}

    @property
    def _lists(self) -> list[Expression]:
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
    def words(self) -> str:
        """The last word may be unfinished."""
        return self.q if not self.q or self.q.endswith(('"', "*")) else f"{self.q}*"

    @property
    def is_counted(self) -> bool:
        return not self.q and len(self._lists) < 2

    def conditions(self, _: AdminRequest) -> list[Expression]:
        return self._lists

    async def values(self, request: AdminRequest, items: Sequence[Record]) -> dict[str, Any]:
        chosen = request.query.get("item", "")
        return {
            "rows": [_tile(each) for each in items],
            **await self._total(request),
            "chosen": chosen,
            "detail": await _read_chosen(request, chosen, self),
            "refused": (),
            "said": "",
        }

    async def _total(self, request: AdminRequest) -> dict[str, int]:
        if not self.is_narrow:
            return {}
        return {"total": await request.records.counts.total(request.caller, media, "")}


class Refused(msgspec.Struct, frozen=True):
    name: str
    reason: str


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
        refused.append(Refused(words("No file"), words("Choose at least one.")))
    said = (
        counted("%(number)s file uploaded.", "%(number)s files uploaded.", stored) if stored else ""
    )
    if not refused:
        return Redirect(ADDRESS, said)
    page = await MediaList.show(request)
    assert isinstance(page, Page)
    return replace(page, values={**page.values, "refused": refused, "said": said}, status=422)


async def upload_call(request: AdminRequest, form: Form) -> JsonAnswer:
    """One file, from the library, the editor, or the choice of a picture."""
    upload = next((each for each in form.files if each.field == "file"), None)
    if upload is None:
        raise BadRequest(words("The request contains no file."))
    given = {name: value for name, value in form.fields if name == "alt"}
    return JsonAnswer(
        dict(picture_of(request, as_media(await _store_file(request, upload, given))))
    )


async def choices(request: AdminRequest) -> Answer:
    """The pictures that a text may be given, for the script of the choice."""
    filters = MediaList(q=request.query.get("q", "").strip(), type="image")
    if not request.is_fragment:
        return Redirect(filters.url())
    listing = filters.listing(request)

    def url(**more: str | int) -> str:
        return filters.url(**more).replace(ADDRESS, f"{ADDRESS}/choose", 1)

    page = await read_page(request, replace(listing, url=url), CHOICES_PER_PAGE)
    items, pager = page or ([], None)
    tiles = [(_tile(each), picture_of(request, as_media(each))) for each in items]
    values = {"tiles": tiles, "pager": pager, "q": filters.q}
    return Page(
        "media/_choices.html", words("Choose a picture"), values, fragment="media/_choices.html"
    )


async def _read_chosen(request: AdminRequest, item_id: str, filters: MediaList) -> Detail | None:
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
        return " ".join(map(sentence_of, error.problems.values()))
    return str(error)


def _tile(item: Record) -> Record:
    media = as_media(item)
    return item | {"thumb": thumb_of(media), "use": _use(media)}


def _use(item: MediaRecord) -> str:
    if item["uses"]:
        return counted("%(count)s use", "%(count)s uses", item["uses"], count=number(item["uses"]))
    return words("In a change") if item["draft_uses"] else words("Unused")


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
