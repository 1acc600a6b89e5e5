"""Copies the pictures of imported posts into the site's own media, each once.

What was copied before is remembered and found again without asking the old site. Nothing here
fails: what can't be had is listed, and the post keeps the old address.
"""

from __future__ import annotations

import asyncio
import base64
import binascii
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Protocol
from urllib.parse import unquote, unquote_to_bytes

import structlog

from masthead.caller import system
from masthead.errors import Invalid, MastheadError
from masthead.ids import TenantId
from masthead.importers.files.archived import Archive
from masthead.importers.images.urls import ImageRef, file_name, picture_key
from masthead.importers.run.memory import IMAGES, Item, Memory
from masthead.media.collection import media
from masthead.media.sniff import sniff
from masthead.media.upload import UploadServices, media_path, stored_file
from masthead.outbound.downloads import RETRY_DELAYS, Downloads, RetryDelays
from masthead.outbound.errors import OutboundError
from masthead.outbound.slots import HostSlots
from masthead.records.collection import Record
from masthead.records.write.unit import Unit
from masthead.web.multipart import Upload

if TYPE_CHECKING:
    from masthead.outbound.client import Download, OutboundClient

log = structlog.get_logger()

TIMEOUT_SECONDS = 60.0
MAX_SHOWN = 500
"""Characters of an address in a report; `data:` images are their own address."""


class ImportServices(UploadServices, Protocol):
    @property
    def outbound(self) -> OutboundClient: ...


@dataclass(frozen=True, slots=True)
class ImageFailure:
    source_id: str
    """The post that keeps the address."""
    url: str
    """As it stands in the post."""
    reason: str


class _NotCopied(Exception):
    """The message is for the report."""


