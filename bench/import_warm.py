"""`python -m bench.import_warm PLATFORM FILE SLUG…`: imports a file into one tenant after another
in one process; prints the seconds of the last import, when all modules are loaded, as in a
worker."""

from __future__ import annotations

import sys
import time

from masthead.service.cli.main import DONE, main


def _run() -> None:
    platform, file, *slugs = sys.argv[1:]
    seconds = 0.0
    for slug in slugs:
        started = time.perf_counter()
        if main(["import", platform, "--file", file, "--tenant-id", slug, "--json"]) != DONE:
            sys.exit(1)
        seconds = time.perf_counter() - started
    print(seconds)


# Spawned processes of the importer import this file, too.
if __name__ == "__main__":
    _run()
