"""The operator's settings, read at start from `MASTHEAD_*` environment variables.

Each field of `Settings` declares one variable with its parser, default and description. A test
compares docs/operations.md with them.
"""

# ruff: noqa: RUF009  (each call makes a dataclass field; it holds no value to share)
from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from dataclasses import Field, dataclass, field, fields
from datetime import timedelta
from email.headerregistry import Address
from pathlib import Path
from typing import Any
from urllib.parse import quote

import msgspec

from masthead.base.config import root_secret
from masthead.base.config.values import (
    AiFor,
    AiProvider,
    ErrorCodes,
    GdprHeaderAuth,
    LogFormat,
    MetricsAccess,
    Network,
    RateLimits,
    RetryPolicy,
    Secret,
    SmtpServer,
    Url,
    parse_address,
    parse_backup_place,
    parse_base_url,
    parse_choice,
    parse_contact,
    parse_count,
    parse_database_url,
    parse_domain,
    parse_existing_file,
    parse_http_url,
    parse_interval,
    parse_metrics,
    parse_name_server,
    parse_networks,
    parse_path,
    parse_rate,
    parse_redis_url,
    parse_retry_policy,
    parse_secret,
    parse_secret_keys,
    parse_size,
    parse_slug,
    parse_smtp_url,
    parse_spf,
    parse_storage_url,
    parse_switch,
    parse_text,
    parse_topics,
)
from masthead.base.errors import MastheadError
from masthead.base.suggestions import suggestion

PREFIX = "MASTHEAD_"

Parser = Callable[[str], Any]
Known = Mapping[str, Any]
"""The fields read so far; a default may depend on those declared above it."""


class SettingsError(MastheadError):
    """An invalid setting. The message names the variable."""


class Variable(msgspec.Struct, frozen=True):
    """One environment variable."""

    name: str
    field: str
    doc: str
    default_doc: str
    parse: Parser
    default: Callable[[Known], Any]
    is_secret: bool