class ImageCopier:
    """One for a whole run: what one batch has copied, the next need not."""

    def __init__(
        self,
        services: ImportServices,
        tenant_id: TenantId,
        memory: Memory,
        *,
        archive: Archive | None = None,
        emit_events: bool = False,
        retry_delays: RetryDelays = RETRY_DELAYS,
    ) -> None:
        self.failures: list[ImageFailure] = []
        self.copied = 0
        """Pictures that were stored by this run; those that it found are not among them."""
        self._services = services
        self._tenant_id = tenant_id
        self._memory = memory
        self._archive = archive
        self._archive_turn = asyncio.Lock()
        self._emit_events = emit_events
        self._retry_delays = retry_delays
        self._same_content = HostSlots(1)
        self._places: dict[str, str] = {}
        self._reasons: dict[str, str] = {}

    @cached_property
    def _downloads(self) -> Downloads:
        """Made for the first picture: many an import has none to fetch."""
        return Downloads(
            self._services.outbound,
            max_bytes=self._services.settings.max_upload,
            timeout_seconds=TIMEOUT_SECONDS,
            retry_delays=self._retry_delays,
        )

    async def copy(self, refs: Iterable[ImageRef]) -> dict[str, str]:
        """From addresses as they stand in the posts to where the pictures are now."""
        pictures: dict[str, list[ImageRef]] = {}
        for ref in refs:
            pictures.setdefault(picture_key(ref.original_url), []).append(ref)
        unknown = [key for key in pictures if key not in self._places and key not in self._reasons]
        await self._recall(unknown)
        async with asyncio.TaskGroup() as group:
            for key in unknown:
                if key not in self._places:
                    group.create_task(self._copy_one(key, pictures[key]))
        return dict(self._outcome(pictures))

    def _outcome(self, pictures: Mapping[str, list[ImageRef]]) -> Iterable[tuple[str, str]]:
        for key, refs in pictures.items():
            for ref in refs:
                if key in self._places:
                    yield from ((url, self._places[key]) for url in ref.urls)
                else:
                    shown = ref.urls[0][:MAX_SHOWN]
                    self.failures.append(ImageFailure(ref.source_id, shown, self._reasons[key]))

    async def _recall(self, keys: Sequence[str]) -> None:
        """What an earlier run has copied and nobody has deleted since."""
        if not keys:
            return
        tenant_id, memory = self._tenant_id, self._memory
        known = await memory.items(memory.outside(tenant_id), tenant_id, IMAGES, keys)
        media_ids = list({item.record_id for item in known.values()})
        found = await self._services.records.related(
            system(tenant_id), media, "id", media_ids, len(media_ids)
        )
        places = {record["id"]: _place(record) for record in found}
        self._places |= {
            key: places[item.record_id] for key, item in known.items() if item.record_id in places
        }

    async def _copy_one(self, key: str, refs: Sequence[ImageRef]) -> None:
        try:
            self._places[key] = await self._copied(key, refs)
        except _NotCopied as error:
            self._reasons[key] = str(error)
        # An importer's row: whatever one picture stumbles over, the others come over.
        except Exception as error:
            log.warning("image_not_copied", url=refs[0].urls[0][:MAX_SHOWN], exc_info=True)
            self._reasons[key] = f"It can't be copied ({type(error).__name__})."

    async def _copied(self, key: str, refs: Sequence[ImageRef]) -> str:
        original = refs[0].original_url
        if self._archive is not None:
            # The original first: a smaller size may be packed beside it.
            urls = (original, *(url for ref in refs for url in (*ref.candidates, *ref.urls)))
            if entry := self._archive.entry_of(urls):
                return await self._from_archive(self._archive, key, original, entry)
        if original[:5].lower() == "data:":
            return await self._keep(key, "image", _once(_decoded(original)))
        candidates = dict.fromkeys(url for ref in refs for url in ref.candidates)
        if not candidates:
            raise _NotCopied("The address is relative, and the export does not tell to what.")
        return await self._downloaded(key, file_name(original), list(candidates))

    async def _downloaded(self, key: str, name: str, candidates: Sequence[str]) -> str:
        """The first candidate that is a picture; the reason is that of the best one."""
        reasons: list[str] = []

        async def take(download: Download) -> str:
            return await self._keep(key, name, download.chunks)

        for url in candidates:
            try:
                return await self._downloads.fetch(url, take)
            except OutboundError as error:
                reasons.append(error.message)
            except _NotCopied as error:
                reasons.append(str(error))
        raise _NotCopied(reasons[0])

    async def _from_archive(self, archive: Archive, key: str, original: str, entry: str) -> str:
        """A file of any kind, as an upload may be."""
        try:
            async with self._archive_turn:
                content = await asyncio.to_thread(archive.read, entry)
        except (OSError, ValueError, MastheadError) as error:
            raise _NotCopied(f"The file in the archive can't be read: {error}") from error
        name = file_name(original) or file_name(entry)
        return await self._keep(key, name, _once(content), is_picture=False)

    async def _keep(
        self, key: str, name: str, chunks: AsyncIterator[bytes], *, is_picture: bool = True
    ) -> str:
        upload = _Fetched("file", name or "image", "")
        try:
            await upload.fill(chunks)
            if is_picture and not sniff(upload.head, upload.filename).startswith("image/"):
                raise _NotCopied("What is there is not a picture.")
            # The same picture may be on its way under another address.
            async with self._same_content.slot(upload.sha256):
                return await self._stored(key, upload)
        except MastheadError as error:
            raise _NotCopied(_words(error)) from error
        except OSError as error:
            raise _NotCopied(f"It could not be stored: {error.strerror}.") from error
        finally:
            upload.close()

    async def _stored(self, key: str, upload: Upload) -> str:
        records, tenant_id = self._services.records, self._tenant_id
        same = await records.find(media, {"sha256": upload.sha256}, tenant_id=tenant_id)
        if same:
            async with records.unit(system(tenant_id)) as unit:
                await self._remember(unit, key, same[0])
            return _place(same[0])
        async with (
            stored_file(self._services, tenant_id, media, upload) as kept,
            records.unit(system(tenant_id), emit_events=self._emit_events) as unit,
        ):
            record = await unit.create(media, kept.values, stamped=kept.stamped)
            await self._remember(unit, key, record)
        self.copied += 1
        return _place(record)

    async def _remember(self, unit: Unit, key: str, record: Record) -> None:
        item = Item(media.name, record["id"], record["sha256"])
        await self._memory.remember(unit, IMAGES, {key: item})


def _place(record: Record) -> str:
    """Without a host: the process that imports need not know under which one the site is served,
    and a site may change it."""
    return media_path(record["id"], record["file"])


class _Fetched(Upload):
    """A file that came by another way than a form; from here on it is one like any other."""

    async def fill(self, chunks: AsyncIterator[bytes]) -> None:
        async for chunk in chunks:
            self._feed(chunk)
            await self._flush(is_complete=False)
        await self._flush(is_complete=True)


def _decoded(url: str) -> bytes:
    head, comma, content = url.partition(",")
    if not comma:
        raise _NotCopied("The picture in the address is cut off.")
    if not head.lower().rstrip().endswith(";base64"):
        return unquote_to_bytes(content)
    try:
        return base64.b64decode("".join(unquote(content).split()), validate=True)
    except (binascii.Error, ValueError) as error:
        raise _NotCopied("The picture in the address is not base64.") from error


async def _once(content: bytes) -> AsyncIterator[bytes]:
    yield content


def _words(error: MastheadError) -> str:
    if isinstance(error, Invalid):
        return " ".join(problem.message for problem in error.problems.values())
    return str(error)
