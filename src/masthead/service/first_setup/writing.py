"""Writes what a plan wants, and nothing over what is there already.

Interrupted at any point, it is completed by a second call.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import msgspec

from masthead.base.whole_file import CannotWrite, sync_folder
from masthead.service.first_setup.owner import Owner
from masthead.service.first_setup.plan import Plan, WantedFile

FOLDER_MODE, DATA_MODE = 0o750, 0o700


class WrittenFiles(msgspec.Struct, frozen=True):
    created: list[Path] = msgspec.field(default_factory=list)
    kept: list[Path] = msgspec.field(default_factory=list)

    def note(self, path: Path, *, is_new: bool) -> None:
        (self.created if is_new else self.kept).append(path)


def write(plan: Plan) -> WrittenFiles:
    """Raises `CannotWrite`. What can be refused is refused before the first file."""
    files = plan.files()
    for file in files:
        _check_place(file.path, plan)
        with _named(file.path):
            _check_values(file)
    written = WrittenFiles()
    owner = plan.owner if plan.owner.can_be_given_files else None
    with _named(plan.folder):
        is_new = _make_folder(plan.folder, FOLDER_MODE)
    written.note(plan.folder, is_new=is_new)
    with _named(plan.data):
        written.note(plan.data, is_new=_make_folder(plan.data, DATA_MODE, owner))
    for file in files:
        with _named(file.path):
            given_to = owner if file.is_owned_by_user else None
            written.note(file.path, is_new=_create(file, given_to))
    if is_new and owner and owner.ids:
        # Last: from now on its user may replace what is in it, links included.
        os.chown(plan.folder, *owner.ids, follow_symlinks=False)
    return written


def _check_place(path: Path, plan: Plan) -> None:
    if path.is_dir():
        raise CannotWrite(f"{path} is a folder; name a file to write.")
    if path.parent != plan.folder and not path.parent.is_dir():
        raise CannotWrite(f"{path} can't be written: there is no folder {path.parent}.")


def _check_values(file: WantedFile) -> None:
    """A file that is there already stays as it is, so it must have the values that are wanted."""
    if not file.path.exists():
        return
    there = file.path.read_text(errors="replace").splitlines()
    for wanted in file.values:
        if not any(f"{line} ".startswith(f"{wanted} ") for line in there):
            raise CannotWrite(
                f"{file.path} is there already and stays as it is, but has other values: "
                f"`{wanted.strip()}` is not in it. Change or remove it. Nothing was written."
            )


def _make_folder(path: Path, mode: int, owner: Owner | None = None) -> bool:
    """Whether it is new."""
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        path.mkdir(mode)
    except FileExistsError:
        if not path.is_dir():
            raise
        return False
    path.chmod(mode)  # whatever the umask took away
    if owner and owner.ids:
        os.chown(path, *owner.ids, follow_symlinks=False)
    return True


def _create(file: WantedFile, owner: Owner | None) -> bool:
    """Whether it is new. It appears whole, and only if there is none."""
    path = file.path
    if path.exists():
        return False
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(4)}.partial")
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, file.mode)
    try:
        with os.fdopen(descriptor, "w") as opened:
            os.fchmod(opened.fileno(), file.mode)
            if owner and owner.ids:
                os.fchown(opened.fileno(), *owner.ids)
            opened.write(file.text)
            opened.flush()
            os.fsync(opened.fileno())
        # Unlike a rename, a link never replaces a file.
        os.link(temporary, path)
    except FileExistsError:
        return False
    finally:
        with suppress(FileNotFoundError):
            temporary.unlink()
    sync_folder(path.parent)
    return True


@contextmanager
def _named(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise CannotWrite(f"{path} can't be written ({error.strerror}).") from error
