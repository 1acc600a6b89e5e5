"""Two services and two workers on two PostgreSQL nodes, all on loopback.

    HAProxy ── service 1, service 2, (worker 1, worker 2) ── PgBouncer ── HAProxy ── primary
                       │                                                             │
                 SeaweedFS (S3), Redis                        Patroni, etcd ── synchronous standby

The files of HAProxy, PgBouncer and Patroni are in `operations/cluster`.
"""

from __future__ import annotations

import asyncio
import os
import secrets
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from string import Template
from typing import Any

import asyncpg
import httpx
import psutil  # type: ignore[import-untyped]
from tests.cluster.parts import Part, accepts, free_ports, give_to_nobody, status_of
from tests.cluster.programs import MASTHEAD, WEED, find, postgres_folder

FILES = Path(__file__).parents[2] / "operations" / "cluster"
NODES = ("node1", "node2")
SERVICES = ("service1", "service2")
WORKERS = ("worker1", "worker2")
_WEED_PARTS = ("master", "volume", "filer", "s3", "admin")
_PORTS = (
    "etcd",
    "etcd_peer",
    "primary",
    "pgbouncer",
    "redis",
    *(f"{node}{kind}" for node in NODES for kind in ("", "_rest")),
    *SERVICES,
    *(f"weed_{part}{kind}" for part in _WEED_PARTS for kind in ("", "_grpc")),
)
_WORKING = ("running", "streaming")
"""The states of a node, by Patroni."""


