"""Themes: the templates and static files that the reader's site is drawn with.

`plain`, `letter` and `manual` are ours. A folder of the operator's may replace any of their files
and add themes; what a theme lacks comes from `plain`. The operator's templates run in Jinja's
sandbox and see only the views."""

from __future__ import annotations

import hashlib
import re
import traceback
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Final

from jinja2 import (
    BaseLoader,
    ChoiceLoader,
    Environment,
    PrefixLoader,
    StrictUndefined,
    TemplateError,
    TemplateNotFound,
    TemplateSyntaxError,
)
from jinja2.runtime import LoopContext
from jinja2.sandbox import ImmutableSandboxedEnvironment
from markupsafe import Markup, escape

from masthead.base.languages.formats import (
    language_name,
    listed,
    number_text,
    separator,
    shown_date,
)
from masthead.base.languages.in_templates import EXTENSION, install_words
from masthead.base.languages.translators import (
    ENGLISH,
    Translator,
    direction_of,
    speaking,
    spoken_now,
    translator_of,
)
from masthead.base.languages.words import marked
from masthead.base.logs import log
from masthead.faces.reader.inlined_includes import WithIncludes
from masthead.faces.reader.views import Chrome
from masthead.features.site.design import OUR_THEMES, PLAIN, THEME_NAME, theme_names
from masthead.web.assets import Assets
from masthead.web.template_source import Unindented

_OURS = Path(__file__).parent / "themes"
OUR_STATIC = _OURS / PLAIN / "static"
"""Tokens, fonts and styles as we ship them, whatever the operator has replaced."""
# What a program made of template code can raise; a fault of ours elsewhere is not among them.
_FAILURES = (
    *(TemplateError, AttributeError, TypeError, ValueError),
    *(LookupError, ArithmeticError, RuntimeError),
)


class Themes:
    """Every theme there is, read once: a changed file shows after a restart.

    `folder` holds a folder per theme, each with `templates` and `static` in it.
    """

    def __init__(self, folder: Path | None = None) -> None:
        _warn_of_ignored(folder)
        plain = Assets(PLAIN, [OUR_STATIC, *_below(folder, PLAIN, "static")])
        self.assets: dict[str, Assets] = {PLAIN: plain}
        shipped = {name: _Templates(_OURS / name / "templates") for name in OUR_THEMES}
        replaced = _templates(folder, PLAIN)
        self._environments: dict[str, _Environments] = {}
        self._untouched: dict[str, _Environments] = {}
        for name in theme_names(folder):
            if name != PLAIN:
                folders = [_OURS / name / "static", *_below(folder, name, "static")]
                self.assets[name] = Assets(name, folders, otherwise=plain)
            own = [shipped[name]] if name in shipped and name != PLAIN else []
            added = [] if name == PLAIN else [_templates(folder, name)]
            ours = _Environments(self.assets[name], shipped, (*own, shipped[PLAIN]))
            self._environments[name] = self._untouched[name] = ours
            if any((*added, replaced)):
                chain = (*added, *own, replaced, shipped[PLAIN])
                touched = _Environments(self.assets[name], shipped, chain, is_touched=True)
                self._environments[name] = touched
        environments = [each.of(ENGLISH) for each in self._environments.values()]
        self.fingerprint = _fingerprint(environments, self.assets.values())
        """Changes with any template or static file."""
        self._reported: set[tuple[str, str, int]] = set()

    def names(self) -> tuple[str, ...]:
        return tuple(self._environments)

    def render(self, theme: str, template: str, chrome: Chrome, page: object) -> str:
        """The page, drawn by `theme`, or by `plain` if that theme no longer exists.

        A template of the operator's that fails is logged, and ours draws the page.
        """
        seen = {
            "site": chrome.site,
            "reader": chrome.reader,
            "head": chrome.head,
            "path": chrome.path,
            "code": chrome.code,
            "page": page,
        }
        theme = theme if theme in self._environments else PLAIN
        environments = self._environments[theme]
        translator = translator_of(chrome.site.language)
        with speaking(translator):
            try:
                return environments.of(translator).get_template(template).render(seen)
            except _FAILURES as error:
                self._report(theme, template, error)
                return self._untouched[theme].of(translator).get_template(template).render(seen)

    def _report(self, theme: str, template: str, error: Exception) -> None:
        """Once for each place: a page may be asked for a thousand times a second."""
        file, line = _place(error, template)
        if (theme, file, line) not in self._reported:
            self._reported.add((theme, file, line))
            log.error(
                "theme_template_failed",
                theme=theme,
                page=template,
                template=file,
                line=line,
                error=f"{type(error).__name__}: {error}",
            )


def _fingerprint(environments: Iterable[Environment], assets: Iterable[Assets]) -> bytes:
    digest = hashlib.sha256()
    for environment in environments:
        assert environment.loader is not None
        for name in environment.list_templates():
            source = environment.loader.get_source(environment, name)[0]
            digest.update(f"{name}\0{source}\0".encode())
    for group in assets:
        digest.update("\0".join(sorted(group.files)).encode())
    return digest.hexdigest()[:8].encode()


