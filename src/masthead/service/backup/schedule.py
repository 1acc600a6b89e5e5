"""Backups that the worker makes by itself, by `MASTHEAD_BACKUP_TO` and its neighbours.

Every worker looks whether one is due and queues a job, which is there only once: so one process of
many makes it. A backup that fails is tried again by the next look.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from datetime import timedelta
from typing import Final

from masthead.base import counters
from masthead.base.clock import Clock
from masthead.base.config.keyring import KeyRing
from masthead.base.config.settings import Settings
from masthead.base.errors import MastheadError
from masthead.base.logs import log
from masthead.engine.jobs.runner import Handler, Job, Stopped
from masthead.engine.jobs.single import enqueue_once
from masthead.engine.records.engine import Records
from masthead.service.backup.place import written_archive
from masthead.service.backup.readable_secrets import check_secrets
from masthead.service.backup.stored_backups import StoredBackups
from masthead.service.backup.take import take_backup
from masthead.storage.archives import ArchiveCounts
from masthead.storage.cancelling import complete
from masthead.storage.open_objects import open_object_store

TAKE_JOB: Final = "backup.take"
JOB_ID: Final = "scheduledbackup"
CONCURRENCY: Final = {TAKE_JOB: 1}
LOOK_EVERY: Final = timedelta(minutes=5)


class BackupSchedule:
    def __init__(self, settings: Settings, records: Records, keyring: KeyRing, now: Clock) -> None:
        self._settings = settings
        self._records = records
        self._keyring = keyring
        self._now = now
        self._kept = StoredBackups(settings.backup_to) if settings.backup_to else None

    def handlers(self) -> Mapping[str, Handler]:
        return {TAKE_JOB: self._handle}

    async def enqueue_due(self) -> None:
        if self._kept is None:
            return
        try:
            is_due = await self._is_due(self._kept)
        except (MastheadError, OSError) as error:
            # Every worker looks, so the one that makes it counts the failure.
            is_due = True
            log.warning("backup.place_unreachable", to=self._settings.backup_to, cause=str(error))
        if is_due:
            await enqueue_once(self._records.database, TAKE_JOB, JOB_ID, self._now())

    async def _is_due(self, kept: StoredBackups) -> bool:
        newest = await kept.newest()
        return newest is None or self._now() - newest >= self._settings.backup_every

    async def _handle(self, job: Job) -> None:
        """A backup that is being made when the worker ends is given up; the next start makes
        another one."""
        if self._kept is None:
            return
        try:
            if not await self._is_due(self._kept):
                return
            await self._make(self._kept, job)
        except Stopped:
            raise
        # Any error, because nothing else says that there is no backup.
        except Exception as error:
            counters.BACKUPS.add(counters.FAILED)
            cause = str(error) or type(error).__name__
            log.error("backup.failed", to=self._settings.backup_to, cause=cause)

    async def _make(self, kept: StoredBackups, job: Job) -> None:
        await check_secrets(self._settings, self._keyring, self._records)
        address = kept.address(self._now())
        # In a thread with a loop of its own: packing and syncing would hold up requests.
        taken = await complete(asyncio.to_thread(asyncio.run, self._take(address, job)))
        counters.BACKUPS.add(counters.DONE)
        log.info("backup.made", to=address, records=taken.records, bytes=taken.bytes)
        for name in await kept.remove_all_but(self._settings.backup_keep):
            log.info("backup.removed", name=name)

    async def _take(self, address: str, job: Job) -> ArchiveCounts:
        def count(_kind: str, _count: int) -> None:
            job.check()

        objects = open_object_store(self._settings.storage_url)
        async with written_archive(address) as path:
            return await take_backup(self._settings, objects, path, count)
