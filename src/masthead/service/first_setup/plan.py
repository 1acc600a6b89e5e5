"""The plan of `masthead init`: the answers to its questions, and the files made of them."""

from __future__ import annotations

import re
import sys
from enum import StrEnum
from pathlib import Path

import jinja2
import msgspec
from msgspec.structs import replace

from masthead.base.whole_file import PRIVATE
from masthead.service.first_setup.owner import Owner

READABLE = 0o644
_TEMPLATES = Path(__file__).parent / "templates"
_PLAIN_PATH = re.compile(r"/[A-Za-z0-9/._+@:-]*\Z")
"""Neither systemd, a shell, Caddy nor nginx takes any of these for something else."""
_HOMES = tuple(map(Path, ("/home", "/root", "/run/user")))


class Proxy(StrEnum):
    CADDY = "caddy"
    NGINX = "nginx"


_PROXY_TEMPLATES = {Proxy.CADDY: "Caddyfile", Proxy.NGINX: "nginx.conf"}


class WantedFile(msgspec.Struct, frozen=True):
    path: Path
    text: str
    mode: int
    is_owned_by_user: bool = False
    values: tuple[str, ...] = ()
    """The lines that follow from the answers. All others can be edited."""


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    owner: Owner
    folder: Path
    program: Path
    port: int
    domain: str = ""
    unit: Path | None = None
    proxy: tuple[Proxy, Path] | None = None

    @property
    def data(self) -> Path:
        return self.folder / "data"

    @property
    def env(self) -> Path:
        return self.folder / "masthead.env"

    def files(self) -> list[WantedFile]:
        found = [self._file(self.env, "masthead.env", PRIVATE, is_owned_by_user=True)]
        if self.unit:
            found.append(self._file(self.unit, "masthead.service", READABLE))
        if self.proxy:
            kind, path = self.proxy
            found.append(self._file(path, _PROXY_TEMPLATES[kind], READABLE))
        return found

    def _file(
        self, path: Path, template: str, mode: int, *, is_owned_by_user: bool = False
    ) -> WantedFile:
        text = self._rendered(template)
        other = replace(
            self,
            owner=Owner("_", None),
            folder=Path("/_"),
            program=Path("/_"),
            port=0,
            domain=self.domain and "_",
        )
        fixed = set(other._rendered(template).splitlines())
        values = tuple(
            line for line in text.splitlines() if line not in fixed and not line.startswith("#")
        )
        return WantedFile(path, text, mode, is_owned_by_user, values)

    def _rendered(self, name: str) -> str:
        templates = jinja2.Environment(  # noqa: S701 - these files are no HTML
            loader=jinja2.FileSystemLoader(_TEMPLATES),
            undefined=jinja2.StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
            keep_trailing_newline=True,
        )
        return templates.get_template(name).render(plan=self, is_in_a_home=self._is_in_a_home())

    def _is_in_a_home(self) -> bool:
        """Whether the service needs something in a home, which systemd could hide from it."""
        needed = (self.folder, self.program.parent, Path(sys.prefix), Path(sys.base_prefix))
        return any(path.is_relative_to(home) for path in needed for home in _HOMES)


def is_plain(path: Path) -> bool:
    return bool(_PLAIN_PATH.match(str(path)))
