"""Values for the templates of members' pages: signing up and in, the account, the paid tiers. As in
`views.py`, plain values only."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from masthead.reader.views import Link, Offer


@dataclass(frozen=True, slots=True)
class Tier:
    """A paid tier that the site sells."""

    id: str
    name: str
    price: str
    """Such as `£4`."""
    interval: str
    """`month` or `year`."""
    benefits: tuple[str, ...] = ()
    can_buy: bool = True
    """Whether the site has a way to pay for it."""


@dataclass(frozen=True, slots=True)
class OwnTier:
    """A member's own tier, for the part `_tier.html`."""

    is_paid: bool = False
    is_subscribed: bool = False
    """They pay for it; an owner may also have made them a paid member."""
    is_past_due: bool = False
    """The last payment failed."""
    has_ended: bool = False
    """They were a paid member."""
    name: str = ""
    price: str = ""
    interval: str = ""
    """The tier's interval; empty where it is not known."""
    renews: datetime | None = None
    """When it is paid again."""
    ends: datetime | None = None
    """When it ends, once it was cancelled."""
    can_manage: bool = False
    """The payment service has a page for cards, invoices and the end of it."""
    can_upgrade: bool = False
    is_confirming: bool = False
    """They come from the payment, and it has not arrived yet."""
    check_url: str = ""
    """Where the page goes by itself after `check_seconds`, to look again."""
    check_seconds: int = 0


@dataclass(frozen=True, slots=True)
class TiersPage:
    """Template `tiers.html`: what the paid tiers cost, and what one gets."""

    tiers: tuple[Tier, ...]


@dataclass(frozen=True, slots=True)
class LeavingPage:
    """Template `leaving.html`, which leads to another site."""

    title: str
    text: str
    button: str
    url: str


@dataclass(frozen=True, slots=True)
class FormProblem:
    """A problem with a form: the id of a field in it, and a sentence."""

    field: str
    message: str


@dataclass(frozen=True, slots=True)
class SignUpPage:
    """Template `sign_up.html`."""

    email: str = ""
    newsletter: bool = False
    back: str = ""
    problems: tuple[FormProblem, ...] = ()
    offer: Offer | None = None
    """The prices of the paid tiers, where the site sells any."""
    newsletters: tuple[Newsletter, ...] = ()
    """To choose from, where the site has several."""


@dataclass(frozen=True, slots=True)
class SignInPage:
    """Template `sign_in.html`."""

    email: str = ""
    back: str = ""
    problems: tuple[FormProblem, ...] = ()
    providers: tuple[Link, ...] = ()
    """That readers can sign in with instead: the name and where it begins."""


@dataclass(frozen=True, slots=True)
class ForgotPage:
    """Template `forgot.html`: asks for a mail with a link to a new password."""

    email: str = ""
    problems: tuple[FormProblem, ...] = ()


@dataclass(frozen=True, slots=True)
class InboxPage:
    """Template `inbox.html`: a mail was asked for. It says the same for every address."""

    email: str
    kind: str
    """The request: `sign_up`, `sign_in` or `password`."""
    stored: str = ""
    """Where the email is, if the service has no mail server to send it."""
    code_id: str = ""
    """Goes with the code that the reader types; empty where the email has none."""
    back: str = ""
    problems: tuple[FormProblem, ...] = ()


@dataclass(frozen=True, slots=True)
class SignIn:
    """A place where a member is signed in."""

    id: str
    browser: str
    """Such as "Firefox on Linux"."""
    address: str
    since: datetime
    last_seen: datetime
    is_current: bool


@dataclass(frozen=True, slots=True)
class Newsletter:
    """One that a member gets or does not get."""

    slug: str
    name: str
    description: str
    is_on: bool


@dataclass(frozen=True, slots=True)
class Connected:
    """A provider that signs the member in."""

    id: str
    provider: str
    since: datetime


@dataclass(frozen=True, slots=True)
class AccountPage:
    """Template `account.html`."""

    name: str
    email: str
    newsletter: bool
    has_password: bool
    tier: OwnTier
    sign_ins: tuple[SignIn, ...]
    newsletters: tuple[Newsletter, ...] = ()
    """To choose from, where the site has several and the member gets any."""
    comment_mails: bool = True
    """Gets a mail when a comment was answered."""
    notice: str = ""
    """The sentence about what has just been done."""
    deleted_on: datetime | None = None
    """The day on which a deletion that was asked for happens."""
    opened: str = ""
    """The part whose form was wrong, and is shown again with what was typed."""
    typed: str = ""
    problems: tuple[FormProblem, ...] = ()
    connections: tuple[Connected, ...] = ()


@dataclass(frozen=True, slots=True)
class DeletePage:
    """Template `delete_account.html`."""

    phrase: str
    """To be typed."""
    days: int
    """Until the deletion happens."""
    problems: tuple[FormProblem, ...] = ()
    still_pays: bool = False
    """The payment service would go on charging them."""