def _setting(
    parse: Parser,
    doc: str,
    *,
    default: str | None = None,
    default_from: Callable[[Known], Any] | None = None,
    default_doc: str | None = None,
    secret: bool = False,
) -> Any:
    """`default` is text as an operator would write it. Messages never quote a secret's value."""

    def default_value(known: Known) -> Any:
        if default_from is not None:
            return default_from(known)
        return None if default is None else parse(default)

    metadata = {
        "doc": doc,
        "default_doc": default_doc or (f"`{default}`" if default is not None else "none"),
        "parse": parse,
        "default": default_value,
        "is_secret": secret,
    }
    return field(metadata=metadata)


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    data_dir: Path = _setting(
        parse_path, "Database, media, generated secrets and outgoing email.", default="./data"
    )
    database_url: Url = _setting(
        parse_database_url,
        "`sqlite:///relative/path`, `sqlite:////absolute/path` or `postgresql://…`.",
        default_from=lambda known: Url(f"sqlite:///{known['data_dir']}/masthead.db"),
        default_doc="SQLite: `masthead.db` in the data directory",
        secret=True,
    )
    base_url: Url = _setting(
        parse_base_url, "The address that links start with.", default="http://localhost:8000"
    )
    base_domain: str = _setting(
        parse_domain, "Tenants are `<slug>.<base domain>`.", default="localhost"
    )
    themes_dir: Path | None = _setting(
        parse_path, "A folder of themes for the reader's site: see [Themes](themes.md)."
    )
    security_contact: str | None = _setting(
        parse_contact,
        "Where to report security problems, for `/.well-known/security.txt`: an address such as "
        "`mailto:security@example.com` or an https URL.",
    )
    default_tenant: str | None = _setting(
        parse_slug, "Slug of the tenant that the bare host serves (a single-tenant install)."
    )
    secret_key: tuple[Secret, ...] | None = _setting(
        parse_secret_keys,
        "Root secret from which session, unsubscribe and encryption keys are derived. To rotate "
        "it, set a comma-separated list: the first one writes, all of them read.",
        default_doc="generated into `secret.key` in the data directory, mode 0600",
        secret=True,
    )
    retry_policy: RetryPolicy = _setting(
        parse_retry_policy,
        "How webhook deliveries are retried: `a`, `b`, or delays in seconds such as "
        "`60,300,900;disable_after=5`.",
        default="a",
    )
    rate_limits: RateLimits = _setting(
        parse_choice(RateLimits), "API rate limits: `a`, `b` or `off`.", default="a"
    )
    error_codes: ErrorCodes = _setting(
        parse_choice(ErrorCodes), "Names of the API's error codes: `a` or `b`.", default="a"
    )
    storage_url: Url = _setting(
        parse_storage_url,
        "Where media are stored: `file:///path` or `s3://bucket/prefix` "
        "(with the usual `AWS_*` variables).",
        default_from=lambda known: Url(f"file://{quote(str(known['data_dir']))}/media"),
        default_doc="`media` in the data directory",
    )
    redis_url: Url | None = _setting(
        parse_redis_url,
        "Shared rate-limit counters for several processes or machines. Needs the extra "
        "`masthead[redis]`, which the image and the pinned dependencies of a release have.",
        default_doc="none: counters are in the database or the single process",
        secret=True,
    )
    smtp_url: SmtpServer | None = _setting(
        parse_smtp_url,
        "`smtp://user:pass@host:port`, `smtps://…`, or `smtp://…?starttls=1`.",
        default_doc="none: each email is written to `mail/*.eml` in the data directory",
        secret=True,
    )
    mail_from: Address = _setting(
        parse_address,
        "Sender of every email.",
        default_from=lambda known: parse_address(f"Masthead <no-reply@{known['base_domain']}>"),
        default_doc="`Masthead <no-reply@BASE_DOMAIN>`",
    )
    mail_spf: str | None = _setting(
        parse_spf,
        "The part of an SPF record that lets your mail server send, such as "
        "`include:amazonses.com` or `ip4:192.0.2.25`: see [Newsletters]"
        "(newsletters.md#be-recognized-as-the-sender).",
        default_doc="known for large providers by the name of the mail server, otherwise `a:` and "
        "its name",
    )
    mail_connections: int = _setting(
        parse_count,
        "How many connections to the mail server a process uses at once to send newsletters.",
        default="8",
    )
    mails_per_second: float | None = _setting(
        parse_rate,
        "How many newsletter emails a second a process sends at most.",
        default_doc="none: as fast as the server accepts them",
    )
    mails_per_domain: float | None = _setting(
        parse_rate,
        "How many newsletter emails a second a process sends at most to one domain. A domain "
        "that temporarily refuses several gets none for a while, whatever this setting says.",
        default_doc="none",
    )
    mail_events_secret: Secret | None = _setting(
        parse_secret,
        "The `secret` in the addresses that receive bounce reports from sources without a "
        "signature: see [Newsletters](newsletters.md#bounces-and-complaints).",
        default_doc="none: they answer 404",
        secret=True,
    )
    mail_events_mailgun_key: Secret | None = _setting(
        parse_secret,
        "Mailgun's HTTP webhook signing key, for bounce reports.",
        default_doc="none: its address answers 404",
        secret=True,
    )
    mail_events_sendgrid_key: Secret | None = _setting(
        parse_secret,
        "SendGrid's verification key of signed event webhooks, for bounce reports.",
        default_doc="none: its address answers 404",
        secret=True,
    )
    mail_events_ses_topics: tuple[str, ...] = _setting(
        parse_topics,
        "The ARNs of the Amazon SNS topics at which Amazon SES reports bounces and complaints; "
        "comma-separated.",
        default="",
        default_doc="none: its address answers 404",
    )
    ai_provider: AiProvider | None = _setting(
        parse_choice(AiProvider),
        "The platform's AI: `openai` (any compatible server) or `anthropic`.",
        default_doc="none: the stream says that AI is not configured",
    )
    ai_base_url: Url | None = _setting(
        parse_http_url,
        "The AI server; an OpenAI-style address ends in `/v1`.",
        default_doc="the provider's own",
    )
    ai_key: Secret | None = _setting(parse_secret, "The platform's AI key.", secret=True)
    ai_model: str | None = _setting(parse_text, "The platform's AI model.")
    ai_for: AiFor = _setting(
        parse_choice(AiFor),
        "Who can spend the platform's AI key: `anyone` who can open a site, or only its `staff`. "
        "A site's own setting takes precedence.",
        default=AiFor.ANYONE,
    )
    outbound_allow: tuple[Network, ...] = _setting(
        parse_networks,
        "Private networks that webhook deliveries and image downloads may reach, for example "
        "`127.0.0.0/8`; comma-separated.",
        default="",
        default_doc="none",
    )
    outbound_ca_file: Path | None = _setting(
        parse_existing_file,
        "Extra trusted CA bundle (PEM) for outgoing HTTPS.",
        default_doc="the system's trust",
    )
    dns_server: tuple[str, int] | None = _setting(
        parse_name_server,
        "The name server that Masthead asks for the records of custom and sending domains, such "
        "as `192.0.2.53` or `127.0.0.1:5353`.",
        default_doc="the system's",
    )
    max_upload: int = _setting(
        parse_size,
        "Largest upload in bytes; you can write `KiB`, `MiB` and `GiB`.",
        default="50MiB",
    )
    max_import: int = _setting(
        parse_size,
        "Largest export that an owner can upload in the admin for an import.",
        default="256MiB",
    )
    gdpr_header_auth: GdprHeaderAuth = _setting(
        parse_choice(GdprHeaderAuth),
        "What a call with only `x-tenant-id` may do at `/api/gdpr/*`: `off` (nothing), `limited` "
        "(start a request that the owner confirms by email) or `full` (everything; only behind "
        "a gateway that sets the header itself).",
        default="limited",
    )
    payment_webhook_secret: Secret | None = _setting(
        parse_secret,
        "Secret of the platform's payment receiver `/api/payment/webhook`.",
        default_doc="none: the receiver answers 404",
        secret=True,
    )
    payment_api_url: Url = _setting(
        parse_http_url,
        "The payment processor's API, for checkouts and the customer portal: Stripe's, or a "
        "compatible server. Masthead sends the sites' payment keys there.",
        default="https://api.stripe.com",
    )
    require_https: bool = _setting(
        parse_switch,
        "`1` refuses `/api/v1` calls that arrived over plain HTTP.",
        default="0",
        default_doc="off",
    )
    canonical: bool = _setting(
        parse_switch,
        "`off` serves a site at all its addresses. Otherwise the slug's host and `www` redirect to "
        "the site's own domain, and plain HTTP to an `https` base URL.",
        default="1",
        default_doc="on",
    )
    trusted_proxies: tuple[Network, ...] = _setting(
        parse_networks,
        "Networks whose `X-Forwarded-*` headers Masthead trusts; comma-separated.",
        default="",
        default_doc="none",
    )
    tls_cert: Path | None = _setting(
        parse_existing_file,
        "Certificate with its chain (PEM); the server then terminates TLS itself. Needs "
        "`MASTHEAD_TLS_KEY`.",
        default_doc="none: plain HTTP, for a proxy",
    )
    tls_key: Path | None = _setting(
        parse_existing_file,
        "The certificate's key (PEM, without a password).",
        default_doc="none",
    )
    metrics: MetricsAccess | None = _setting(
        parse_metrics,
        "Where [`/metrics`](metrics.md) is: `HOST:PORT` for a port of its own, or `token:SECRET` "
        "for the service's own port with `Authorization: Bearer SECRET`.",
        default_doc="off",
        secret=True,
    )
    traces: bool = _setting(
        parse_switch,
        "`1` sends a [span](metrics.md#traces) of each request and job to an OpenTelemetry "
        "collector, which the usual `OTEL_*` variables name. Needs the extra `masthead[otel]`.",
        default="0",
        default_doc="off",
    )
    backup_to: Url | None = _setting(
        parse_backup_place,
        "Where the worker makes [backups](backup.md#let-the-worker-make-them) by itself: a folder "
        "such as `/backups`, or `s3://bucket/prefix` (with the usual `AWS_*` variables).",
        default_doc="none: it makes none",
    )
    backup_every: timedelta = _setting(
        parse_interval,
        "How often it makes one: `10m` to `31d`, such as `6h` or `1d`.",
        default="1d",
    )
    backup_keep: int = _setting(
        parse_count, "How many of them it keeps. The oldest are removed.", default="7"
    )
    log: LogFormat = _setting(
        parse_choice(LogFormat),
        "Log lines on standard error: `console` or `json`.",
        default_from=lambda _: LogFormat.CONSOLE if sys.stderr.isatty() else LogFormat.JSON,
        default_doc="`console` on a terminal, else `json`",
    )

    @classmethod
    def from_environ(
        cls,
        environ: Mapping[str, str],
        *,
        data_dir: str | Path | None = None,
        database_url: str | None = None,
    ) -> Settings:
        """Reads and validates every variable. An empty value counts as not set.

        `data_dir` and `database_url` are from the command line and override the environment.
        """
        _refuse_unknown(environ)
        given = dict(environ)
        if data_dir is not None:
            given["MASTHEAD_DATA_DIR"] = str(data_dir)
        if database_url is not None:
            given["MASTHEAD_DATABASE_URL"] = database_url
        values: dict[str, Any] = {}
        for variable in VARIABLES:
            values[variable.field] = _read(variable, given.get(variable.name, ""), values)
        return cls(**values)

    @property
    def sqlite_path(self) -> Path | None:
        """The database file, or None when the database is PostgreSQL."""
        scheme, _, path = self.database_url.partition(":///")
        return Path(path).absolute() if scheme == "sqlite" else None

    @property
    def lacks_root_secret(self) -> bool:
        """None is set, and there is no generated file."""
        return self.secret_key is None and not self._secret_file.exists()

    @property
    def _secret_file(self) -> Path:
        return self.data_dir / "secret.key"

    def load_root_secrets(self) -> tuple[Secret, ...]:
        """The root secrets, newest first. The first call of an installation generates one."""
        if self.secret_key is not None:
            return self.secret_key
        path = self._secret_file
        try:
            return parse_secret_keys(root_secret.read_or_create(path))
        except OSError as error:
            raise SettingsError(
                f"MASTHEAD_DATA_DIR must be a writable folder for {path.name} ({error.strerror})."
            ) from error
        except ValueError as error:
            raise SettingsError(
                f"The generated {path.name} in MASTHEAD_DATA_DIR is damaged: it {error}."
            ) from error


def _variable(declared: Field[Any]) -> Variable:
    return Variable(name=PREFIX + declared.name.upper(), field=declared.name, **declared.metadata)


VARIABLES: tuple[Variable, ...] = tuple(_variable(declared) for declared in fields(Settings))


def _refuse_unknown(environ: Mapping[str, str]) -> None:
    names = [variable.name for variable in VARIABLES]
    unknown = sorted(name for name in environ if name.startswith(PREFIX) and name not in names)
    if unknown:
        raise SettingsError(f"{unknown[0]} is not a setting; {suggestion(unknown[0], names)}")


def _read(variable: Variable, text: str, known: Known) -> Any:
    text = text.strip()
    if not text:
        return variable.default(known)
    try:
        return variable.parse(text)
    except ValueError as error:
        quoted = "" if variable.is_secret else f", not {text!r}"
        raise SettingsError(f"{variable.name} {error}{quoted}.") from error
