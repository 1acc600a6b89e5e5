"""Why a sign-in with a provider failed: a sentence for the person, and the cause for the log."""

from __future__ import annotations

from masthead.base.errors import BadRequest
from masthead.base.languages.words import words
from masthead.base.logs import log
from masthead.features.single_sign_on.person import Person


class SignOnFailed(BadRequest):
    """`why` is for the log and, in a check by the owner, for the page."""

    message = words("The sign-in did not work. Try it again.")

    def __init__(self, why: str, message: str = "") -> None:
        super().__init__(message or self.message)
        self.why = why


class ProviderFailed(SignOnFailed):
    """It is down, or answers what no provider should."""

    message = words(
        "The sign-in provider gave no usable answer. Try again in a few minutes, "
        "or sign in another way."
    )


class StaleSignOn(SignOnFailed):
    """The answer of the provider does not belong to a sign-in that this browser has begun."""

    message = words("This sign-in has expired or was used already. Begin again.")


class TokenRefused(SignOnFailed):
    """Its signature or one of its claims is wrong."""

    message = words("The sign-in provider’s answer could not be verified. Try it again.")


class NotAdmitted(SignOnFailed):
    """The provider knows the person, and this site does not let them in."""


def not_admitted(person: Person, refusal: str) -> NotAdmitted:
    log.warning(
        "single_sign_on.not_admitted",
        tenant_id=person.provider["tenant_id"],
        provider=person.provider["slug"],
        why=refusal,
    )
    return NotAdmitted(refusal, refusal)
