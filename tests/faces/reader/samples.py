"""Pages of an invented magazine with everything that is hard to lay out: long titles, gated posts,
threads, several authors, posts without a picture, and nothing at all."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from pathlib import Path

from markupsafe import Markup
from msgspec.structs import replace

from masthead.faces.reader.member_views import (
    AccountPage,
    DeletePage,
    ForgotPage,
    FormProblem,
    GiftPage,
    GiftPrice,
    GiftTier,
    InboxPage,
    OfferPage,
    OwnTier,
    RedeemPage,
    SignIn,
    SignInPage,
    SignUpPage,
    Tier,
    TiersPage,
)
from masthead.faces.reader.views import (
    ArchivePage,
    Author,
    Card,
    Chrome,
    Comment,
    CommentForm,
    Discussion,
    ErrorPage,
    Head,
    HomePage,
    Input,
    Link,
    ListPage,
    MessagePage,
    Month,
    Offer,
    Pager,
    Picture,
    PostPage,
    Reader,
    SearchPage,
    Site,
    TextPage,
)

ZONE = timezone(timedelta(hours=1))
SITE = Site(
    name="Tideline",
    description="Notes from Sallow Bay: people, walks, suppers and the occasional long read.",
    url="https://tideline.example.com",
    language="en-GB",
    navigation=(Link("Archive", "/archive"), Link("Search", "/search"), Link("About", "/about")),
)
HEAD = Head(
    title="Tideline",
    description="Notes from Sallow Bay.",
    canonical="https://tideline.example.com/",
    image="https://tideline.example.com/pictures/lighthouse.webp",
    data='{"@context": "https://schema.org", "@type": "Blog"}',
    feeds=(Link("Tideline", "/feed.xml"), Link("Tideline (JSON)", "/feed.json")),
)
GUEST = Reader()
MEMBER = Reader(is_member=True, name="Ana", form_token="a-token-of-this-sign-in")

NELL = Author(
    "Nell Ashby", "/authors/nell-ashby", bio="Writes about light, weather and timetables."
)
INES = Author("Ines Ferro", "/authors/ines-ferro", bio="Draws maps and everything on them.")
LONG_NAME = Author("Marguerite Oyelaran-Whitcombe", "/authors/marguerite-oyelaran-whitcombe")

LONG_WORD = "Donaudampfschifffahrtselektrizitätenhauptbetriebswerkbauunterbeamtengesellschaft"


def chrome(
    *, reader: Reader = GUEST, site: Site = SITE, path: str = "/", title: str = "Tideline"
) -> Chrome:
    return Chrome(site, reader, replace(HEAD, title=title), path)


def picture(name: str, alt: str = "") -> Picture:
    return Picture(f"/pictures/{name}.webp", alt, 1080, 720)


def card(
    title: str,
    *,
    excerpt: str = "",
    on: tuple[int, int, int] = (2026, 11, 15),
    minutes: int = 6,
    by: tuple[Author, ...] = (NELL,),
    tags: tuple[str, ...] = ("long reads",),
    shows: str = "",
    alt: str = "",
    audience: str = "public",
    is_open: bool = True,
) -> Card:
    slug = "-".join(title.lower().split())
    return Card(
        title=title,
        url=f"/posts/{slug}",
        excerpt=excerpt,
        published=datetime(*on, 9, 10, tzinfo=ZONE),
        minutes=minutes,
        authors=by,
        tags=tuple(Link(each, f"/tags/{each.replace(' ', '-')}") for each in tags),
        picture=picture(shows, alt) if shows else None,
        audience=audience,
        is_open=is_open,
    )


LIGHTHOUSE = card(
    "The lighthouse keeps its own hours",
    excerpt="Chapel Point light was taken off the clock in 1987. "
    "We asked the woman who now decides when it is dark.",
    tags=("long reads", "harbour", "history"),
    shows="lighthouse",
    alt="A white lighthouse with a red band on a dark headland, the sun just setting behind it",
)
SWIMMERS = card(
    "How cold is cold? Notes from the seven o’clock swimmers",
    excerpt="A thermometer on a string, a flask, and a rule about complaining.",
    on=(2026, 11, 3),
    minutes=4,
    by=(Author("Hannah Whitlock", "/authors/hannah-whitlock"),),
    tags=("people",),
    shows="swim",
)
FOUNTAINS = card(
    "Our map of every drinking fountain",
    excerpt="Thirty-one fountains, of which twenty-six work. We checked all of them.",
    on=(2026, 10, 16),
    minutes=3,
    by=(INES,),
    tags=("town",),
    shows="map",
    audience="members",
    is_open=False,
)
BAKERY = card(
    "Four flours, one oven: a night at Weir Street Bakery",
    excerpt="We spent a night with the people who make the town’s bread, "
    "and learned why the rye is always late.",
    on=(2026, 8, 20),
    by=(LONG_NAME, NELL),
    tags=("food",),
    shows="bread",
)
WIND = card(
    "Who owns the wind?",
    excerpt="Nine turbines, three parishes and one very long meeting: "
    "how Sallow Bay decided to build its own power station.",
    on=(2026, 9, 14),
    minutes=11,
    by=(Author("Ruth Abara", "/authors/ruth-abara"),),
    shows="wind",
)
NUMBERS = card(
    "Where your subscription went: the year in numbers",
    excerpt="What we earned, what we spent, and the one thing that we would not buy again.",
    on=(2026, 10, 25),
    tags=("about us",),
    shows="issue",
    audience="paid",
    is_open=False,
)
LADDERS = card(
    "The library that lends ladders",
    excerpt="Drills, tents, a cider press and one very popular carpet cleaner.",
    on=(2026, 8, 28),
    minutes=2,
    by=(Author("Dev Anand", "/authors/dev-anand"),),
    tags=("people",),
)
FERRY = card(
    "The last ferry is the best one",
    excerpt="Everyone in Sallow Bay has missed the 22:10 once. Few of us regret it.",
    on=(2026, 8, 13),
    minutes=3,
    tags=("harbour",),
    shows="ferry",
)
LINES = (WIND, NUMBERS, LADDERS, FERRY)

TEXT = Markup((Path(__file__).parent / "sample_text.html").read_text())


def comment(id: str, author: str, *paragraphs: str, **more: object) -> Comment:
    when = datetime(2026, 11, 15, 10, 2, tzinfo=ZONE)
    return Comment(id, author, when, paragraphs, **more)  # type: ignore[arg-type]


THREAD = (
    comment(
        "c1",
        "Edie Marsh",
        "Edwin was my great-grandfather. Thank you for this.",
        "The family version has more swearing in it.",
        replies=(
            comment("c2", "Ines Ferro", "The man with the shirts. I keep thinking of him."),
            comment(
                "c3",
                "Nell Ashby",
                "Bring the swearing to the museum on Saturday, please.",
                is_staff=True,
                replies=(
                    comment(
                        "c4",
                        "Edie Marsh",
                        "I will bring all of it.",
                        replies=(comment("c5", LONG_WORD, f"{LONG_WORD}!"),),
                    ),
                ),
            ),
        ),
    ),
    comment("c6", "Viktor Lind", "Justice for Mr Tully."),
    comment("c7", "Ana", "<b>I wrote</b> one of the four letters.", is_waiting=True),
)
OPEN_TO_GUESTS = Discussion(
    THREAD, 7, may_post=True, waits=True, needs_name=True, needs_email=True, older="/older#comments"
)
REFUSED = Discussion(
    (
        comment(
            "c9",
            "Ana",
            is_deleted=True,
            thread="?thread=c9#comments",
            replies=(comment("c10", "Ben", "What did it say?", answers="Ana"),),
        ),
    ),
    1_234,
    may_post=True,
    waits=False,
    needs_name=True,
    needs_email=True,
    is_thread=True,
    newer="/newer#comments",
    form=CommentForm(
        {
            "": "Too many comments at once. Try again in 20 seconds.",
            "body": "Write something first.",
            "name": "Enter the name to show with your comment.",
            "email": "Must be an email address, such as ada@example.com.",
        },
        body="<b>x</b>",
        name='"Ana"',
        email="ana",
        parent_id="c10",
    ),
)
CLOSED = Discussion(THREAD[1:2], 1, may_post=False, waits=False, needs_name=False, open_to="")
FOR_MEMBERS = Discussion((), 0, may_post=False, waits=False, needs_name=False)
OWN_COMMENT = Discussion(
    (comment("c8", "Ana", "My own words, still fresh.", can_change=True),),
    1,
    may_post=True,
    waits=False,
    needs_name=False,
)

_german = replace(
    SITE,
    name="Donauschifffahrtsnachrichten",
    description="Alles über Binnenschifffahrtsstraßenverordnungen.",
    language="de",
    navigation=(
        Link("Veranstaltungskalender", "/termine"),
        Link("Redaktionsgeheimnisse", "/redaktion"),
        Link("Datenschutzerklärung", "/datenschutz"),
    ),
)
_german_post = card(
    f"Die {LONG_WORD} feiert ihr hundertjähriges Bestehen",
    excerpt="Rechtsschutzversicherungsgesellschaften und Kraftfahrzeughaftpflichtversicherungen "
    "gratulieren der Betriebswerkbauunterbeamtengesellschaft.",
    tags=("Binnenschifffahrtsstraßenordnung",),
    by=(LONG_NAME,),
)

HOME = HomePage(
    LIGHTHOUSE, (SWIMMERS, FOUNTAINS, BAKERY), LINES, Pager(older="/?before=2026-08-13")
)
EMPTY_HOME = HomePage(None, (), (), Pager())

TIERS = (
    Tier(
        "reader000000000",
        "Supporter",
        "£4",
        "month",
        ("Every long read", "The letter on the first of the month"),
    ),
    Tier("friend000000000", "Harbour friend", "£44", "year", ("The printed quarterly by post",)),
    Tier("patron000000000", "Patron", "£1,200.50", "year", can_buy=False),
    Tier("german000000000", LONG_WORD, "12\u202f000,50\u00a0EUR", "year", (LONG_WORD,)),
)

OFFER = OfferPage(
    title="50% off Supporter",
    path="/member/offer/spring",
    tier=TIERS[0],
    price="£2",
    lasts="3 months",
    ends=datetime(2026, 12, 31, 12, tzinfo=ZONE),
)

NO_ADDRESS = (FormProblem("email", "Must be an email address, such as ada@example.com."),)
_MONTHLY = ((1, "£4"), (3, "£12"), (6, "£24"), (12, "£48"))
GIFT = GiftPage(
    (
        GiftTier("t1", "Supporter", tuple(GiftPrice(*each) for each in _MONTHLY)),
        GiftTier("t2", "Patron", (GiftPrice(12, "£1,200.50"),)),
    ),
    choices=(1, 3, 6, 12),
    first_day="2026-11-15",
    last_day="2027-11-15",
    order="0rd3r",
)

ACCOUNT = AccountPage(
    sells_gifts=True,
    name="Ines Ferro",
    email="ines.ferro@example.com",
    newsletter=True,
    has_password=False,
    tier=OwnTier(is_paid=True, is_subscribed=True, name="Supporter", price="£44", interval="year"),
    sign_ins=(
        SignIn(
            "s1",
            "Firefox on Linux",
            "192.0.2.7",
            datetime(2026, 11, 12, 18, 40, tzinfo=ZONE),
            datetime(2026, 11, 15, 9, 5, tzinfo=ZONE),
            is_current=True,
        ),
        SignIn(
            "s2",
            "Safari on iPhone",
            "2001:db8:4006:80a:0:1234:5678:9abc",
            datetime(2026, 11, 2, 7, 2, tzinfo=ZONE),
            datetime(2026, 11, 14, 7, 2, tzinfo=ZONE),
            is_current=False,
        ),
    ),
    notice="Your name is saved.",
)
LONG_ADDRESS = f"{'donaudampfschifffahrt' * 3}@{'gesellschaft' * 4}.example.com"

PAGES: dict[str, tuple[str, Chrome, object]] = {
    "home": ("home.html", chrome(), HOME),
    "home-member": ("home.html", chrome(reader=MEMBER), HOME),
    "home-second": (
        "home.html",
        chrome(),
        HomePage(None, (), LINES, Pager(newer="/", older="/?before=2026-01-01")),
    ),
    "home-plain": (
        "home.html",
        chrome(site=replace(SITE, members_enabled=False, navigation=(), description="")),
        HomePage(LADDERS, (SWIMMERS, FERRY), (), Pager()),
    ),
    "home-empty": ("home.html", chrome(), EMPTY_HOME),
    "home-german": (
        "home.html",
        chrome(site=_german),
        HomePage(_german_post, (_german_post,), (_german_post,), Pager()),
    ),
    "post": (
        "post.html",
        chrome(path=LIGHTHOUSE.url, title=f"{LIGHTHOUSE.title} · Tideline"),
        PostPage(LIGHTHOUSE, TEXT, LIGHTHOUSE.published, OPEN_TO_GUESTS, (WIND, LADDERS)),
    ),
    "post-refused-comment": (
        "post.html",
        chrome(path=BAKERY.url, title=BAKERY.title),
        PostPage(BAKERY, TEXT, BAKERY.published, REFUSED),
    ),
    "post-closed-comments": (
        "post.html",
        chrome(path=BAKERY.url, title=BAKERY.title),
        PostPage(BAKERY, TEXT, BAKERY.published, CLOSED),
    ),
    "post-german": (
        "post.html",
        replace(
            chrome(site=_german, path="/posts/jubilaeum"),
            head=replace(HEAD, translations=(Link("de", "/x"), Link("ar", "/y"))),
        ),
        PostPage(
            _german_post,
            Markup("<p>{}</p>").format(f"{LONG_WORD} " * 6),
            _german_post.published,
        ),
    ),
    "post-member": (
        "post.html",
        chrome(reader=MEMBER, path=BAKERY.url),
        PostPage(BAKERY, TEXT, BAKERY.published, OWN_COMMENT),
    ),
    "paywall": (
        "post.html",
        chrome(path=FOUNTAINS.url, title=f"{FOUNTAINS.title} · Tideline"),
        PostPage(
            replace(FOUNTAINS, picture=None),
            Markup(
                "<p>This is the map that you asked for: thirty-one fountains, walked and tasted "
                "by three of us over two weekends.</p>"
            ),
            FOUNTAINS.published,
            FOR_MEMBERS,
        ),
    ),
    "paywall-paid": (
        "post.html",
        chrome(path=NUMBERS.url),
        PostPage(NUMBERS, Markup(""), NUMBERS.published, offer=Offer("£4", "month")),
    ),
    "paywall-paid-member": (
        "post.html",
        chrome(reader=MEMBER, path=NUMBERS.url),
        PostPage(NUMBERS, Markup(""), NUMBERS.published, offer=Offer("£4", "month", True)),
    ),
    "paywall-not-sold": (
        "post.html",
        chrome(reader=MEMBER, path=NUMBERS.url),
        PostPage(NUMBERS, Markup(""), NUMBERS.published),
    ),
    "tiers": ("tiers.html", chrome(path="/member/tiers"), TiersPage(TIERS[:2])),
    "tiers-member": (
        "tiers.html",
        chrome(reader=MEMBER, path="/member/tiers"),
        TiersPage(TIERS[:3], sells_gifts=True),
    ),
    "tiers-german": (
        "tiers.html",
        chrome(reader=MEMBER, site=_german, path="/member/tiers"),
        TiersPage(TIERS),
    ),
    "tiers-paid": (
        "tiers.html",
        chrome(reader=replace(MEMBER, is_paid=True), path="/member/tiers"),
        TiersPage(TIERS[:1]),
    ),
    "offer": ("offer.html", chrome(path=OFFER.path), OFFER),
    "offer-member": (
        "offer.html",
        chrome(reader=MEMBER, path=OFFER.path),
        replace(OFFER, ends=None, lasts=""),
    ),
    "offer-trial": (
        "offer.html",
        chrome(reader=MEMBER, path=OFFER.path),
        replace(OFFER, title="Try Supporter for 14 days", price="", lasts="14 days"),
    ),
    "offer-tried": (
        "offer.html",
        chrome(reader=MEMBER, path=OFFER.path),
        replace(
            OFFER, title="Try Supporter for 14 days", price="", lasts="14 days", has_tried=True
        ),
    ),
    "offer-not-sold": (
        "offer.html",
        chrome(reader=MEMBER, path=OFFER.path),
        replace(OFFER, title=f"50% off {LONG_WORD}", tier=replace(TIERS[3], can_buy=False)),
    ),
    "offer-over": (
        "offer.html",
        chrome(path=OFFER.path),
        OfferPage(
            "This offer has ended", OFFER.path, problem="It could be taken for a limited time."
        ),
    ),
    "gift": ("gift.html", chrome(path="/member/gift"), GIFT),
    "gift-wrong": (
        "gift.html",
        chrome(reader=MEMBER, path="/member/gift"),
        replace(
            GIFT,
            tier="t2",
            months="3",
            email="mira",
            problems=(
                FormProblem("months", "Patron is given for 12 months."),
                FormProblem("email", "Must be a valid email address."),
                FormProblem(
                    "send_on", "This day has passed. Leave it empty to send the code at once."
                ),
            ),
        ),
    ),
    "redeem": (
        "redeem.html",
        chrome(reader=MEMBER, path="/member/redeem"),
        RedeemPage("7QXK-4M2P-J0VA-9RTE"),
    ),
    "redeem-guest": (
        "redeem.html",
        chrome(path="/member/redeem"),
        RedeemPage("7QXK-4M2P-J0VA-9RTE"),
    ),
    "redeem-refused": (
        "redeem.html",
        chrome(reader=MEMBER, path="/member/redeem"),
        RedeemPage(
            "7QXK-4M2P-J0VA-9RTE",
            (
                FormProblem(
                    "code",
                    "You pay for a tier that goes on. Keep the code: it works when that has ended, "
                    "or for somebody else.",
                ),
            ),
        ),
    ),
    "paywall-closed": (
        "post.html",
        chrome(site=replace(SITE, members_enabled=False), path=FOUNTAINS.url),
        PostPage(
            replace(FOUNTAINS, picture=Picture("/pictures/map.webp", "A map")),
            Markup(""),
            FOUNTAINS.published,
        ),
    ),
    "page": (
        "page.html",
        chrome(path="/about", title="About · Tideline"),
        TextPage("About us", Markup("<p>Nine of us make it. <em>Everyone</em> may read it.</p>")),
    ),
    "tag": (
        "list.html",
        chrome(path="/tags/harbour", title="harbour · Tideline"),
        ListPage(
            "harbour",
            "Boats, people who have one, and people who would like one.",
            (LIGHTHOUSE, FERRY, LADDERS),
            Pager(older="/tags/harbour?before=2026-08-13"),
            picture="/pictures/harbour.webp",
        ),
    ),
    "tag-empty": ("list.html", chrome(path="/tags/chess"), ListPage("chess", "", (), Pager())),
    "author": (
        "list.html",
        chrome(path=NELL.url, title="Nell Ashby · Tideline"),
        ListPage(NELL.name, NELL.bio, (LIGHTHOUSE, NUMBERS, FERRY), Pager(), NELL),
    ),
    "archive": (
        "archive.html",
        chrome(
            path="/archive",
            title="Archive · Tideline",
            site=replace(
                SITE,
                navigation=(
                    Link("Archive", "/archive", is_current=True),
                    Link("Search", "/search"),
                    Link("About", "/about"),
                ),
            ),
        ),
        ArchivePage(
            (
                Month("November 2026", (LIGHTHOUSE, SWIMMERS)),
                Month("October 2026", (NUMBERS, FOUNTAINS)),
                Month("September 2026", (WIND,)),
                Month("August 2026", (LADDERS, BAKERY, FERRY)),
            ),
            tuple(
                Link(each, f"/tags/{each}")
                for each in ("harbour", "food", "people", "town", "walks", "history")
            ),
            Pager(older="/archive?before=2026-08-13"),
        ),
    ),
    "archive-empty": ("archive.html", chrome(path="/archive"), ArchivePage((), (), Pager())),
    "search": ("search.html", chrome(path="/search"), SearchPage("light", (LIGHTHOUSE, FERRY))),
    "search-none": ("search.html", chrome(path="/search"), SearchPage("xyzzy", ())),
    "search-first": ("search.html", chrome(path="/search"), SearchPage("", ())),
    "not-found": (
        "error.html",
        chrome(path="/posts/the-lighthose-keeps-its-own-hours", title="Not found · Tideline"),
        ErrorPage(
            404,
            "There is nothing here",
            "The page may have been moved or taken down. Search for it, or read something new.",
            (LIGHTHOUSE, SWIMMERS, FOUNTAINS),
            is_near=True,
        ),
    ),
    "not-found-without-pictures": (
        "error.html",
        chrome(path="/nothing", title="Not found · Tideline"),
        ErrorPage(404, "This page doesn’t exist", "It may have moved."),
    ),
    "refused": (
        "error.html",
        chrome(path="/posts/x/comments"),
        ErrorPage(429, "Please wait a moment", "Try again in 30 seconds."),
    ),
    "sign-up": (
        "sign_up.html",
        chrome(path="/member/sign-up", title="Join · Tideline"),
        SignUpPage(back="/posts/fountains", offer=Offer("£4", "month", is_lowest=True)),
    ),
    "sign-up-wrong": (
        "sign_up.html",
        chrome(path="/member/sign-up"),
        SignUpPage("ada@", True, "/", NO_ADDRESS),
    ),
    "sign-in": (
        "sign_in.html",
        chrome(path="/member/sign-in"),
        SignInPage(back="/", providers=(Link("News ID", "/member/sign-in/with/news?back=%2F"),)),
    ),
    "sign-in-wrong": (
        "sign_in.html",
        chrome(path="/member/sign-in"),
        SignInPage(
            "ada@example.com",
            "/",
            (FormProblem("password", "The email address or the password is not right."),),
        ),
    ),
    "forgot": ("forgot.html", chrome(path="/member/forgot"), ForgotPage(problems=NO_ADDRESS)),
    "inbox-sign-up": (
        "inbox.html",
        chrome(path="/member/sign-up"),
        InboxPage("ada@example.com", "sign_up", code_id="ujefu77l6b5b4x5", back="/"),
    ),
    "inbox-sign-in": (
        "inbox.html",
        chrome(path="/member/sign-in"),
        InboxPage(LONG_ADDRESS, "sign_in", code_id="ujefu77l6b5b4x5", back="/"),
    ),
    "inbox-wrong-code": (
        "inbox.html",
        chrome(path="/member/code"),
        InboxPage(
            "ada@example.com",
            "sign_in",
            code_id="ujefu77l6b5b4x5",
            back="/",
            problems=(FormProblem("code", "This code is not right, or has expired."),),
        ),
    ),
    "inbox-password": (
        "inbox.html",
        chrome(path="/member/forgot"),
        InboxPage("ada@example.com", "password"),
    ),
    "link": (
        "message.html",
        chrome(path="/member/link"),
        MessagePage(
            "Join Tideline?",
            (f"You join with {LONG_ADDRESS}, and are signed in.",),
            "Confirm and join",
            hidden=(("token", "abc"),),
        ),
    ),
    "link-dead": (
        "message.html",
        chrome(path="/member/link"),
        MessagePage(
            "This link no longer works",
            ("This link has been used or has expired. Request a new one.",),
            links=(Link("Sign in", "/member/sign-in"), Link("Join", "/member/sign-up")),
        ),
    ),
    "reset-password": (
        "message.html",
        chrome(path="/member/reset-password"),
        MessagePage(
            "Choose a new password",
            ("For ada@example.com at Tideline.",),
            "Set the password",
            (
                Input("password", "New password", "password", "new-password"),
                Input("passwordConfirm", "Repeat the password", "password", "new-password"),
            ),
            problem="New password: Must be at least 8 character(s).",
        ),
    ),
    "unsubscribed": (
        "message.html",
        chrome(path="/member/unsubscribe"),
        MessagePage("You are unsubscribed", ("ada@example.com gets no more newsletters.",)),
    ),
    "account": (
        "account.html",
        chrome(reader=MEMBER, path="/member/account", title="Your account · Tideline"),
        ACCOUNT,
    ),
    "account-wrong": (
        "account.html",
        chrome(reader=MEMBER, path="/member/account/password"),
        replace(
            ACCOUNT,
            name="",
            email=LONG_ADDRESS,
            newsletter=False,
            has_password=True,
            tier=OwnTier(is_paid=True, is_past_due=True, can_manage=True),
            notice="",
            deleted_on=datetime(2026, 12, 15, tzinfo=ZONE),
            opened="password",
            problems=(FormProblem("oldPassword", "This is not your current password."),),
        ),
    ),
    "delete-account": (
        "delete_account.html",
        chrome(reader=MEMBER, path="/member/delete"),
        DeletePage("DELETE MY DATA", 30, (FormProblem("phrase", "Type DELETE MY DATA."),), True),
    ),
}
"""Pages by name: the template, the values that every page has, and those of the page."""
