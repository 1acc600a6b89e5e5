"""Every variable is parsed, defaulted, refused by name and documented; secrets never show."""

from __future__ import annotations

import ipaddress
import re
import stat
import subprocess
import sys
from email.headerregistry import Address
from pathlib import Path

import pytest

from masthead.base.config.settings import VARIABLES, Settings, SettingsError
from masthead.base.config.values import (
    AiProvider,
    ErrorCodes,
    GdprHeaderAuth,
    LogFormat,
    RateLimits,
    RetryPolicy,
    SmtpSecurity,
    SmtpServer,
)

ROOT = Path(__file__).parents[3]


def refusal(name: str, value: str) -> str:
    with pytest.raises(SettingsError) as caught:
        Settings.from_environ({name: value})
    return str(caught.value)


def test_an_empty_environment_gives_the_documented_defaults(tmp_path: Path) -> None:
    settings = Settings.from_environ({}, data_dir=tmp_path)

    assert settings.data_dir == tmp_path
    assert settings.database_url == f"sqlite:///{tmp_path}/masthead.db"
    assert settings.sqlite_path == tmp_path / "masthead.db"
    assert settings.storage_url == f"file://{tmp_path}/media"
    assert settings.base_url == "http://localhost:8000"
    assert settings.base_domain == "localhost"
    assert str(settings.mail_from) == "Masthead <no-reply@localhost>"
    assert settings.retry_policy == RetryPolicy((60, 300, 900, 3600, 21600), None)
    assert settings.rate_limits is RateLimits.A
    assert settings.error_codes is ErrorCodes.A
    assert settings.gdpr_header_auth is GdprHeaderAuth.LIMITED
    assert settings.max_upload == 50 * 1024 * 1024
    assert settings.require_https is False
    assert settings.outbound_allow == settings.trusted_proxies == ()
    for name in ("default_tenant", "secret_key", "redis_url", "smtp_url", "outbound_ca_file"):
        assert getattr(settings, name) is None
    for name in ("ai_provider", "ai_base_url", "ai_key", "ai_model", "payment_webhook_secret"):
        assert getattr(settings, name) is None


def test_the_data_dir_defaults_to_data_in_the_working_folder() -> None:
    assert Settings.from_environ({}).data_dir == Path.cwd() / "data"


def test_an_empty_value_counts_as_not_set() -> None:
    assert Settings.from_environ({"MASTHEAD_MAX_UPLOAD": " "}).max_upload == 50 * 1024 * 1024


def test_the_command_line_wins_over_the_environment(tmp_path: Path) -> None:
    environ = {"MASTHEAD_DATA_DIR": "/nowhere", "MASTHEAD_DATABASE_URL": "postgresql://h/a"}
    settings = Settings.from_environ(environ, data_dir=tmp_path, database_url="sqlite:///b.db")
    assert settings.data_dir == tmp_path
    assert settings.sqlite_path == Path.cwd() / "b.db"


