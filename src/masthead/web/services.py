"""The services that every room above `web` may use. Rooms add their own in their `services.py`."""

from __future__ import annotations

from typing import Any, Generic, NamedTuple, TypeVar

import msgspec
from msgspec.structs import astuple

from masthead.base import clock
from masthead.base.config.keyring import KeyRing
from masthead.base.config.settings import Settings
from masthead.content.texts.presence import Presence
from masthead.engine.events.log import EventLog
from masthead.engine.records.change_log import ChangeLog
from masthead.engine.records.collection import Collection
from masthead.engine.records.engine import Records
from masthead.engine.records.versions import TenantVersions
from masthead.identity.accounts import Accounts
from masthead.identity.challenges import Challenges
from masthead.identity.codes import SignInCodes
from masthead.identity.directory import TenantDirectory
from masthead.identity.key_authentication import ApiKeys
from masthead.identity.limits.open_store import open_limit_store
from masthead.identity.limits.rate_limiter import RateLimiter
from masthead.identity.limits.read_limits import ReadLimit
from masthead.identity.limits.sign_in_throttle import LoginThrottle
from masthead.identity.limits.stores import LimitStore
from masthead.identity.limits.windows import Windows
from masthead.identity.passkey_sign_ins import PasskeySignIns
from masthead.identity.second_step import SecondSteps
from masthead.outside.mail.outbox import Outbox
from masthead.outside.mail.signing import Signer
from masthead.outside.mail.signing_keys import SigningKeys
from masthead.outside.outbound.client import OutboundClient
from masthead.outside.outbound.streams import OutboundStreams
from masthead.storage.database import Database
from masthead.storage.objects import ObjectStore
from masthead.web.callers import Callers
from masthead.web.error_log import ErrorLog
from masthead.web.forms import FormTokens
from masthead.web.idempotency import Idempotency
from masthead.web.staff import StaffSignIn

Group = TypeVar("Group")


class WebServices(msgspec.Struct, kw_only=True, eq=False):
    settings: Settings
    database: Database
    objects: ObjectStore
    keyring: KeyRing
    records: Records
    versions: TenantVersions
    changes: ChangeLog
    event_log: EventLog
    outbound: OutboundClient
    streams: OutboundStreams
    mail: Outbox
    signer: Signer
    signing_keys: SigningKeys
    directory: TenantDirectory
    accounts: Accounts
    throttle: LoginThrottle
    codes: SignInCodes
    keys: ApiKeys
    limit_store: LimitStore
    windows: Windows
    limiter: RateLimiter
    """The limiter of API calls, which also counts those of today."""
    read_limit: ReadLimit
    presence: Presence
    callers: Callers
    staff: StaffSignIn
    form_tokens: FormTokens
    idempotency: Idempotency
    error_log: ErrorLog

    groups: dict[type, Any] = msgspec.field(default_factory=dict)
    """All of these, by their types."""

    def __post_init__(self) -> None:
        self.groups = {type(each): each for each in astuple(self)}

    def group(self, kind: type[Group]) -> Group:
        """The services of a room, which those of all rooms have among them."""
        found: Group = self.groups[kind]
        return found

    async def close(self) -> None:
        await self.outbound.close()
        await self.streams.close()
        await self.keys.flush()
        await self.accounts.sign_ins.flush()
        await self.error_log.flush()
        await self.limit_store.close()
        await self.database.close()


class RoomServices(NamedTuple, Generic[Group]):
    """The services of one room's endpoints: those that all have, and the room's own."""

    web: WebServices
    own: Group


def build_web(
    settings: Settings,
    records: Records,
    site_settings: Collection,
    *,
    objects: ObjectStore,
    outbound: OutboundClient,
    mail: Outbox,
    now: clock.Clock,
) -> WebServices:
    database, keyring = records.database, records.keyring
    versions = TenantVersions(database)
    directory = TenantDirectory(records, site_settings, versions)
    throttle = LoginThrottle(database, now)
    accounts = Accounts(records, keyring, throttle, versions)
    limit_store = open_limit_store(settings.redis_url, database, settings.data_dir, now)
    windows = Windows(limit_store, now)
    callers = Callers(accounts)
    challenges = Challenges(keyring, throttle, now)
    return WebServices(
        settings=settings,
        database=database,
        objects=objects,
        keyring=keyring,
        records=records,
        versions=versions,
        changes=ChangeLog(database, now),
        event_log=EventLog(database),
        outbound=outbound,
        streams=OutboundStreams(allow=settings.outbound_allow, ca_file=settings.outbound_ca_file),
        mail=mail,
        signer=Signer(),
        signing_keys=SigningKeys(records, settings),
        directory=directory,
        accounts=accounts,
        throttle=throttle,
        codes=SignInCodes(records, keyring, throttle),
        keys=ApiKeys(records, directory, versions),
        limit_store=limit_store,
        windows=windows,
        limiter=RateLimiter(limit_store, settings.rate_limits, now),
        read_limit=ReadLimit(windows),
        presence=Presence(limit_store, now),
        callers=callers,
        staff=StaffSignIn(
            records=records,
            accounts=accounts,
            second_steps=SecondSteps(records, accounts, throttle),
            passkeys=PasskeySignIns(records, accounts, throttle, challenges),
            directory=directory,
            callers=callers,
        ),
        form_tokens=FormTokens(keyring),
        idempotency=Idempotency(database, keyring, now),
        error_log=ErrorLog(database, now),
    )
