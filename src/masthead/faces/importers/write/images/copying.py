"""Copies the pictures of imported posts into the site's own media, each once.

A picture that was copied before is not fetched again. A picture that can't be copied is listed in
the report, and the post keeps its old address.
"""

from __future__ import annotations

import asyncio
import base64
import binascii
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING
from urllib.parse import unquote, unquote_to_bytes

from masthead.base.caller import system
from masthead.base.errors import Invalid, MastheadError
from masthead.base.ids import TenantId
from masthead.base.languages.words import staff_marked, staff_words
from masthead.base.logs import log
from masthead.engine.records.collection import Record
from masthead.engine.records.write.unit import Unit
from masthead.faces.importers.convert.image_urls import ImageRef, file_name, picture_key
from masthead.faces.importers.report import IMAGE, Note
from masthead.faces.importers.write.images.archived import Archive
from masthead.faces.importers.write.previous_imports import IMAGES, Item, PreviousImports
from masthead.features.media.collection import media
from masthead.features.media.path import media_path
from masthead.features.media.services import SharedServices
from masthead.features.media.sniff import sniff
from masthead.features.media.upload import store_file
from masthead.outside.outbound.downloads import RETRY_DELAYS, Downloads, RetryDelays
from masthead.outside.outbound.errors import OutboundError
from masthead.outside.outbound.slots import HostSlots
from masthead.web.multipart import Upload

if TYPE_CHECKING:
    from masthead.outside.outbound.answers import Download

TIMEOUT_SECONDS = 60.0
NO_ADDRESS = staff_marked("The address is relative, and the export has no site address.")
MAX_SHOWN = 500
"""Characters of an address in a report; `data:` images are their own address."""


class _NotCopied(Exception):
    """The message is for the report."""


class ImageCopier:
    """One per run, because batches share pictures."""

    def __init__(
        self,
        services: SharedServices,
        tenant_id: TenantId,
        previous: PreviousImports,
        *,
        archive: Archive | None = None,
        emit_events: bool = False,
        retry_delays: RetryDelays = RETRY_DELAYS,
    ) -> None:
        self.failures: list[Note] = []
        self.copied = 0
        """Pictures that this run has stored."""
        self.to_fetch = 0
        """In a dry run: those that are not in the export itself."""
        self._services = services
        self._tenant_id = tenant_id
        self._previous = previous
        self._archive = archive
        self._archive_lock = asyncio.Lock()
        self._emit_events = emit_events
        self._retry_delays = retry_delays
        self._same_content = HostSlots(1)
        self._new_urls: dict[str, str] = {}
        """New addresses by picture key; so are `_reasons`, why a picture was not copied."""
        self._reasons: dict[str, str] = {}

    @cached_property
    def _downloads(self) -> Downloads:
        """Created with the first picture: many imports fetch none."""
        return Downloads(
            self._services.outbound,
            max_bytes=self._services.settings.max_upload,
            timeout_seconds=TIMEOUT_SECONDS,
            retry_delays=self._retry_delays,
        )

    async def copy(self, refs: Iterable[ImageRef]) -> dict[str, str]:
        """Maps the addresses as written in the posts to the new ones."""
        pictures: dict[str, list[ImageRef]] = {}
        for ref in refs:
            pictures.setdefault(picture_key(ref.original_url), []).append(ref)
        unknown = [
            key for key in pictures if key not in self._new_urls and key not in self._reasons
        ]
        await self._find_previous(unknown)
        async with asyncio.TaskGroup() as group:
            for key in unknown:
                if key not in self._new_urls:
                    group.create_task(self._copy_one(key, pictures[key]))
        return dict(self._results(pictures))

    def _results(self, pictures: Mapping[str, list[ImageRef]]) -> Iterable[tuple[str, str]]:
        for key, refs in pictures.items():
            for ref in refs:
                if new_url := self._new_urls.get(key):
                    yield from ((url, new_url) for url in ref.urls)
                elif reason := self._reasons.get(key):
                    shown = ref.urls[0][:MAX_SHOWN]
                    original = ref.original_url[:MAX_SHOWN]
                    picture = "" if original == shown else original
                    note = Note(IMAGE, ref.source_id, url=shown, reason=reason, picture=picture)
                    self.failures.append(note)

    async def _find_previous(self, keys: Sequence[str]) -> None:
        if keys:
            found = await self._previous.copies(keys)
            self._new_urls |= {key: _url_of(record) for key, record in found.items()}

    async def _copy_one(self, key: str, refs: Sequence[ImageRef]) -> None:
        try:
            self._new_urls[key] = await self._copy_from_anywhere(key, refs)
        except _NotCopied as error:
            self._reasons[key] = str(error)
        # One of the three broad edges, an importer's row: one picture that fails does not stop
        # the others.
        except Exception as error:
            log.warning("image_not_copied", url=refs[0].urls[0][:MAX_SHOWN], exc_info=True)
            self._reasons[key] = staff_words(
                "It can't be copied (%(error)s).", error=type(error).__name__
            )

    async def _copy_from_anywhere(self, key: str, refs: Sequence[ImageRef]) -> str:
        original = refs[0].original_url
        if self._archive is not None and (entry := _entry_of(refs, self._archive)):
            return await self._copy_from_archive(self._archive, key, original, entry)
        if original[:5].lower() == "data:":
            return await self._store_upload(key, "image", _decode_address(original))
        candidates = dict.fromkeys(url for ref in refs for url in ref.candidates)
        if not candidates:
            raise _NotCopied(NO_ADDRESS)
        return await self._download(key, file_name(original), list(candidates))

    async def _download(self, key: str, name: str, candidates: Sequence[str]) -> str:
        """The first candidate that is a picture. An error names the reason of the first one."""
        reasons: list[str] = []

        async def store(download: Download) -> str:
            return await self._store_upload(key, name, download.chunks)

        for url in candidates:
            try:
                return await self._downloads.fetch(url, store)
            except OutboundError as error:
                reasons.append(error.message)
            except _NotCopied as error:
                reasons.append(str(error))
        raise _NotCopied(reasons[0])

    async def _copy_from_archive(
        self, archive: Archive, key: str, original: str, entry: str
    ) -> str:
        """A file of any type that may be uploaded."""
        try:
            async with self._archive_lock:
                content = await asyncio.to_thread(archive.read, entry)
        except (OSError, ValueError, MastheadError) as error:
            raise _NotCopied(
                staff_words("The file in the archive can't be read: %(error)s", error=error)
            ) from error
        name = file_name(original) or file_name(entry)
        return await self._store_upload(key, name, _once(content), is_picture=False)

    async def _store_upload(
        self, key: str, name: str, chunks: AsyncIterator[bytes], *, is_picture: bool = True
    ) -> str:
        upload = Upload("file", name or "image", "")
        try:
            await upload.fill(chunks)
            if is_picture and not sniff(upload.head, upload.filename).startswith("image/"):
                raise _NotCopied(staff_words("The file at this address is not a picture."))
            # Another task may store the same picture from another address.
            async with self._same_content.slot(upload.sha256):
                return await self._store_media(key, upload)
        except MastheadError as error:
            raise _NotCopied(_message(error)) from error
        except OSError as error:
            raise _NotCopied(
                staff_words("It could not be stored: %(error)s.", error=error.strerror)
            ) from error
        finally:
            upload.close()

    async def _store_media(self, key: str, upload: Upload) -> str:
        records, tenant_id = self._services.records, self._tenant_id
        same = await records.find_one(media, {"sha256": upload.sha256}, tenant_id=tenant_id)
        if same:
            async with records.unit(system(tenant_id)) as unit:
                await self._save_item(unit, key, same, "")
            return _url_of(same)
        async with (
            store_file(self._services, tenant_id, media, upload) as kept,
            records.unit(system(tenant_id), emit_events=self._emit_events) as unit,
        ):
            record = await kept.create(unit, media, {})
            await self._save_item(unit, key, record, self._previous.run_id)
        self.copied += 1
        return _url_of(record)

    async def _save_item(self, unit: Unit, key: str, record: Record, run_id: str) -> None:
        item = Item(media.name, record["id"], record["sha256"], run_id=run_id)
        await self._previous.save(unit, IMAGES, {key: item})


