"""An OpenID Connect provider on a real socket, which lies as it is told.

async with Provider(authority, clock) as provider:
    back = provider.authorize(location, sub="ada")     # where the browser is sent back to
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

import jwt
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from tests.tls import Authority, Exchange, Receiver, answer

from masthead.base.clock import Clock

CLIENT = "masthead"
SECRET = "s3cret +%"
Claims = dict[str, Any]
Sign = Callable[["Provider", Claims], str]

_RSA = rsa.generate_private_key(public_exponent=65537, key_size=2048)
KEYS: dict[str, Any] = {
    "RS256": _RSA,
    "PS256": _RSA,
    "ES256": ec.generate_private_key(ec.SECP256R1()),
    "EdDSA": ed25519.Ed25519PrivateKey.generate(),
}
_PUBLIC = {
    "RS256": jwt.algorithms.RSAAlgorithm,
    "PS256": jwt.algorithms.RSAAlgorithm,
    "ES256": jwt.algorithms.ECAlgorithm,
    "EdDSA": jwt.algorithms.OKPAlgorithm,
}


def public_key(algorithm: str = "RS256", **more: Any) -> dict[str, Any]:
    document = _PUBLIC[algorithm].to_jwk(KEYS[algorithm].public_key(), as_dict=True)
    return {**document, "kid": "one", "use": "sig", **more}


def signed(provider: Provider, claims: Claims) -> str:
    return jwt.encode(claims, _RSA, "RS256", {"kid": "one"})


@dataclass
class Provider:
    authority: Authority
    clock: Clock
    metadata: dict[str, Any] = field(default_factory=dict)
    """Instead of what it says of itself; None leaves a value out."""
    keys: list[dict[str, Any]] = field(default_factory=lambda: [public_key()])
    sign: Sign = signed
    userinfo: dict[str, Any] = field(default_factory=dict)
    answers_issuer: bool = False
    exchanges: list[dict[str, str]] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    fetched_keys: int = 0

    def __post_init__(self) -> None:
        self._codes: dict[str, tuple[dict[str, str], Claims]] = {}
        self.receiver = Receiver(self.authority.certificate())

    async def __aenter__(self) -> Provider:
        await self.receiver.listen()
        self.receiver.at("/.well-known/openid-configuration", self._describe)
        self.receiver.at("/token", self._exchange)
        self.receiver.at("/jwks", self._keys)
        self.receiver.at("/me", self._tell)
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.receiver.refuse()

    @property
    def issuer(self) -> str:
        return self.receiver.url("")

    def authorize(self, location: str, **claims: Any) -> str:
        """A person has signed in there: the path and query that their browser opens then. A claim
        that is None is left out."""
        asked = {name: each[0] for name, each in parse_qs(urlsplit(location).query).items()}
        code = f"code-{len(self._codes)}"
        self._codes[code] = (asked, claims)
        back = {"code": code, "state": asked["state"]}
        if self.answers_issuer:
            back["iss"] = self.issuer
        return f"{urlsplit(asked['redirect_uri']).path}?{urlencode(back)}"

    def claims_of(self, asked: dict[str, str], claims: Claims) -> Claims:
        now = int(self.clock().timestamp())
        usual = {
            "iss": self.issuer,
            "aud": CLIENT,
            "sub": "ada",
            "email": "ada@example.com",
            "email_verified": True,
            "name": "Ada",
            "nonce": asked["nonce"],
            "iat": now,
            "exp": now + 300,
        }
        return {name: each for name, each in {**usual, **claims}.items() if each is not None}

    async def _describe(self, exchange: Exchange) -> None:
        said = {
            "issuer": self.issuer,
            "authorization_endpoint": self.receiver.url("/authorize"),
            "token_endpoint": self.receiver.url("/token"),
            "jwks_uri": self.receiver.url("/jwks"),
            "userinfo_endpoint": self.receiver.url("/me") if self.userinfo else None,
            "authorization_response_iss_parameter_supported": self.answers_issuer,
            **self.metadata,
        }
        await _send(exchange, {name: each for name, each in said.items() if each is not None})

    async def _exchange(self, exchange: Exchange) -> None:
        form = {name: each[0] for name, each in parse_qs(exchange.request.body.decode()).items()}
        self.exchanges.append(form)
        self.headers.append(exchange.request.headers)
        found = self._codes.pop(form.get("code", ""), None)
        if found is None:
            await _send(exchange, {"error": "invalid_grant"}, 400)
            return
        token = self.sign(self, self.claims_of(*found))
        await _send(exchange, {"access_token": "at", "token_type": "Bearer", "id_token": token})

    async def _keys(self, exchange: Exchange) -> None:
        self.fetched_keys += 1
        await _send(exchange, {"keys": self.keys})

    async def _tell(self, exchange: Exchange) -> None:
        assert exchange.request.headers["authorization"] == "Bearer at"
        await _send(exchange, self.userinfo)


async def _send(exchange: Exchange, document: dict[str, Any], status: int = 200) -> None:
    body = json.dumps(document).encode()
    await answer(status, body, Content_Type="application/json")(exchange)
