"""Signatures with what becomes of each of them.

The digests are made with `printf … | openssl dgst -sha256 -hmac SECRET`, so that no code of ours
agrees only with itself.
"""

from __future__ import annotations

import base64
import json
from dataclasses import dataclass, replace
from typing import Any, Final

import pytest
from tests import corpus


@dataclass(frozen=True)
class Vector:
    name: str
    body: bytes
    value: str
    """The value of the header."""
    is_valid: bool = True
    secret: str = "lighthouse-signing-key"
    timestamp: str = "1731500000"
    header: str = "X-Service-Signature"


_POST: Final = b'{"event":"post.updated","payload":{"slug":"tide-tables"}}'
_DIGEST: Final = "f66540b5316666e408c5b6dffd73a8a35b839d86bccf523589011275d546741c"

_PLAIN: Final = Vector("ascii", _POST, f"v1={_DIGEST}")
# Over `v1:<timestamp>:<body>`.
OUTBOUND: Final = (
    _PLAIN,
    Vector(
        "letters of other scripts",
        '{"event":"post.updated","payload":{"title":"Öl, mørke, 潮 🌊"}}'.encode(),
        "v1=45acdcbb657471e5eb4158644a27cc78c499c5acd6cffe72754429020be36013",
    ),
    Vector(
        "the same as escapes",
        rb'{"event":"post.updated","payload":{"title":"\u00d6l \ud83c\udf0a"}}',
        "v1=6eef5388b697823a857e8e69d5d1181300459dc52de333ce43afc2bf9e648679",
    ),
    Vector(
        "blanks and a line end at the end",
        b'{ "event" : "test.ping" }\n',
        "v1=864cf3bdfb0fefa5c9e16024850c0d1bf7ea5b50e5a6c671449d629f4abc8fb8",
    ),
    Vector(
        "a line end of Windows",
        b'{"event":"test.ping",\r\n"payload":{}}',
        "v1=6cd0f584f640caef1d72a4d72bb86672d51eadb0e911669529638642ec3d0c1a",
    ),
    Vector("no body", b"", "v1=da4dc499f3e1e8d7576a708b99cfbff775902fbbe0336b04e99d8fa8b489b7ba"),
    Vector(
        "bytes that are no text",
        b"\x00\xff\xfe",
        "v1=2e6e1a1b51f08b2ce70307290fd8997447275746c0cdc8ad51c21772db6b3d4c",
    ),
    replace(_PLAIN, name="another secret", secret="lighthouse-signing-keys", is_valid=False),
    replace(_PLAIN, name="another body", body=_POST + b" ", is_valid=False),
    replace(_PLAIN, name="another time", timestamp="1731500001", is_valid=False),
    replace(_PLAIN, name="no prefix", value=_DIGEST, is_valid=False),
    replace(_PLAIN, name="another version", value=f"v2={_DIGEST}", is_valid=False),
    replace(
        _PLAIN, name="a prefix of the body's scheme", value=f"sha256={_DIGEST}", is_valid=False
    ),
    replace(_PLAIN, name="cut off", value=f"v1={_DIGEST[:-1]}", is_valid=False),
    replace(_PLAIN, name="longer", value=f"v1={_DIGEST}0", is_valid=False),
    replace(_PLAIN, name="empty", value="", is_valid=False),
    replace(_PLAIN, name="no hex", value="v1=" + "q" * 64, is_valid=False),
    replace(_PLAIN, name="outside ASCII", value=f"v1=é{_DIGEST[1:]}", is_valid=False),
    replace(_PLAIN, name="upper case", value=f"v1={_DIGEST.upper()}", is_valid=False),
    Vector(
        "signed with dots between",
        _POST,
        "v1=b961502f17f952dc83802eb8eba376c553b2c5f88ef08666c63d605416c12d1d",
        is_valid=False,
    ),
    Vector(
        "signed without the time",
        _POST,
        "v1=a53dcb2baf0238019728354c7c35bef820fb555d7c75dbf6b2fff7a04c0128ad",
        is_valid=False,
    ),
)