@pytest.mark.parametrize(
    ("name", "text", "value"),
    [
        ("DATABASE_URL", "postgresql://u:p@h:5432/db", "postgresql://u:p@h:5432/db"),
        ("DATABASE_URL", "postgresql:///db?host=/run/pg", "postgresql:///db?host=/run/pg"),
        ("DATABASE_URL", "sqlite:////srv/my #1.db", "sqlite:////srv/my #1.db"),
        ("BASE_URL", "https://Example.com/", "https://example.com"),
        ("BASE_DOMAIN", "Blogs.Example.com.", "blogs.example.com"),
        ("DEFAULT_TENANT", "demo", "demo"),
        ("SECRET_KEY", "a" * 16 + ", " + "b" * 16, ("a" * 16, "b" * 16)),
        ("RETRY_POLICY", "b", RetryPolicy((1, 2, 4), 5)),
        ("RETRY_POLICY", "60,300,900;disable_after=5", RetryPolicy((60, 300, 900), 5)),
        ("RETRY_POLICY", "5", RetryPolicy((5,), None)),
        ("RATE_LIMITS", "off", RateLimits.OFF),
        ("ERROR_CODES", "b", ErrorCodes.B),
        ("STORAGE_URL", "s3://bucket/some/prefix/", "s3://bucket/some/prefix"),
        ("STORAGE_URL", "file:///srv/media", "file:///srv/media"),
        ("REDIS_URL", "rediss://:p@h:6380/1", "rediss://:p@h:6380/1"),
        ("SMTP_URL", "smtp://mail", SmtpServer("mail", 25, SmtpSecurity.PLAIN)),
        (
            "SMTP_URL",
            "smtp://u%40x:p%3A@mail?starttls=1",
            SmtpServer("mail", 587, SmtpSecurity.STARTTLS, "u@x", "p:"),  # type: ignore[arg-type]
        ),
        ("SMTP_URL", "smtps://mail", SmtpServer("mail", 465, SmtpSecurity.TLS)),
        ("SMTP_URL", "smtp://mail:2525", SmtpServer("mail", 2525, SmtpSecurity.PLAIN)),
        ("MAIL_FROM", "A <Post@münchen.example>", Address("A", "Post", "xn--mnchen-3ya.example")),
        ("AI_PROVIDER", "anthropic", AiProvider.ANTHROPIC),
        ("AI_BASE_URL", "http://127.0.0.1:9/v1/", "http://127.0.0.1:9/v1"),
        ("OUTBOUND_ALLOW", "127.0.0.0/8", (ipaddress.ip_network("127.0.0.0/8"),)),
        (
            "TRUSTED_PROXIES",
            "10.0.0.7, fd00::/8",
            (ipaddress.ip_network("10.0.0.7/32"), ipaddress.ip_network("fd00::/8")),
        ),
        ("MAX_UPLOAD", "1048576", 1024 * 1024),
        ("MAX_UPLOAD", "2GiB", 2 * 1024**3),
        ("GDPR_HEADER_AUTH", "full", GdprHeaderAuth.FULL),
        ("REQUIRE_HTTPS", "1", True),
        ("REQUIRE_HTTPS", "0", False),
        ("LOG", "json", LogFormat.JSON),
    ],
)
def test_a_value_is_parsed_into_its_type(name: str, text: str, value: object) -> None:
    settings = Settings.from_environ({f"MASTHEAD_{name}": text})
    assert getattr(settings, name.lower()) == value


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("DATABASE_URL", "mysql://h/x"),
        ("DATABASE_URL", "sqlite://x.db"),
        ("DATABASE_URL", "sqlite:///"),
        ("DATABASE_URL", "postgresql://h:port/x"),
        ("DATABASE_URL", "postgresql://h"),
        ("BASE_URL", "example.com"),
        ("BASE_URL", "https://example.com/blog"),
        ("BASE_URL", "https://user@example.com"),
        ("BASE_URL", "https://exam\nple.com"),
        ("BASE_DOMAIN", "example.com:8000"),
        ("BASE_DOMAIN", "-x.com"),
        ("DEFAULT_TENANT", "My Blog"),
        ("SECRET_KEY", "short"),
        ("SECRET_KEY", "a" * 16 + ",short"),
        ("SECRET_KEY", "a" * 16 + ","),
        ("RETRY_POLICY", "c"),
        ("RETRY_POLICY", "60,,300"),
        ("RETRY_POLICY", "0"),
        ("RETRY_POLICY", "60;disable_after=0"),
        ("RETRY_POLICY", "60;retries=3"),
        ("RATE_LIMITS", "A"),
        ("ERROR_CODES", "off"),
        ("STORAGE_URL", "/srv/media"),
        ("STORAGE_URL", "file://srv/media"),
        ("STORAGE_URL", "s3:///prefix"),
        ("STORAGE_URL", "s3://key:secret@bucket"),
        ("REDIS_URL", "http://h"),
        ("SMTP_URL", "mail:25"),
        ("SMTP_URL", "smtp://mail?tls=1"),
        ("SMTP_URL", "smtp://mail:99999"),
        ("MAIL_FROM", "Masthead"),
        ("MAIL_FROM", "a@b@c"),
        ("MAIL_FROM", "ö@example.com"),
        ("MAIL_FROM", "a@\u202e.example"),
        ("AI_PROVIDER", "other"),
        ("AI_BASE_URL", "ftp://h"),
        ("OUTBOUND_ALLOW", "127.0.0.1/8"),
        ("OUTBOUND_ALLOW", "localhost"),
        ("OUTBOUND_CA_FILE", "/nowhere/ca.pem"),
        ("MAX_UPLOAD", "0"),
        ("MAX_UPLOAD", "-1"),
        ("MAX_UPLOAD", "50 MB"),
        ("GDPR_HEADER_AUTH", "on"),
        ("REQUIRE_HTTPS", "perhaps"),
        ("TRUSTED_PROXIES", "10.0.0.0/33"),
        ("LOG", "xml"),
    ],
)
def test_a_value_that_does_not_parse_is_refused_in_one_sentence(name: str, text: str) -> None:
    message = refusal(f"MASTHEAD_{name}", text)
    assert message.startswith(f"MASTHEAD_{name} must be ")
    assert message.endswith(".")
    assert "\n" not in message


