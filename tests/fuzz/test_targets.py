"""Every parser of strangers' bytes takes its seeds, what once was a finding, and some changes of
both. `make fuzz` goes on for as long as you like."""

from __future__ import annotations

from random import Random
from time import process_time

import pytest
from tests.fuzz.findings import FOLDER, inputs_of
from tests.fuzz.mutation import mutated
from tests.fuzz.targets import MAX_BYTES, TARGETS
from tests.tiers import rounds

SECONDS = 3.0
"""The limit of the processor's time for one input."""


@pytest.mark.parametrize("name", TARGETS)
def test_a_parser_takes_or_refuses_any_bytes(name: str) -> None:
    target = TARGETS[name]
    corpus = [*target.seeds(), *inputs_of(name)]
    random = Random(name)
    changed = (mutated(random, corpus, MAX_BYTES) for _ in range(rounds(30, 3_000)))
    for data in (*corpus, *changed):
        began = process_time()
        try:
            target.run(data)
        except Exception as error:
            raise AssertionError(data) from error
        assert process_time() - began < SECONDS, data


def test_every_finding_belongs_to_a_target() -> None:
    names = {path.name.partition("--")[0] for path in FOLDER.iterdir() if path.name[0] != "."}
    assert names <= TARGETS.keys()
