"""The checks of every request, in their order: the first that refuses decides the response.

No body is read from a caller who may not send it. Access to records is not checked here: the engine
does that."""

from __future__ import annotations

import msgspec

from masthead.base import errors
from masthead.base.caller import Caller, Kind
from masthead.base.config.settings import Settings
from masthead.base.errors import Forbidden, NotFound, SiteSuspended, Unauthenticated
from masthead.base.languages.words import staff_words
from masthead.identity.directory import Tenant, TenantDirectory
from masthead.identity.key_authentication import ApiKey, ApiKeys
from masthead.identity.limits.rate_limiter import RateLimiter
from masthead.identity.limits.sliding_window import Decision
from masthead.web.answers import RawHeaders
from masthead.web.asking_again import ProofNeeded, Proofs
from masthead.web.callers import Callers
from masthead.web.file_forms import read_files
from masthead.web.forms import FORM_TOKEN, TOKEN_HEADER, FormTokens, check_same_origin, read_form
from masthead.web.policy import BodyKind, Limit, Origin, Policy, WhileSuspended, Who
from masthead.web.request import Request
from masthead.web.staff import StaffSignIn, check_page_owner, form_binding
from masthead.web.v1.errors import HttpsRequired, PlanRequired, QuotaExceeded, lacks_scope


class SignInNeeded(Unauthenticated):
    message = staff_words("You are signed out. Sign in, and it is saved.")


class FactorNeeded(Forbidden):
    message = staff_words(
        "This site requires a second factor of its staff. Add one under Your account first."
    )


class RoleTooLow(Forbidden):
    """Staff at a page for others: `who` may open it."""

    def __init__(self, caller: Caller, who: Who) -> None:
        self.who = who
        super().__init__(
            staff_words("%(refusal)s %(ask)s", refusal=_REFUSED[caller.kind], ask=_ASK[who])
        )


_REFUSED = {
    Kind.CONTRIBUTOR: staff_words("Contributors can't open this page."),
    Kind.AUTHOR: staff_words("Authors can't open this page."),
    Kind.EDITOR: staff_words("Editors can't open this page."),
    Kind.OWNER: staff_words("Owners can't open this page."),
}
_ASK = {
    Who.EDITOR: staff_words("Ask an editor or an owner of the site."),
    Who.OWNER: staff_words("Ask an owner of the site."),
    Who.OPERATOR: staff_words("Ask an operator of the service."),
}


class SiteNotChosen(NotFound):
    message = "This page belongs to a site. Choose one first."


