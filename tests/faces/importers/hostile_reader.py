"""Called with a platform and a file: opens an export and prepares all its posts, as an
import does before it writes, and prints what that cost as JSON."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

from masthead.faces.importers.platforms.exports import open_export
from masthead.faces.importers.source import BadFile, Options, SourcePost
from masthead.faces.importers.write.preparing import prepare_all


def main() -> None:
    platform, path = sys.argv[1:]
    refusal, was_opened = "", False
    try:
        source = open_export(platform, Path(path), Options())
        was_opened = True
        for post in source.posts():
            if isinstance(post, SourcePost):
                prepare_all([post], "")
        for _ in source.members():
            pass
    except BadFile as error:
        refusal = str(error)
    cost = {"seconds": time.process_time(), "megabytes": _peak_kilobytes() // 1024}
    sys.stdout.write(json.dumps({"refusal": refusal, "was_opened": was_opened, **cost}))


def _peak_kilobytes() -> int:
    status = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in status if line.startswith("VmHWM"))


if __name__ == "__main__":
    main()
