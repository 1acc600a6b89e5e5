"""Values for the templates of members' pages: signing up and in, the account, the paid tiers. As in
`views.py`, plain values only."""

from __future__ import annotations

from datetime import datetime

import msgspec

from masthead.faces.reader.views import Link, Offer


class Tier(msgspec.Struct, frozen=True):
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


class OwnTier(msgspec.Struct, frozen=True):
    """A member's own tier, for the part `_tier.html`."""

    is_paid: bool = False
    is_subscribed: bool = False
    """They pay for it; an owner may also have made them a paid member."""
    is_past_due: bool = False
    """The last payment failed."""
    is_trial: bool = False
    """The first payment is still to come."""
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
    given: datetime | None = None
    """Until when they were given access, whether they pay or not."""
    can_manage: bool = False
    """The payment service has a page for cards, invoices and the end of it."""
    can_upgrade: bool = False
    is_confirming: bool = False
    """They come from the payment, and it has not arrived yet."""
    check_url: str = ""
    """Where the page goes by itself after `check_seconds`, to look again."""
    check_seconds: int = 0


class TiersPage(msgspec.Struct, frozen=True):
    """Template `tiers.html`: what the paid tiers cost, and what one gets."""

    tiers: tuple[Tier, ...]
    back: str = ""
    """The path of the post from which a reader came, for links and forms."""
    sells_gifts: bool = False
    """Tiers can be bought for others."""


class OfferPage(msgspec.Struct, frozen=True):
    """Template `offer.html`: what a tier costs with an offer, or that the offer is over."""

    title: str
    path: str
    tier: Tier | None = None
    """Empty if the offer is over."""
    price: str = ""
    """The price while the offer lasts; empty if it is a trial."""
    lasts: str = ""
    """Such as `3 months`, or `14 days` of a trial; empty if it lasts for good."""
    ends: datetime | None = None
    """Until when it can be taken."""
    has_tried: bool = False
    """A trial that the member has had."""
    problem: str = ""
    """Why it is over."""

    @property
    def is_trial(self) -> bool:
        return not self.price


class LeavingPage(msgspec.Struct, frozen=True):
    """Template `leaving.html`, which leads to another site."""

    title: str
    text: str
    button: str
    url: str


class FormProblem(msgspec.Struct, frozen=True):
    """A problem with a form: the id of a field in it, and a sentence."""

    field: str
    message: str


class GiftPrice(msgspec.Struct, frozen=True):
    """The price of a tier as a gift."""

    months: int
    price: str


class GiftTier(msgspec.Struct, frozen=True):
    """A tier that can be given."""

    id: str
    name: str
    prices: tuple[GiftPrice, ...]


class GiftPage(msgspec.Struct, frozen=True):
    """Template `gift.html`: a paid tier for another, with what was typed."""

    tiers: tuple[GiftTier, ...]
    choices: tuple[int, ...] = ()
    """Months to choose from."""
    tier: str = ""
    months: str = ""
    email: str = ""
    send_on: str = ""
    first_day: str = ""
    last_day: str = ""
    """Between which the code can be mailed."""
    order: str = ""
    """Goes with the form, so that sending it twice buys one gift."""
    problems: tuple[FormProblem, ...] = ()


class RedeemPage(msgspec.Struct, frozen=True):
    """Template `redeem.html`: the code of a gift."""

    code: str = ""
    problems: tuple[FormProblem, ...] = ()


class SignUpPage(msgspec.Struct, frozen=True):
    """Template `sign_up.html`."""

    email: str = ""
    newsletter: bool = False
    back: str = ""
    problems: tuple[FormProblem, ...] = ()
    offer: Offer | None = None
    """The prices of the paid tiers, where the site sells any."""
    newsletters: tuple[Newsletter, ...] = ()
    """To choose from, where the site has several."""


class SignInPage(msgspec.Struct, frozen=True):
    """Template `sign_in.html`."""

    email: str = ""
    back: str = ""
    problems: tuple[FormProblem, ...] = ()
    providers: tuple[Link, ...] = ()
    """That readers can sign in with instead: the name and where it begins."""


class ForgotPage(msgspec.Struct, frozen=True):
    """Template `forgot.html`: asks for an email with a link to a new password."""

    email: str = ""
    problems: tuple[FormProblem, ...] = ()


class InboxPage(msgspec.Struct, frozen=True):
    """Template `inbox.html`: an email was asked for. It says the same for every address."""

    email: str
    kind: str
    """The request: `sign_up`, `sign_in` or `password`."""
    stored: str = ""
    """Where the email is, if the service has no mail server to send it."""
    code_id: str = ""
    """Goes with the code that the reader types; empty where the email has none."""
    back: str = ""
    problems: tuple[FormProblem, ...] = ()


class SignIn(msgspec.Struct, frozen=True):
    """A place where a member is signed in."""

    id: str
    browser: str
    """Such as "Firefox on Linux"."""
    address: str
    since: datetime
    last_seen: datetime
    is_current: bool


class Newsletter(msgspec.Struct, frozen=True):
    """One that a member gets or does not get."""

    slug: str
    name: str
    description: str
    is_on: bool


class Connected(msgspec.Struct, frozen=True):
    """A provider that signs the member in."""

    id: str
    provider: str
    since: datetime


class AccountPage(msgspec.Struct, frozen=True):
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
    """Gets an email when a comment was answered."""
    notice: str = ""
    """The sentence about what has just been done."""
    deleted_on: datetime | None = None
    """The day on which a deletion that was asked for happens."""
    opened: str = ""
    """The part whose form was wrong, and is shown again with what was typed."""
    typed: str = ""
    problems: tuple[FormProblem, ...] = ()
    connections: tuple[Connected, ...] = ()
    sells_gifts: bool = False


class DeletePage(msgspec.Struct, frozen=True):
    """Template `delete_account.html`."""

    phrase: str
    """To be typed."""
    days: int
    """Until the deletion happens."""
    problems: tuple[FormProblem, ...] = ()
    still_pays: bool = False
    """The payment service would go on charging them."""
