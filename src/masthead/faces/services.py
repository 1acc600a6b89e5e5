"""The services of the faces, built on those of the capabilities. The admin uses them all."""

from __future__ import annotations

from msgspec.structs import asdict

from masthead.base.counters import CACHES
from masthead.faces.reader.request import ReaderServices, build_reader
from masthead.faces.record_api.realtime.hub import Hub
from masthead.faces.site_archive.jobs import SiteImports
from masthead.faces.site_export.jobs import SiteExports
from masthead.features.services import FeatureServices
from masthead.web.cache import AnswerCache


class FaceServices(ReaderServices, kw_only=True, eq=False):
    realtime: Hub
    guest_answers: AnswerCache
    """Answers of the record store to guests, by request."""
    site_exports: SiteExports
    site_imports: SiteImports

    async def close(self) -> None:
        await self.realtime.stop()
        await super().close()


def build_faces(features: FeatureServices) -> FaceServices:
    now = features.records.clock
    return FaceServices(
        **asdict(build_reader(features)),
        realtime=Hub(features, features.changes),
        guest_answers=AnswerCache(features.versions, now, counts=CACHES["records"]),
        site_exports=SiteExports(features),
        site_imports=SiteImports(features),
    )
