"""Templates with their includes in them.

Jinja looks an included template up and copies all values for it each time it is drawn: a quarter of
the time of a page that includes thirty. Compiled into the template that includes it, it costs
nothing."""

from __future__ import annotations

from jinja2 import Environment, nodes
from jinja2.compiler import Frame
from jinja2.visitor import NodeTransformer

from masthead.base.languages.in_templates import DirectCalls


class WithIncludes(DirectCalls):
    """For templates that are never changed by others: their errors name the line of the included
    template with the file that includes it."""

    def visit_Template(self, node: nodes.Template, frame: Frame | None = None) -> None:
        around = () if self.name is None else (self.name,)
        super().visit_Template(_Inlined(self.environment, around).visit(node), frame)


class _Inlined(NodeTransformer):
    def __init__(self, environment: Environment, around: tuple[str, ...]) -> None:
        self._environment, self._around = environment, around

    def visit_Include(self, node: nodes.Include) -> nodes.Node:
        name = node.template.value if isinstance(node.template, nodes.Const) else None
        # A template that includes itself, as a comment does its answers, has no end.
        if name is None or name in self._around:
            return node
        assert self._environment.loader is not None
        source, file, _ = self._environment.loader.get_source(self._environment, name)
        included = self._environment.parse(source, name, file)
        inner = _Inlined(self._environment, (*self._around, name))
        return nodes.Scope(inner.visit(included).body, lineno=node.lineno)
