"""One target in a process of its own: `python -m tests.fuzz.one NAME SECONDS CORPUS FINDINGS`. Its
memory is limited by the kernel, and the time of an input by the fuzzer."""

from __future__ import annotations

import faulthandler
import hashlib
import resource
import signal
import sys
import time
import traceback
from pathlib import Path
from random import Random

from tests.fuzz.findings import inputs_of
from tests.fuzz.mutation import mutated

try:
    import atheris
except ImportError:
    atheris = None

MEMORY = 3 * 1024**3
"""The address space of the process, half of which the libraries alone map."""
INPUT_SECONDS = 10


def main() -> None:
    name, seconds, corpus, findings = sys.argv[1:]
    folder = Path(corpus)
    if atheris is None:
        from tests.fuzz.targets import MAX_BYTES, TARGETS
    else:
        with atheris.instrument_imports(include=["masthead"]):
            from tests.fuzz.targets import MAX_BYTES, TARGETS

            # The modules that a target needs are imported with its first input.
            for each in TARGETS[name].seeds():
                TARGETS[name].run(each)
    target = TARGETS[name]
    for number, seed in enumerate((*target.seeds(), *inputs_of(name))):
        (folder / f"seed-{number}").write_bytes(seed)
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    if atheris is None:
        _mutate(target.run, target.seeds(), float(seconds), Path(findings) / name, most=MAX_BYTES)
        return
    options = (
        f"-max_total_time={seconds}",
        f"-timeout={INPUT_SECONDS}",
        f"-max_len={MAX_BYTES}",
        f"-rss_limit_mb={MEMORY // 1024**2}",
        f"-artifact_prefix={findings}/{name}-",
        "-print_final_stats=1",
        "-verbosity=1",
    )
    atheris.Setup([sys.argv[0], *options, corpus], target.run)
    atheris.Fuzz()


def _mutate(run, seeds, seconds: float, prefix: Path, *, most: int) -> None:  # type: ignore[no-untyped-def]
    faulthandler.enable()
    random, ends, done = Random(), time.monotonic() + seconds, 0
    while time.monotonic() < ends:
        data = mutated(random, seeds, most)
        signal.alarm(INPUT_SECONDS)
        try:
            run(data)
        except Exception:
            digest = hashlib.sha256(data).hexdigest()[:16]
            prefix.with_name(f"{prefix.name}-crash-{digest}").write_bytes(data)
            traceback.print_exc()
            sys.exit(77)
        finally:
            signal.alarm(0)
        done += 1
    sys.stderr.write(f"stat::number_of_executed_units: {done}\n")


if __name__ == "__main__":
    main()
