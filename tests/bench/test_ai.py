"""The measurement of AI streams, on a few short ones: all of them arrive whole."""

from __future__ import annotations

import pytest

from bench import ai


@pytest.mark.sweep
def test_every_stream_is_read_to_its_end() -> None:
    shape = ["--rounds=1", "--streams=5", "--seconds=1", "--per-second=10", "--over=0.1"]
    report = ai.run(ai.read_options([*shape, "--calm=0.1"]), posts=10)
    assert report["completed"] == 5
    # The first chunk of each is not counted.
    assert report["chunks"] == 5 * 9
