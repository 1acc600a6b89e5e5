"""Verifies DKIM signatures, written from RFC 6376 and RFC 8301 with no part of the library that
signs."""

from __future__ import annotations

import base64
import hashlib
import re

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.padding import PKCS1v15
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import load_der_public_key


class NotVerified(Exception):
    """The message says why."""


def tags_of(value: str) -> dict[str, str]:
    """3.2: a list of `name=value`."""
    pairs = (each.partition("=") for each in value.split(";") if each.strip())
    return {name.strip(): text.strip() for name, _, text in pairs}


def verify(message: bytes, record: str) -> dict[str, str]:
    """The tags of the first signature, which must be valid by the TXT record of its key."""
    head, _, body = message.partition(b"\r\n\r\n")
    fields = _fields(head)
    signatures = [each for each in fields if each[0].lower() == b"dkim-signature"]
    if not signatures:
        raise NotVerified("there is no signature")
    tags = tags_of(re.sub(r"\s+", " ", signatures[0][1].decode()))
    if (tags["v"], tags["a"], tags["c"]) != ("1", "rsa-sha256", "relaxed/simple"):
        raise NotVerified(f"unexpected tags {tags}")
    if tags["bh"].replace(" ", "") != _body_hash(body):
        raise NotVerified("the body was changed")
    names = [each.strip().lower() for each in tags["h"].split(":")]
    signed = _signed_fields(fields, names) + _own_field(signatures[0])
    key = _public_key(record)
    try:
        key.verify(base64.b64decode(tags["b"].replace(" ", "")), signed, PKCS1v15(), SHA256())
    except InvalidSignature:
        raise NotVerified("the signature is wrong") from None
    if "from" not in names:
        raise NotVerified("From is not signed")
    return tags


def _fields(head: bytes) -> list[tuple[bytes, bytes]]:
    unfolded = re.split(rb"\r\n(?![ \t])", head)
    pairs = (each.partition(b":") for each in unfolded if each)
    return [(name, value) for name, _, value in pairs]


def _body_hash(body: bytes) -> str:
    """3.4.3: empty lines at the end are left out."""
    canonical = re.sub(rb"(\r\n)*\Z", b"", body) + b"\r\n"
    return base64.b64encode(hashlib.sha256(canonical).digest()).decode()


def _relaxed(name: bytes, value: bytes) -> bytes:
    """3.4.2."""
    flat = re.sub(rb"[ \t]+", b" ", value.replace(b"\r\n", b"")).strip(b" \t")
    return name.strip().lower() + b":" + flat


def _signed_fields(fields: list[tuple[bytes, bytes]], names: list[str]) -> bytes:
    """5.4.2: the last field of a name first; a name that is not there adds nothing."""
    left = list(fields)
    chosen = b""
    for name in names:
        for index in range(len(left) - 1, -1, -1):
            if left[index][0].strip().lower() == name.encode():
                chosen += _relaxed(*left.pop(index)) + b"\r\n"
                break
    return chosen


def _own_field(signature: tuple[bytes, bytes]) -> bytes:
    """3.7: with an empty `b=`, and without a line end."""
    name, value = signature
    return _relaxed(name, re.sub(rb"(;\s*b\s*=)[^;]*", rb"\1", value))


def _public_key(record: str) -> RSAPublicKey:
    tags = tags_of(record)
    if tags.get("v", "DKIM1") != "DKIM1" or tags.get("k", "rsa") != "rsa":
        raise NotVerified("the record is not of an RSA key")
    key = load_der_public_key(base64.b64decode(tags["p"].replace(" ", "")))
    assert isinstance(key, RSAPublicKey)
    if key.key_size < 2048:
        raise NotVerified("the key is short")
    return key