_SECRET: Final = "harbour-till-secret"
_EVENT: Final = b'{"id":"evt_harbour_1","type":"invoice.paid"}'
_OF_BODY: Final = "c47a7bf4c5081d69f663b1065105656ee77507c4ee8339f3b161524d0062dd48"
_OF_TIME: Final = "6d83faf6dc9188f604cd94cbed729e3dbc2164703bbf96b9e5ad1a1c47bff249"
_LETTERS: Final = r'{"id":"evt_2","note":"Größe – 潮 \/ 1"}'.encode()


def _payment(name: str, value: str, *, is_valid: bool = True, **given: Any) -> Vector:
    return Vector(
        **{
            "name": name,
            "body": _EVENT,
            "value": value,
            "is_valid": is_valid,
            "secret": _SECRET,
            "header": "payment-signature",
            **given,
        }
    )


# Over the body, or over `<timestamp>.<body>` where a time is sent.
PAYMENT: Final = (
    _payment("of the body", _OF_BODY),
    _payment(
        "of a body in letters of other scripts",
        "2cb20588348fd9f94747adf124374f11522d9e71583149dd0117a5f84cdca2ad",
        body=_LETTERS,
    ),
    _payment("with its time", f"t=1731500000,v1={_OF_TIME}"),
    _payment(
        "with its time in its own header", f"t=1731500000,v1={_OF_TIME}", header="Stripe-Signature"
    ),
    _payment(
        "letters with their time",
        "t=1731500000,v1=2cc218657c22a883a0d9ca41df9deb9b0a8a2ad54fd12689e79c26992302d579",
        body=_LETTERS,
    ),
    _payment("two while the secret is rolled", f"t=1731500000,v1={'0' * 64},v1={_OF_TIME}"),
    _payment(
        "a secret with its prefix, used as it is",
        "t=1731500000,v1=278e899678d51c7a6ee1b6aa8c7dbf73accf7c29b845c9594e01e2fe5201dac1",
        secret=f"whsec_{_SECRET}",
    ),
    _payment("only the weaker version", f"t=1731500000,v0={_OF_TIME}", is_valid=False),
    _payment("a time that is not said", f"v1={_OF_TIME}", is_valid=False),
    _payment("another time", f"t=1731500001,v1={_OF_TIME}", is_valid=False),
    _payment("the time without its digest", f"t=1731500000,v1={_OF_BODY}", is_valid=False),
    _payment("too late", f"t=1731500000,v1={_OF_TIME}", is_valid=False, timestamp="1731500301"),
    _payment("of the body, prefixed", f"sha256={_OF_BODY}", header="X-Service-Signature"),
    _payment("no prefix", _OF_BODY, header="X-Service-Signature", is_valid=False),
    _payment(
        "the same values written again",
        f"sha256={_OF_BODY}",
        header="X-Service-Signature",
        body=b'{"id": "evt_harbour_1", "type": "invoice.paid"}',
        is_valid=False,
    ),
)


def outbound() -> list[Any]:
    others = (each for each in _of_the_corpus() if each["scheme"] == "outbound-v1")
    return _cases(*OUTBOUND, *(_read(each) for each in others))


def payment() -> list[Any]:
    others = (each for each in _of_the_corpus() if each["scheme"] != "outbound-v1")
    return _cases(*PAYMENT, *(_read(each) for each in others))


def _of_the_corpus() -> list[dict[str, Any]]:
    files = corpus.found("webhooks/signature-vectors.json")
    return [vector for path in files for vector in json.loads(path.read_text())["vectors"]]


def _read(vector: dict[str, Any]) -> Vector:
    return Vector(
        vector["name"],
        base64.b64decode(vector["body_base64"]),
        vector["header_value"],
        # What is left to us there is refused here: upper-case hex.
        vector["valid"] is True,
        vector["secret"],
        str(vector.get("timestamp") or "1718000000"),
        vector["header_name"],
    )


def _cases(*vectors: Vector) -> list[Any]:
    return [pytest.param(each, id=each.name) for each in vectors]
