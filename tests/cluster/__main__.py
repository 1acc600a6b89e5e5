"""`make cluster`: starts the cluster for anyone to try, until Ctrl-C."""

from __future__ import annotations

import argparse
import json
import secrets
import signal
import sys
import time

from tests.cluster.cluster import Cluster, new_folder, remove
from tests.cluster.parts import DidNotStart
from tests.cluster.programs import missing, what_to_install


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int, default=8080)
    arguments = parser.parse_args()
    if missing():
        print(what_to_install(), file=sys.stderr)
        return 1
    # A shell starts what is in the background without the first of them.
    for each in (signal.SIGINT, signal.SIGTERM):
        signal.signal(each, signal.default_int_handler)
    folder = new_folder()
    cluster = Cluster(folder, arguments.port)
    try:
        print("Starting; this takes half a minute.")
        cluster.start()
        _describe(cluster)
        while True:
            time.sleep(1)
            for part in cluster.parts.values():
                if not part.is_running:
                    print(f"{part.name} has ended; its log is {part.log}", file=sys.stderr)
                    part.start()
    except KeyboardInterrupt:
        print("Stopping.")
        return 0
    except DidNotStart as error:
        print(error, file=sys.stderr)
        return 1
    finally:
        cluster.stop()
        remove(folder)


def _describe(cluster: Cluster) -> None:
    password = secrets.token_urlsafe(9)
    owner = ("--owner-email", "owner@demo.example", "--owner-password", password)
    cluster.command(
        "tenant", "create", "--slug", "demo", "--name", "Demo", "--plan", "business", *owner
    )
    scopes = ("--scope", "posts:read", "--scope", "posts:write")
    key = cluster.command("key", "create", "--tenant", "demo", "--name", "k", *scopes, "--json")
    site = f"http://demo.localhost:{cluster.port}"
    print(f"blog: {site}")
    print(f"admin: {site}/admin login: owner@demo.example password: {password}")
    print(f"api key: {json.loads(key)['key']}")
    for name, part in cluster.parts.items():
        assert part.process
        port = cluster.ports.get(name)
        print(f"{name}: pid {part.process.pid}" + (f", 127.0.0.1:{port}" if port else ""))
    print(f"database: {cluster.pooled_url}")
    print(f"logs and data: {cluster.folder}")
    print("What ends is started again: kill any of these. Ctrl-C stops all and removes the data.")


if __name__ == "__main__":
    sys.exit(main())