@dataclass
class Cluster:
    folder: Path
    port: int
    more_environment: Mapping[str, str] = field(default_factory=dict)
    """For services and workers."""

    def __post_init__(self) -> None:
        self.ports = dict(zip(_PORTS, free_ports(len(_PORTS)), strict=True))
        self.password = secrets.token_hex(8)
        self.secret = secrets.token_hex(16)
        self.parts: dict[str, Part] = {}
        give_to_nobody(self.folder)

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def pooled_url(self) -> str:
        port = self.ports["pgbouncer"]
        return f"postgresql://masthead:{self.password}@127.0.0.1:{port}/masthead"

    def address_of(self, service: str) -> str:
        return f"http://127.0.0.1:{self.ports[service]}"

    def url_of(self, node: str, database: str = "masthead") -> str:
        port = self.ports[node]
        return f"postgresql://postgres:{self.password}@127.0.0.1:{port}/{database}"

    # Starting and stopping

    def start(self) -> None:
        self._start_etcd()
        for node in NODES:
            self._start_node(node)
        self._start_redis()
        self._start_buckets()
        self._start_proxies()
        asyncio.run(self._create_database())
        self.command("migrate")
        for name in SERVICES:
            self._start_service(name)
        for name in WORKERS:
            self._add(name, [str(MASTHEAD), "worker"], self.environment(name), is_ours=True)
        self.parts["haproxy"].wait_for(lambda: status_of(self.port, "/api/health") == 200)

    def stop(self) -> None:
        for part in reversed(self.parts.values()):
            part.stop()

    def _add(
        self,
        name: str,
        command: list[str],
        environment: Mapping[str, str] | None = None,
        *,
        is_ours: bool = False,
        stop_signal: signal.Signals = signal.SIGTERM,
    ) -> Part:
        part = Part(name, command, self.folder, environment or {}, is_ours, stop_signal)
        self.parts[name] = part
        part.start()
        return part

    def _start_etcd(self) -> None:
        client = f"http://127.0.0.1:{self.ports['etcd']}"
        peer = f"http://127.0.0.1:{self.ports['etcd_peer']}"
        options = {
            "name": "etcd",
            "data-dir": str(self.folder / "etcd"),
            "listen-client-urls": client,
            "advertise-client-urls": client,
            "listen-peer-urls": peer,
            "initial-advertise-peer-urls": peer,
            "initial-cluster": f"etcd={peer}",
        }
        flags = [f"--{name}={value}" for name, value in options.items()]
        # Debian's etcd asks for this on ARM.
        part = self._add("etcd", [_program("etcd"), *flags], {"ETCD_UNSUPPORTED_ARCH": "arm64"})
        part.wait_for(lambda: status_of(self.ports["etcd"], "/health") == 200)

    def _start_node(self, node: str) -> None:
        values = {
            "name": node,
            "port": self.ports[node],
            "rest_port": self.ports[f"{node}_rest"],
            "etcd_port": self.ports["etcd"],
            "data_dir": self.folder / node,
            "bin_dir": postgres_folder(),
            "password": self.password,
        }
        part = self._add(node, [_program("patroni"), self._write("patroni.yml", values, node)])
        # The first one is the primary before the second copies it.
        role = "leader" if node == NODES[0] else "sync_standby"
        part.wait_for(lambda: self._members_by(NODES[0]).get(role) == node)

    def _start_redis(self) -> None:
        options = {"port": self.ports["redis"], "bind": "127.0.0.1", "dir": self.folder}
        flags = [text for name, value in options.items() for text in (f"--{name}", str(value))]
        part = self._add("redis", [_program("redis-server"), *flags, "--save", ""])
        part.wait_for(lambda: accepts(self.ports["redis"]))

    def _start_buckets(self) -> None:
        data = self.folder / "weed"
        data.mkdir()
        flags = []
        for each in _WEED_PARTS:
            flags.append(f"-{each}.port={self.ports[f'weed_{each}']}")
            flags.append(f"-{each}.port.grpc={self.ports[f'weed_{each}_grpc']}")
        fixed = ["-ip=127.0.0.1", "-ip.bind=127.0.0.1", "-bucket=masthead", "-webdav=false"]
        unused = ["-admin.ui=false", "-s3.port.iceberg=0", "-s3.port.lance=0"]
        command = [str(WEED), "mini", f"-dir={data}", *fixed, *unused, *flags]
        part = self._add("weed", command, self._bucket_environment, is_ours=True)
        part.wait_for(lambda: status_of(self.ports["weed_s3"], "/") in {200, 403})

    def _start_proxies(self) -> None:
        values: dict[str, Any] = {f"{name}_port": port for name, port in self.ports.items()}
        file = self._write("haproxy.cfg", values | {"web_port": self.port})
        # -db: in the foreground. SIGUSR1 would wait for the last connection.
        haproxy = self._add("haproxy", [_program("haproxy"), "-db", "-f", file])
        haproxy.wait_for(lambda: accepts(self.ports["primary"]))
        users = self.folder / "pgbouncer.users"
        users.write_text(f'"masthead" "{self.password}"\n')
        values = {
            "port": self.ports["pgbouncer"],
            "primary_port": self.ports["primary"],
            "users": users,
        }
        command = [_program("pgbouncer"), self._write("pgbouncer.ini", values)]
        # SIGINT waits for transactions in progress.
        pgbouncer = self._add("pgbouncer", command)
        pgbouncer.wait_for(lambda: accepts(self.ports["pgbouncer"]))

    def _start_service(self, name: str) -> None:
        port = str(self.ports[name])
        command = [str(MASTHEAD), "serve", "--no-worker", "--port", port]
        part = self._add(name, command, self.environment(name), is_ours=True)
        part.wait_for(lambda: status_of(int(port), "/api/health") == 200)

    async def _create_database(self) -> None:
        connection = await asyncpg.connect(self.url_of(self.primary(), "postgres"))
        try:
            await connection.execute(f"CREATE ROLE masthead LOGIN PASSWORD '{self.password}'")
            await connection.execute("CREATE DATABASE masthead OWNER masthead")
        finally:
            await connection.close()

    def _write(self, name: str, values: Mapping[str, Any], prefix: str = "") -> str:
        path = self.folder / f"{prefix}{'.' if prefix else ''}{name}"
        path.write_text(Template((FILES / name).read_text()).substitute(values))
        return str(path)

    # The service

    @property
    def _bucket_environment(self) -> dict[str, str]:
        return {
            "AWS_ENDPOINT_URL": f"http://127.0.0.1:{self.ports['weed_s3']}",
            "AWS_ACCESS_KEY_ID": "masthead",
            "AWS_SECRET_ACCESS_KEY": self.password,
            "AWS_REGION": "us-east-1",
        }

    def environment(self, name: str) -> dict[str, str]:
        """The environment of a service, a worker or a command, each as on its own machine."""
        return {
            "MASTHEAD_DATA_DIR": str(self.folder / name),
            "MASTHEAD_DATABASE_URL": self.pooled_url,
            "MASTHEAD_STORAGE_URL": "s3://masthead/media",
            "MASTHEAD_REDIS_URL": f"redis://127.0.0.1:{self.ports['redis']}",
            "MASTHEAD_SECRET_KEY": self.secret,
            "MASTHEAD_BASE_URL": f"http://localhost:{self.port}",
            "MASTHEAD_TRUSTED_PROXIES": "127.0.0.1/32",
            "MASTHEAD_LOG": "json",
            **self._bucket_environment,
            **self.more_environment,
        }

    def command(self, *arguments: str) -> str:
        done = subprocess.run(
            [MASTHEAD, *arguments],
            env={**os.environ, **self.environment("commands")},
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            raise RuntimeError(f"masthead {' '.join(arguments)}: {done.stderr}")
        return done.stdout

    # The nodes

    def primary(self) -> str:
        return self._wait_for_role("leader")

    def standby(self) -> str:
        """The node that has every confirmed write, by the primary's own word: the standby itself
        may not know yet that it no longer is."""
        return self._wait_for_role("sync_standby")

    def _wait_for_role(self, role: str) -> str:
        deadline = time.monotonic() + 180
        while time.monotonic() < deadline:
            for node in NODES:
                with suppress(httpx.HTTPError):
                    if found := self._members_by(node).get(role):
                        return found
            time.sleep(0.1)
        raise RuntimeError(f"no node is {role}")

    def _members_by(self, node: str) -> dict[str, str]:
        """The nodes by role, if this one is the primary."""
        base = f"http://127.0.0.1:{self.ports[f'{node}_rest']}"
        if httpx.get(f"{base}/primary", timeout=2).status_code != 200:
            return {}
        members = httpx.get(f"{base}/cluster", timeout=2).json()["members"]
        return {each["role"]: each["name"] for each in members if each["state"] in _WORKING}

    def lose_node(self, node: str) -> None:
        """As by a power cut: PostgreSQL and Patroni stop at once and tell nobody."""
        self._kill_postgres(node)
        self.parts[node].kill()

    def crash_postgres(self, node: str) -> None:
        self._kill_postgres(node)

    def _kill_postgres(self, node: str) -> None:
        first_line = (self.folder / node / "postmaster.pid").read_text().split("\n", 1)[0]
        server = psutil.Process(int(first_line))
        # All of them: the processes of connections would otherwise finish their statements.
        for each in (server, *server.children(recursive=True)):
            with suppress(psutil.NoSuchProcess):
                each.kill()

    def switch_over(self) -> None:
        """The primary and the standby change places, as before work on a machine."""
        leader, candidate = self.primary(), self.standby()
        url = f"http://127.0.0.1:{self.ports[f'{leader}_rest']}/switchover"
        answer = httpx.post(url, json={"leader": leader, "candidate": candidate}, timeout=60)
        if answer.status_code != 200:
            raise RuntimeError(f"no switchover: {answer.text}")

    def restart_service(self, name: str) -> None:
        self.parts[name].stop()
        self._start_service(name)


def new_folder() -> Path:
    folder = Path(tempfile.mkdtemp(prefix="masthead-cluster-"))
    # The parts that leave root have to get in.
    folder.chmod(0o755)
    return folder


def remove(folder: Path) -> None:
    shutil.rmtree(folder, ignore_errors=True)


def _program(name: str) -> str:
    found = find(name)
    assert found, name
    return found
