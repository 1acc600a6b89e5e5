"""Words in templates: `{{ _("Sign in") }}`, `{% trans %}`, `{% pluralize %}`, in the language that
is spoken when the template is rendered."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from jinja2 import Environment, nodes
from jinja2.compiler import CodeGenerator, Frame
from jinja2.ext import InternationalizationExtension
from markupsafe import Markup, escape

from masthead.base.languages.translators import spoken_now

EXTENSION: Final = InternationalizationExtension
_NAMES: Final = ("_", "gettext", "ngettext", "pgettext", "npgettext")


def install_words(environment: Environment) -> None:
    """For an environment with the extension. Its own functions cost a page with a hundred words
    more than the words themselves."""
    environment.policies["ext.i18n.trimmed"] = True
    environment.newstyle_gettext = True  # type: ignore[attr-defined]
    environment.code_generator_class = _DirectCalls
    environment.words_in_html = _functions(_in_html)  # type: ignore[attr-defined]
    environment.words_in_text = _functions(_in_text)  # type: ignore[attr-defined]


class _DirectCalls(CodeGenerator):
    """Calls the functions for words without asking what they want to know of the context."""

    def visit_Call(self, node: nodes.Call, frame: Frame, forward_caller: bool = False) -> None:
        called = node.node
        if not isinstance(called, nodes.Name) or called.name not in _NAMES:
            super().visit_Call(node, frame, forward_caller=forward_caller)
            return
        kind = "html" if frame.eval_ctx.autoescape else "text"
        self.write(f"environment.words_in_{kind}[{called.name!r}](")
        for argument in node.args:
            self.visit(argument, frame)
            self.write(", ")
        for keyword in node.kwargs:
            self.visit(keyword, frame)
            self.write(", ")
        self.write(")")


def _in_html(text: str, values: dict[str, Any]) -> str:
    """A translation is ours, as the template is; what it is filled with is escaped."""
    if values or "%" in text:
        text %= {name: escape(value) for name, value in values.items()}
    return Markup(text)  # noqa: S704


def _in_text(text: str, values: dict[str, Any]) -> str:
    return text % values if values or "%" in text else text


def _functions(filled: Callable[[str, dict[str, Any]], str]) -> Mapping[str, Callable[..., str]]:
    def gettext(message: str, /, **values: Any) -> str:
        return filled(spoken_now().gettext(message), values)

    def pgettext(context: str, message: str, /, **values: Any) -> str:
        return filled(spoken_now().pgettext(context, message), values)

    def ngettext(one: str, many: str, num: int, /, **values: Any) -> str:
        return filled(spoken_now().ngettext(one, many, num), {"num": num, **values})

    def npgettext(context: str, one: str, many: str, num: int, /, **values: Any) -> str:
        found = spoken_now().npgettext(context, one, many, num)
        return filled(found, {"num": num, **values})

    return {
        "_": gettext,
        "gettext": gettext,
        "pgettext": pgettext,
        "ngettext": ngettext,
        "npgettext": npgettext,
    }