class Checks(msgspec.Struct, frozen=True, kw_only=True):
    settings: Settings
    directory: TenantDirectory
    callers: Callers
    staff: StaffSignIn
    keys: ApiKeys
    limiter: RateLimiter
    form_tokens: FormTokens
    proofs: Proofs

    async def admit(self, request: Request, policy: Policy) -> None:
        """Who it is, whether the site is open to them, what they may call and how often; then where
        a change comes from, and its form."""
        if policy.needs_key:
            await self._admit_key(request, policy)
        elif policy.is_for_staff:
            await self._admit_staff(request, policy)
        elif policy.while_suspended is WhileSuspended.OPERATORS:
            await self._check_open_to_caller(request)
        elif policy.while_suspended is WhileSuspended.CLOSED:
            _check_open(request.tenant)
        if policy.checks_origin:
            await self._admit_change(request, policy)

    async def _admit_key(self, request: Request, policy: Policy) -> None:
        if self.settings.require_https and not request.is_https:
            raise HttpsRequired
        request.key = key = await self._authenticate(request)
        if request.tenant is not None and request.tenant.id != key.tenant.id:
            raise Unauthenticated("This key belongs to another site than the one addressed.")
        _check_open(key.tenant)
        if policy.limit is not Limit.CALLS:
            return
        if not key.tenant.plan.has_api:
            raise PlanRequired
        decision = await self.limiter.admit(key.id, key.tenant)
        # Also of a refusal.
        request.added.extend(_limit_headers(decision))
        if not decision.allowed:
            raise _too_many(decision)
        admitting = (policy.scope, *policy.other_scopes)
        if policy.scope and key.scopes.isdisjoint(admitting):
            raise lacks_scope(*admitting)

    async def _authenticate(self, request: Request) -> ApiKey:
        given = request.header(b"authorization") or ""
        scheme, _, token = given.partition(" ")
        key = await self.keys.authenticate(token.strip()) if scheme.lower() == "bearer" else None
        if key is None:
            raise Unauthenticated(
                "The API key is missing, wrong, expired or revoked. "
                "Send it as `Authorization: Bearer <key>`."
            )
        return key

    async def _admit_staff(self, request: Request, policy: Policy) -> None:
        await self.staff.identify(request)
        if _is_guest(request) and policy.origin is Origin.FORM:
            check_same_origin(request.scope)
            if not _has_files(policy):
                await self._read_form(request, policy)
                await self.staff.sign_in_again(request)
        caller = request.caller
        assert caller is not None
        if caller.kind is Kind.GUEST:
            raise SignInNeeded
        if caller.lacks_factor and not policy.for_enrolment:
            raise FactorNeeded
        if policy.origin in (Origin.PAGE, Origin.SCRIPT):
            check_page_owner(request, policy)
        if policy.who is Who.OPERATOR and caller.kind is not Kind.OPERATOR:
            raise RoleTooLow(caller, policy.who)
        if caller.kind is not Kind.OPERATOR and policy.while_suspended is not WhileSuspended.OPEN:
            _check_open(request.site)
        is_below_owner = policy.who is Who.OWNER and not caller.is_admin
        if is_below_owner or (policy.who is Who.EDITOR and caller.is_writer):
            raise RoleTooLow(caller, policy.who)
        if request.site is None and policy.needs_site:
            raise SiteNotChosen
        if policy.asks_again:
            await self._check_proof(request, policy)

    async def _check_proof(self, request: Request, policy: Policy) -> None:
        if await self.proofs.is_fresh(request, policy.proof_left):
            return
        if policy.origin is not Origin.FORM:
            raise ProofNeeded
        await self._admit_change(request, policy)
        await self.proofs.take(request)

    async def _check_open_to_caller(self, request: Request) -> None:
        """At the address of a suspended site, and for its members and staff on the service's own
        host."""
        caller = await self.callers.of(request)
        if caller.kind is Kind.OPERATOR:
            return
        tenant = request.tenant
        if tenant is None and caller.tenant_id:
            tenant = await self.directory.by_id(caller.tenant_id)
        _check_open(tenant)

    async def _admit_change(self, request: Request, policy: Policy) -> None:
        # A form that was read already came with the password, which is proof enough.
        if request.form:
            return
        if policy.origin is not Origin.LINK:
            check_same_origin(request.scope)
        if policy.origin is Origin.SCRIPT:
            token = request.header(TOKEN_HEADER) or ""
            self.form_tokens.check({FORM_TOKEN: token}, form_binding(request))
            return
        await self._read_form(request, policy)
        if policy.origin is Origin.FORM:
            await self._check_form_token(request, policy)

    async def _read_form(self, request: Request, policy: Policy) -> None:
        body = policy.body
        assert body is not None
        if body.kind is BodyKind.FILES:
            await read_files(request, body, self.settings)
            return
        request.form = await read_form(request.scope, request.receive, limit=request.max_body)

    async def _check_form_token(self, request: Request, policy: Policy) -> None:
        if policy.is_for_staff:
            self.form_tokens.check(request.form, form_binding(request))
            return
        caller = await self.callers.of(request)
        if caller.kind is not Kind.GUEST:
            self.form_tokens.check(request.form, caller.sign_in)


def _check_open(tenant: Tenant | None) -> None:
    """403 and not 503: a shared cache in front may show its stored page instead of a 503."""
    if tenant is not None and tenant.is_suspended:
        raise SiteSuspended


def _is_guest(request: Request) -> bool:
    return request.caller is None or request.caller.kind is Kind.GUEST


def _has_files(policy: Policy) -> bool:
    return policy.body is not None and policy.body.kind is BodyKind.FILES


def _limit_headers(decision: Decision) -> RawHeaders:
    if decision.limit is None:
        return []
    return [
        (b"x-ratelimit-limit", str(decision.limit).encode()),
        (b"x-ratelimit-remaining", str(decision.remaining).encode()),
        (b"x-ratelimit-reset", str(decision.reset).encode()),
    ]


def _too_many(decision: Decision) -> errors.RateLimited:
    if decision.reason == "day":
        return QuotaExceeded(decision.retry_after)
    return errors.RateLimited(
        decision.retry_after, f"Too many calls. Try again in {decision.retry_after} seconds."
    )
