"""Opens the object store that a storage URL names: a local folder or an S3 bucket."""

from __future__ import annotations

import os
from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

from obstore.store import S3Store

if TYPE_CHECKING:
    from obstore.store import S3Config
from masthead.storage.local_objects import LocalObjectStore
from masthead.storage.objects import ObjectStore


def open_object_store(storage_url: str, environ: Mapping[str, str] = os.environ) -> ObjectStore:
    """`file:///path`, or `s3://bucket/prefix` with the usual `AWS_*` variables."""
    parts = urlsplit(storage_url)
    if parts.scheme == "file":
        return LocalObjectStore(Path(unquote(parts.path)))
    if parts.scheme == "s3":
        return ObjectStore(_s3_store(parts.netloc, parts.path.strip("/"), environ))
    raise ValueError("a storage URL starts with file:/// or s3://")


def _s3_store(bucket: str, prefix: str, environ: Mapping[str, str]) -> S3Store:
    config: S3Config = {
        "region": environ.get("AWS_REGION") or environ.get("AWS_DEFAULT_REGION") or "us-east-1"
    }
    if endpoint := environ.get("AWS_ENDPOINT_URL_S3") or environ.get("AWS_ENDPOINT_URL"):
        config["endpoint"] = endpoint
    # Without keys obstore uses the role of the container or the machine.
    if access_key := environ.get("AWS_ACCESS_KEY_ID"):
        config["access_key_id"] = access_key
        config["secret_access_key"] = environ.get("AWS_SECRET_ACCESS_KEY", "")
    if session_token := environ.get("AWS_SESSION_TOKEN"):
        config["session_token"] = session_token
    return S3Store(
        bucket,
        prefix=prefix or None,
        config=config,
        client_options={
            "allow_http": bool(endpoint and endpoint.startswith("http://")),
            "connect_timeout": timedelta(seconds=5),
            # For a whole response: a slow client may take long for a large file.
            "timeout": timedelta(hours=1),
            # For each read: a bucket that accepts connections and says nothing must not keep
            # uploads and pages for an hour. A part of an upload has to be sent within it, too.
            "read_timeout": timedelta(seconds=30),
        },
        retry_config={"max_retries": 3, "retry_timeout": timedelta(seconds=15)},
    )