def test_an_unknown_variable_is_refused_with_the_nearest_name() -> None:
    assert refusal("MASTHEAD_DATABSE_URL", "x") == (
        "MASTHEAD_DATABSE_URL is not a setting; did you mean MASTHEAD_DATABASE_URL?"
    )


def test_other_variables_are_left_alone() -> None:
    Settings.from_environ({"PATH": "/bin", "MASTHEADS": "x"})


SECRETS = {
    "MASTHEAD_SECRET_KEY": "hunter2-hunter2-hunter2",
    "MASTHEAD_DATABASE_URL": "postgresql://u:hunter2@h/db?password=hunter2",
    "MASTHEAD_REDIS_URL": "redis://:hunter2@h",
    "MASTHEAD_SMTP_URL": "smtp://u:hunter2@h",
    "MASTHEAD_AI_KEY": "hunter2",
    "MASTHEAD_PAYMENT_WEBHOOK_SECRET": "hunter2",
}


def test_the_repr_shows_no_secret() -> None:
    settings = Settings.from_environ(SECRETS)
    assert settings.ai_key == "hunter2"
    assert "hunter2" not in repr(settings)


@pytest.mark.parametrize("name", sorted(SECRETS))
def test_a_refused_secret_is_not_quoted(name: str) -> None:
    assert "hunter2" not in refusal(name, "\x00hunter2")


class TestRootSecrets:
    def test_a_given_key_is_used_without_touching_the_disk(self, tmp_path: Path) -> None:
        folder = tmp_path / "data"
        settings = Settings.from_environ({"MASTHEAD_SECRET_KEY": "k" * 20}, data_dir=folder)
        assert settings.load_root_secrets() == ("k" * 20,)
        assert not folder.exists()

    def test_reading_the_settings_makes_no_file(self, tmp_path: Path) -> None:
        Settings.from_environ({}, data_dir=tmp_path / "data")
        assert not (tmp_path / "data").exists()

    def test_the_first_call_makes_a_private_file_and_later_calls_read_it(
        self, tmp_path: Path
    ) -> None:
        settings = Settings.from_environ({}, data_dir=tmp_path / "data")
        (secret,) = settings.load_root_secrets()
        file = tmp_path / "data" / "secret.key"

        assert len(secret) >= 43
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
        assert settings.load_root_secrets() == (secret,)
        assert [entry.name for entry in file.parent.iterdir()] == ["secret.key"]

    def test_processes_that_start_at_once_end_with_the_same_key(self, tmp_path: Path) -> None:
        program = (
            "import sys; from masthead.base.config.settings import Settings\n"
            "settings = Settings.from_environ({}, data_dir=sys.argv[1])\n"
            "sys.stdin.read()\n"
            "print(settings.load_root_secrets()[0])"
        )
        processes = [
            subprocess.Popen(
                [sys.executable, "-c", program, str(tmp_path / "data")],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
            )
            for _ in range(4)
        ]
        for process in processes:
            assert process.stdin is not None
            process.stdin.close()
            process.stdin = None
        keys = {process.communicate(timeout=120)[0] for process in processes}
        assert len(keys) == 1
        assert all(process.returncode == 0 for process in processes)

    def test_a_damaged_file_is_refused_rather_than_replaced(self, tmp_path: Path) -> None:
        (tmp_path / "secret.key").write_text("")
        settings = Settings.from_environ({}, data_dir=tmp_path)
        with pytest.raises(SettingsError, match=r"secret\.key in MASTHEAD_DATA_DIR is damaged"):
            settings.load_root_secrets()

    def test_a_data_dir_that_is_no_folder_is_named(self, tmp_path: Path) -> None:
        (tmp_path / "data").write_text("")
        settings = Settings.from_environ({}, data_dir=tmp_path / "data")
        with pytest.raises(SettingsError, match="MASTHEAD_DATA_DIR must be a writable folder"):
            settings.load_root_secrets()


def test_the_operations_page_lists_exactly_these_variables() -> None:
    page = (ROOT / "docs" / "operations.md").read_text()
    rows = re.findall(r"^\| `(MASTHEAD_\w+)` \| (.+) \| (.+) \|$", page, re.MULTILINE)
    assert rows == [(each.name, each.doc, each.default_doc) for each in VARIABLES]