class _Templates(BaseLoader):
    """The templates below a folder, read at once."""

    def __init__(self, folder: Path | None) -> None:
        self._paths: dict[str, Path] = {}
        self._sources: dict[str, str] = {}
        if folder is None:
            return
        root = folder.resolve()
        for path in sorted(folder.rglob("*.html")):
            # A link to a file elsewhere on the machine would show it to readers.
            if not path.resolve().is_relative_to(root):
                log.warning("template_outside_its_folder", file=str(path))
                continue
            name = path.relative_to(folder).as_posix()
            self._paths[name] = path
            self._sources[name] = path.read_text(encoding="utf-8")

    def list_templates(self) -> list[str]:
        return sorted(self._sources)

    def __len__(self) -> int:
        return len(self._sources)

    def get_source(
        self, environment: Environment, template: str
    ) -> tuple[str, str | None, Callable[[], bool] | None]:
        if template not in self._sources:
            raise TemplateNotFound(template)
        return self._sources[template], str(self._paths[template]), None


class _Environments:
    """A theme in each language: its words are compiled into the templates of a page when it is
    first shown in the language."""

    def __init__(
        self,
        assets: Assets,
        shipped: Mapping[str, _Templates],
        chain: Sequence[_Templates],
        *,
        is_touched: bool = False,
    ) -> None:
        """`chain`: where a template is looked up, in this order. `is_touched`: some are the
        operator's."""
        self._assets, self._is_touched = assets, is_touched
        # `plain/post.html` is always ours, so that a template can extend the one that it replaces.
        self._loader = ChoiceLoader([*chain, PrefixLoader(shipped)])
        self._by_language: dict[str, Environment] = {}

    def of(self, translator: Translator) -> Environment:
        found = self._by_language.get(translator.spoken)
        if found is None:
            found = _environment(translator, self._assets, self._loader, self._is_touched)
            self._by_language[translator.spoken] = found
        return found


def _environment(
    translator: Translator, assets: Assets, loader: BaseLoader, is_touched: bool
) -> Environment:
    # Our own templates need no sandbox, and take half the time without it.
    kind = ImmutableSandboxedEnvironment if is_touched else Environment
    environment = kind(
        loader=loader,
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        extensions=[Unindented, EXTENSION],
        auto_reload=False,
    )
    install_words(environment, translator)
    if not is_touched:
        environment.code_generator_class = WithIncludes
    environment.globals = {"asset": assets.url, "range": environment.globals["range"]}
    environment.filters |= {
        "date": _date,
        "language_name": language_name,
        "listed": listed,
        "number": _number,
        "per": _per,
        "sentences": _sentences,
        "separator": _separator,
    }
    return environment


def _below(folder: Path | None, theme: str, kind: str) -> list[Path]:
    return [] if folder is None else [folder / theme / kind]


def _templates(folder: Path | None, theme: str) -> _Templates:
    return _Templates(None if folder is None else folder / theme / "templates")


def _warn_of_ignored(folder: Path | None) -> None:
    if folder is None or not folder.is_dir():
        return
    for path in sorted(folder.iterdir()):
        if path.is_dir() and not path.name.startswith(".") and not THEME_NAME.fullmatch(path.name):
            log.warning("theme_ignored", folder=str(path), reason="its name isn't a–z, 0–9 and -")


def _place(error: Exception, template: str) -> tuple[str, int]:
    """The file and the line of a template where the error arose."""
    if isinstance(error, TemplateSyntaxError):
        return error.filename or error.name or template, error.lineno
    frames = [
        (frame.filename, frame.lineno or 0)
        for frame in traceback.extract_tb(error.__traceback__)
        if frame.filename.endswith(".html")
    ]
    return frames[-1] if frames else (template, 0)


# What follows, in the language that is spoken.


def _date(value: datetime, form: str = "long") -> str:
    """`long` is 15 November 2026, `short` 15 Nov 2026, `month` November 2026; `time` has both."""
    translator = spoken_now()
    shown = shown_date(value, form, translator.language.lower())
    if direction_of(translator.language) == direction_of(translator.spoken):
        return shown
    # A Hebrew date in an English sentence is set apart: its numbers would change places.
    return f"\u2068{shown}\u2069"


def _number(value: int) -> str:
    return number_text(value, spoken_now().language.lower())


_AFTER_STOP: Final = re.compile(r"(?<=。)\s+")
_PRICE_PER = {
    "month": marked("%(price)s a month"),
    "year": marked("%(price)s a year"),
}


def _per(price: str, interval: str, tag: str = "") -> Markup:
    """Such as `£4 a month`; `tag` is an element around the price."""
    shown = Markup("<{0}>{1}</{0}>").format(tag, price) if tag else price
    translated = spoken_now().gettext(_PRICE_PER[interval])
    return Markup(translated) % {"price": shown}  # noqa: S704  (a translation of ours)


def _sentences(text: str) -> Markup:
    """Sentences beside each other: in Japanese, no space is between them."""
    shown = escape(text)
    if spoken_now().spoken != "ja":
        return shown
    return Markup(_AFTER_STOP.sub("", shown))  # noqa: S704  (escaped above)


def _separator(loop: LoopContext, kind: str = "and") -> str:
    """The text after an item of a list: a comma, an "and", or nothing."""
    return separator(loop.index, loop.length, kind)
