"""Explains for `masthead doctor` why a database, an object store or a mail server can't be used,
and what to do about it."""

from __future__ import annotations

import os
import re
import socket
import ssl
from urllib.parse import parse_qs, urlsplit

import aiosmtplib

from masthead.base.config.settings import Settings
from masthead.base.config.values import SmtpServer
from masthead.base.errors import DiskFull
from masthead.storage.disk import is_disk_full

_S3_CODE = re.compile(r"<Code>(\w+)</Code>")
_REFUSED_KEY = ("InvalidAccessKeyId", "SignatureDoesNotMatch", "AccessDenied", "InvalidToken")


FREE_SPACE = (
    "free space or enlarge it; until then the service serves only reads, and writes resume by "
    "themselves"
)


def database_cause(settings: Settings, error: BaseException) -> str:
    cause = error.__cause__ or error
    path = settings.sqlite_path
    if isinstance(error, DiskFull) or is_disk_full(cause):
        where = f"the disk of {path}" if path else "the disk of the PostgreSQL server"
        return f"{where} is full; {FREE_SPACE}"
    if path is not None and path.exists() and os.statvfs(path).f_flag & os.ST_RDONLY:
        return f"the disk of {path} is read-only; mount it again, with write access"
    if path is not None:
        return f"{path} can't be opened ({cause}); check the file and MASTHEAD_DATABASE_URL"
    return _postgres_cause(settings.database_url, cause)


def _postgres_cause(url: str, cause: BaseException) -> str:
    import asyncpg

    parts = urlsplit(url)
    name, user = parts.path.lstrip("/") or parts.username or "", parts.username or ""
    # The folder of a Unix socket is given in the query.
    socket_folder = parse_qs(parts.query).get("host", [""])[0]
    where = socket_folder or f"{parts.hostname or 'localhost'}:{parts.port or 5432}"
    remedy = "correct MASTHEAD_DATABASE_URL"
    if isinstance(cause, asyncpg.InvalidCatalogNameError):
        return f"the server has no database {name}; create it (createdb {name}) or {remedy}"
    # PostgreSQL raises the first for an unknown role, too.
    if isinstance(
        cause, (asyncpg.InvalidPasswordError, asyncpg.InvalidAuthorizationSpecificationError)
    ):
        return f"{where} refuses the user {user} or its password; {remedy}"
    if isinstance(cause, (OSError, TimeoutError)):
        return f"{where} does not answer ({_network(cause)}); start the server or {remedy}"
    return f"{where} refuses ({cause}); {remedy}"


def storage_cause(settings: Settings, error: BaseException) -> str:
    cause = error.__cause__ or error
    parts = urlsplit(settings.storage_url)
    if parts.scheme == "file" and is_disk_full(cause):
        return f"the disk of {parts.path} is full; {FREE_SPACE}"
    if parts.scheme == "file":
        reason = cause.strerror if isinstance(cause, OSError) else cause
        return f"{parts.path} can't be written to ({reason}); give the service's user access"
    text = str(cause)
    codes = _S3_CODE.findall(text)
    code = codes[-1] if codes else ""
    if code == "NoSuchBucket":
        return f"there is no bucket {parts.netloc}; create it or correct MASTHEAD_STORAGE_URL"
    if code in _REFUSED_KEY or "403 Forbidden" in text or "401 Unauthorized" in text:
        shown = f" ({code})" if code else ""
        return (
            f"the S3 server refuses the key{shown}; "
            "check AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and the permissions of the key"
        )
    endpoint = os.environ.get("AWS_ENDPOINT_URL_S3") or os.environ.get("AWS_ENDPOINT_URL")
    where = endpoint or "the S3 server"
    if code:
        return f"{where} refuses ({code}); check MASTHEAD_STORAGE_URL and the AWS_ variables"
    return f"{where} does not answer; start it or check AWS_ENDPOINT_URL and AWS_REGION"


def smtp_cause(server: SmtpServer, error: OSError | aiosmtplib.SMTPException) -> str:
    where, remedy = f"{server.host}:{server.port}", "MASTHEAD_SMTP_URL"
    cause = error.__cause__ or error
    if isinstance(error, aiosmtplib.SMTPAuthenticationError):
        return f"{where} refuses the user or the password ({error.code}); correct {remedy}"
    if isinstance(cause, ssl.SSLCertVerificationError):
        return (
            f"the certificate of {where} is not trusted ({cause.verify_message}); "
            "name its authority in MASTHEAD_OUTBOUND_CA_FILE or correct the host"
        )
    if isinstance(error, aiosmtplib.SMTPConnectError) or not isinstance(
        error, aiosmtplib.SMTPException
    ):
        return f"{where} does not answer ({_network(cause)}); start the server or correct {remedy}"
    return f"{where} refuses ({error}); check {remedy}"


def _network(error: BaseException) -> str:
    if isinstance(error, socket.gaierror):
        return "the name is not known"
    if isinstance(error, TimeoutError):
        return "no answer in time"
    if isinstance(error, ConnectionRefusedError):
        return "connection refused"
    reason = error.strerror if isinstance(error, OSError) else None
    return reason or type(error).__name__
