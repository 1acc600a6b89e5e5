"""The modules of the service as trees, for all tests that read its source. These are one group, so
that one process parses it once."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest
from tests.budget import once

reads_the_source = pytest.mark.xdist_group("architecture")


@once
def tree_of(path: Path) -> ast.Module:
    return ast.parse(path.read_text())


@once
def nodes_of(path: Path) -> tuple[ast.AST, ...]:
    """All of them, found once: to walk through the trees takes longer than any of the tests."""
    return tuple(ast.walk(tree_of(path)))