class DryCopier(ImageCopier):
    """Counts what a run would copy. It fetches and stores nothing, so these have no new address."""

    async def _store_upload(
        self, key: str, name: str, chunks: AsyncIterator[bytes], *, is_picture: bool = True
    ) -> str:
        self.copied += 1
        return ""

    async def _download(self, key: str, name: str, candidates: Sequence[str]) -> str:
        self.to_fetch += 1
        return ""

    async def _copy_from_archive(
        self, archive: Archive, key: str, original: str, entry: str
    ) -> str:
        return await self._store_upload(key, "", _once(b""))


def _entry_of(refs: Sequence[ImageRef], archive: Archive) -> str:
    """The name of a picture's file in the export; '' where it is not there."""
    # The original first: the archive may hold smaller sizes, too.
    urls = (url for ref in refs for url in (*ref.candidates, *ref.urls))
    return archive.entry_of((refs[0].original_url, *urls))


def _url_of(record: Record) -> str:
    """Without a host, because a site may change its host."""
    return media_path(record["id"], record["file"])


async def _decode_address(url: str) -> AsyncIterator[bytes]:
    head, comma, content = url.partition(",")
    if not comma:
        raise _NotCopied(staff_words("The picture in the address is cut off."))
    if not head.lower().rstrip().endswith(";base64"):
        yield unquote_to_bytes(content)
        return
    try:
        yield base64.b64decode("".join(unquote(content).split()), validate=True)
    except (binascii.Error, ValueError) as error:
        raise _NotCopied(staff_words("The picture in the address is not base64.")) from error


async def _once(content: bytes) -> AsyncIterator[bytes]:
    yield content


def _message(error: MastheadError) -> str:
    if isinstance(error, Invalid):
        return " ".join(problem.message for problem in error.problems.values())
    return str(error)
