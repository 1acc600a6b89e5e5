"""Words in templates: `{{ _("Sign in") }}`, `{% trans %}`, `{% pluralize %}`, in the language that
is spoken when the template is rendered, or in the one that an environment was made for: then they
are part of its compiled templates, and cost what a template's own text costs."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from jinja2 import Environment, nodes
from jinja2.compiler import CodeGenerator, Frame
from jinja2.ext import InternationalizationExtension
from jinja2.visitor import NodeTransformer
from markupsafe import Markup, escape

from masthead.base.languages.translators import Translator, spoken_now

EXTENSION: Final = InternationalizationExtension
_NAMES: Final = ("_", "gettext", "ngettext", "pgettext", "npgettext")
_MARK: Final = re.compile(r"%(?:\((\w+)\)s|(%))")
"""Where a value belongs in a message, and a percent sign."""


def install_words(environment: Environment, compiled_in: Translator | None = None) -> None:
    """For an environment with the extension. Its own functions cost a page with a hundred words
    more than the words themselves. `compiled_in`: its templates are rendered in this language
    only."""
    environment.policies["ext.i18n.trimmed"] = True
    environment.words_compiled_in = compiled_in  # type: ignore[attr-defined]
    environment.newstyle_gettext = True  # type: ignore[attr-defined]
    environment.code_generator_class = DirectCalls
    environment.words_in_html = _functions(_in_html)  # type: ignore[attr-defined]
    environment.words_in_text = _functions(_in_text)  # type: ignore[attr-defined]


class DirectCalls(CodeGenerator):
    """Calls the functions for words without asking what they want to know of the context."""

    def visit_Template(self, node: nodes.Template, frame: Frame | None = None) -> None:
        translator = self.environment.words_compiled_in  # type: ignore[attr-defined]
        if translator is not None:
            node = _CompiledIn(translator).visit(node)
        super().visit_Template(node, frame)

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


class _CompiledIn(NodeTransformer):
    """Puts the translation in place of each call with a message that is known. What depends on a
    number stays a call."""

    def __init__(self, translator: Translator) -> None:
        self._translator = translator
        self._messages: dict[int, tuple[nodes.Expr, list[nodes.Expr]]] = {}
        """The parts of messages with values, by the identity of their node, which is kept: another
        one could get its number."""

    def visit_Output(self, node: nodes.Output) -> nodes.Output:
        """The parts of a message are parts of the output, which joins them to the text around."""
        self.generic_visit(node)
        node.nodes = [part for each in node.nodes for part in self._parts_of(each)]
        return node

    def _parts_of(self, node: nodes.Expr) -> list[nodes.Expr]:
        _, parts = self._messages.get(id(node), (node, [node]))
        return parts

    def visit_Call(self, node: nodes.Call) -> nodes.Expr:
        self.generic_visit(node)
        text = self._translated(node)
        if text is None:
            return node
        values = {each.key: each.value for each in node.kwargs}
        used = [values.get(found[1]) for found in _MARK.finditer(text) if not found[2]]
        # A constant would be joined to ours before it is known which of them has to be escaped.
        if any(each is None or isinstance(each, nodes.Const) for each in used):
            return node
        parts = list(_parts(text, values, node.lineno))
        if len(parts) == 1:
            return parts[0]
        message = nodes.Concat(parts, lineno=node.lineno, environment=node.environment)
        self._messages[id(message)] = (message, parts)
        return message

    def _translated(self, node: nodes.Call) -> str | None:
        called = node.node
        if not isinstance(called, nodes.Name) or node.dyn_args or node.dyn_kwargs:
            return None
        known = [each.value for each in node.args if isinstance(each, nodes.Const)]
        if len(known) < len(node.args):
            return None
        match called.name, known:
            case ("_" | "gettext", [message]):
                return self._translator.gettext(message)
            case ("pgettext", [context, message]):
                return self._translator.pgettext(context, message)
        return None


def _parts(text: str, values: Mapping[str, nodes.Expr], line: int) -> Iterator[nodes.Expr]:
    """The text is ours, as the template's own is; what it is filled with is escaped."""
    at, before = 0, ""
    for found in _MARK.finditer(text):
        before += text[at : found.start()] + (found[2] or "")
        at = found.end()
        if found[1]:
            if before:
                yield nodes.TemplateData(before, lineno=line)
            yield values[found[1]]
            before = ""
    if before + text[at:] or not at:
        yield nodes.TemplateData(before + text[at:], lineno=line)


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
