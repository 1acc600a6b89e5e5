"""Which root secret the service runs with, so that a shell with another one is noticed.

The service may have `MASTHEAD_SECRET_KEY` from its unit, while a shell or a cron job has only the
file that was generated before. What such a shell encrypts or backs up can't be read later.
"""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

from masthead.base.config.keyring import KeyRing
from masthead.base.config.private_files import opener
from masthead.base.config.settings import Settings, SettingsError


def remember(settings: Settings, keyring: KeyRing) -> None:
    """Called when the service starts. The file holds ids, from which no secret follows."""
    text = " ".join(keyring.ids)
    path = _path(settings)
    # A service whose data directory is read-only has no generated secret to be confused with.
    with suppress(OSError):
        if not path.exists() or path.read_text("utf-8") != text:
            with open(path, "w", encoding="utf-8", opener=opener) as file:
                file.write(text)


def is_other(settings: Settings, keyring: KeyRing) -> bool:
    """Whether the service was last started with root secrets that this process does not have."""
    try:
        served = _path(settings).read_text("utf-8").split()
    except OSError:
        return False
    return bool(served) and served[0] not in keyring.ids


def refuse_other(settings: Settings, keyring: KeyRing) -> None:
    if is_other(settings, keyring):
        raise SettingsError(DIFFERS)


DIFFERS = (
    "The service runs with another root secret than this command. Run it with the service's "
    "environment, MASTHEAD_SECRET_KEY above all: docs/backup.md shows how."
)


def _path(settings: Settings) -> Path:
    return settings.data_dir / "secret.id"
