"""`python -m bench.import_warm PLATFORM FILE SLUG…`: the same import into one tenant after another,
in one process; prints the seconds of the last one. By then everything is loaded, as it is in the
worker of a running service, which does what the command does."""

from __future__ import annotations

import sys
import time

from masthead.cli.main import DONE, main


def _run() -> None:
    platform, file, *slugs = sys.argv[1:]
    seconds = 0.0
    for slug in slugs:
        started = time.perf_counter()
        if main(["import", platform, "--file", file, "--tenant-id", slug, "--json"]) != DONE:
            sys.exit(1)
        seconds = time.perf_counter() - started
    print(seconds)


# Importers start processes of their own, and each of those loads this file.
if __name__ == "__main__":
    _run()
