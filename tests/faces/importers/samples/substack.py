"""Substack exports of two generations, its lists of readers, and what goes wrong with both."""

from __future__ import annotations

import io
import stat
import warnings
import zipfile
from collections.abc import Callable
from typing import Final

from tests.faces.importers.samples.sample import (
    INVALID,
    REPEATED,
    Counts,
    Sample,
    a_file,
    a_folder,
    a_zip,
    packed,
)
from tests.faces.importers.samples.substack_bodies import BODIES

DATE: Final = "2024-04-02T08:30:00.000Z"
COLUMNS: Final = (
    "post_id,post_date,is_published,email_sent_at,inbox_sent_at,type,audience,title,subtitle,"
    "podcast_url\n"
)
OLD_COLUMNS: Final = COLUMNS.replace("inbox_sent_at,", "")
LISTED: Final = "email,active_subscription,expiry,plan,email_disabled,created_at,first_payment_at\n"
TWO: Final = (
    f"a@example.com,false,,other,false,{DATE},\n"
    f"b@example.com,true,2031-01-01T00:00:00.000Z,yearly,false,{DATE},{DATE}\n"
)
LIST: Final = LISTED + TWO
READERS: Final[Counts] = {"free": 1, "paid": 1}


def line(post: str, kind: str = "newsletter", audience: str = "everyone", **given: str) -> str:
    return ",".join(
        [
            post,
            given.get("date", DATE),
            given.get("published", "true"),
            *("", "", kind, audience),
            given.get("title", f'"About {post}"'),
            given.get("subtitle", ""),
            given.get("recording", "") + "\n",
        ]
    )


def _html(post: str) -> str:
    return f"posts/{post}.html"


# One post for each body, and one of each kind, audience and state.
_KINDS: Final = {
    "201.for-readers": line("201.for-readers", audience="only_free"),
    "202.for-payers": line("202.for-payers", audience="only_paid"),
    "203.for-founders": line("203.for-founders", audience="founding"),
    "204.episode": line("204.episode", "podcast", recording="https://cdn.example/ep.mp3"),
    "205.thread": line("205.thread", "thread"),
    "206.about": line("206.about", "page"),
    "207.restack": line("207.restack", "restack"),
    "208.unfinished": line("208.unfinished", published="false", date=""),
    "209": line("209", published="false", date="", title=""),
    "210.later": line("210.later", published="false", date="2093-01-01T00:00:00.000Z"),
    "211.letters": line("211.letters", title='"Salt &amp; ""light"" 潮 🌊"', subtitle='"a,\nb"'),
}
TABLE: Final = (
    COLUMNS
    + "".join(line(post) for post in BODIES)
    + "".join(_KINDS.values())
    + line("290.no-text")
)
_BOOKS: Final = {
    "posts/201.opens.csv": "post_id,timestamp,email\n201,,c@example.com\n",
    "posts/201.delivers.csv": "post_id,timestamp,email\n201,,d@example.com\n",
}
_TEXTS: Final = {
    **{_html(post): body for post, body in BODIES.items()},
    **{_html(post): f"<p>Words of {post}.</p>" for post in _KINDS},
    "posts/299.orphan.html": "<p>In no list.</p>",
}
EXPORT: Final[dict[str, str | bytes]] = {
    "posts.csv": TABLE,
    "email_list.letters.csv": LISTED + TWO + "9.1@deletion-request.substack.com,false,,,,,\n",
    **_BOOKS,
    **_TEXTS,
}
COUNTS: Final[Counts] = {
    "post/published": len(BODIES) + 6,
    "post/draft": 3,
    "page/published": 1,
    "unknown type": 1,
    "no HTML file": 1,
    "no row in posts.csv": 1,
}
ALL_READERS: Final[Counts] = {**READERS, "erased at the source": 1}
OLD: Final[dict[str, str | bytes]] = {
    "posts.csv": OLD_COLUMNS
    + f"101.first,{DATE},TRUE,{DATE},newsletter,everyone,First,Sub,\n"
    + f"102.second,{DATE},TRUE,,newsletter,only_paid,Second,,\n",
    "email_list.letters.csv": "email,active_subscription,expiry,email_disabled,prefer_digests,"
    f"created_at\na@example.com,,,false,false,{DATE}\n"
    f"b@example.com,true,2031-01-01T00:00:00.000Z,true,false,{DATE}\n",
    "posts/101.first.html": "<p>The first.</p>",
    "posts/102.second.html": "<p>The second.</p>",
}

LISTS: Final[dict[str, tuple[str | bytes, Counts]]] = {
    "as it is": (LIST, READERS),
    "all quoted": (
        "".join('"' + row.replace(",", '","') + '"\n' for row in LIST.splitlines()),
        READERS,
    ),
    "a mark before it": ("\ufeff" + LIST, READERS),
    "line ends of Windows": (LIST.replace("\n", "\r\n"), READERS),
    "line ends of old Macs": (LIST.replace("\n", "\r"), READERS),
    "no line end at the end": (LIST.rstrip("\n"), READERS),
    "semicolons": (LIST.replace(",", ";"), READERS),
    "tabs": (LIST.replace(",", "\t"), READERS),
    "a line for a spreadsheet": ("sep=,\n" + LIST, READERS),
    "utf-16": (LIST.encode("utf-16"), READERS),
    "NULs": (LIST.replace("other", "oth\0er"), READERS),
    "names in capitals with blanks": (
        LIST.replace("email,active_subscription", " Email , Active_Subscription "),
        READERS,
    ),
    "other columns in another order": ("note,name,email\nx,Anna,a@example.com\n", {"free": 1}),
    "latin-1": ("email,name\na@example.com,Zoë\nb@example.com,Åke\n".encode("latin-1"),
                {"free": 2}),
    "words for yes and no": (
        LISTED
        + "".join(
            f"{n}@example.com,{word},2031-01-01,yearly,{word},,\n"
            for n, word in enumerate(["true", "TRUE", "1", "yes", "false", "0", "", "no"])
        ),
        {"paid": 4, "free": 4},
    ),
    "dates of all kinds": (
        LISTED
        + "".join(
            f"{n}@example.com,false,,other,false,{date},\n"
            for n, date in enumerate(
                [DATE, "2024-04-02", "2024-04-02 08:30:00", "04/02/2024", '"Apr 2, 2024"', "soon",
                 "", "1712046600", "0000-00-00", "9999-12-31"]
            )
        ),
        {"free": 10},
    ),
    "one reader again and again": (
        LISTED
        + f"a@example.com,false,,other,false,{DATE},\nA@Example.com,true,2031-01-01,yearly,,,\n"
        + "' a@example.com',,,,,,\nb@example.com,,,,,,\nB@EXAMPLE.COM,,,,,,\n",
        {"paid": 1, "free": 1, REPEATED: 2, INVALID: 1},
    ),
    "formulas": (
        "email,name\n=1+1@example.com,=1+1\n+44@example.com,+44\n-x@example.com,@x\n"
        "=HYPERLINK(1),x\n",
        {"free": 3, INVALID: 1},
    ),
    "addresses that are none": (
        "email\n"
        + "".join(
            f"{each}\n"
            for each in ["nobody", "a@", "@b.example", "a b@example.com", "a@b@example.com",
                         "a@example", "<a@example.com>", "a@example..com", "ok.1+x@example.com",
                         "zoë@example.com", "a" * 300 + "@example.com"]
        ),
        {"free": 2, INVALID: 9},
    ),
    "rows of other lengths": (
        "email,name,plan\na@example.com\nb@example.com,B,other,more,more\n,x,\n",
        {"free": 2, INVALID: 1},
    ),
    "a huge cell": (f"email,note\na@example.com,{'x' * 200_000}\n", {"free": 1}),
    "names of columns alone": (LISTED, {}),
    "of those who pay": (
        "email,expiry,email_disabled,prefer_digests,stripe_connected_customer_id,type\n"
        f"a@example.com,{DATE},false,false,cus_a,paid\nb@example.com,,,,,gift\n",
        {"paid": 2},
    ),
    "of the dashboard": (
        "Email,Name,Stripe plan,Cancel date,Start date,Type,Subscription type,Revenue,Expires at\n"
        f"a@example.com,Anna,,,{DATE},Author,Free,$0.00,\n"
        f'b@example.com,Bo,$7/month,,{DATE},Subscriber,Monthly,"$1,084.00",2031-01-01\n'
        'c@example.com,,,,"Apr 2, 2024",Subscriber,Comp,$0.00,2123-01-01\n',
        {"free": 1, "paid": 2},
    ),
}  # fmt: skip
NO_LISTS: Final[dict[str, tuple[str | bytes, str]]] = {
    "nothing": ("", "empty"),
    "no column of addresses": ("name,plan\nAnna,other\n", "email"),
    "another column of addresses": ("email_address,name\na@example.com,Anna\n", "email"),
    "no names of columns": ("a@example.com,false\nb@example.com,true\n", "email"),
    "a quote that is never closed": (LISTED + '"a@example.com,false,,,,,\n' + TWO, "quote"),
}


def _linked() -> bytes:
    out = io.BytesIO(packed({"posts.csv": OLD["posts.csv"]}))
    with zipfile.ZipFile(out, "a") as archive:
        entry = zipfile.ZipInfo("posts/101.first.html")
        entry.external_attr = (stat.S_IFLNK | 0o777) << 16
        archive.writestr(entry, "/etc/passwd")
    return out.getvalue()


def _twice() -> bytes:
    out = io.BytesIO(packed(OLD))
    with zipfile.ZipFile(out, "a") as archive, warnings.catch_warnings(action="ignore"):
        archive.writestr("posts.csv", OLD["posts.csv"])
    return out.getvalue()


NO_ARCHIVES: Final[dict[str, tuple[Callable[[], bytes], str]]] = {
    "a bomb": (lambda: packed({**OLD, "posts/101.first.html": bytes(40_000_000)}), "far more"),
    "a name twice": (_twice, "same name"),
    "no files": (lambda: packed({}), "is empty"),
    "no list of posts": (lambda: packed({"posts/101.first.html": "<p>x</p>"}), "posts.csv"),
    "a text": (lambda: b"not packed at all", "not a zip archive"),
    "a link": (_linked, "a link"),
    "cut in half": (lambda: packed(EXPORT)[:3_000], "damaged"),
    "a name that leads out": (lambda: packed({**OLD, "../../posts/x.html": "x"}), "leads out"),
    "a name from the top": (lambda: packed({**OLD, "/etc/passwd": "x"}), "leads out"),
}
_ONE_ROW: Final = OLD_COLUMNS + f"101.first,{DATE},TRUE,,newsletter,everyone,Hôtel,,\n"
MANY: Final = 300

SAMPLES: Final = [
    Sample("substack/packed", a_zip(EXPORT), COUNTS, ALL_READERS),
    Sample("substack/a folder", a_folder(EXPORT), COUNTS, ALL_READERS),
    Sample(
        "substack/packed in a folder on a Mac",
        a_zip(
            {f"letters/{name}": content for name, content in EXPORT.items()}
            | {"__MACOSX/letters/._posts.csv": b"\0\5\x16\7", "letters/.DS_Store": b"\0"}
        ),
        COUNTS,
        ALL_READERS,
    ),
    Sample("substack/the list of posts in its folder", a_folder(EXPORT, "posts.csv"), COUNTS),
    Sample("substack/2020", a_folder(OLD), {"post/published": 2}, READERS),
    Sample(
        "substack/names in capitals",
        a_zip({"POSTS.CSV": _ONE_ROW, "Posts/101.FIRST.HTML": "<p>The first.</p>"}),
        {"post/published": 1},
    ),
    Sample(
        "substack/latin-1",
        a_zip({"posts.csv": _ONE_ROW.encode("latin-1"), "posts/101.first.html": "<p>x</p>"}),
        {"post/published": 1},
    ),
    Sample(
        "substack/many texts",
        a_zip(OLD | {f"posts/{n}.x.html": "" for n in range(500, 500 + MANY)}),
        {"post/published": 2, "no row in posts.csv": MANY},
        READERS,
    ),
    Sample(
        "substack/cells of several lines",
        a_file(
            OLD_COLUMNS
            + f'1.a,{DATE},true,,newsletter,everyone,"Two\nlines","a ""quote"", a comma",\n'
            + f"2.b,{DATE},true,,newsletter,everyone,B,,\n",
            "posts.csv",
        ),
        {"no HTML file": 2},
    ),
    *(
        Sample(f"substack/members/{name}", a_file(content, "list.csv"), {}, members)
        for name, (content, members) in LISTS.items()
    ),
    *(
        Sample(f"substack/members/{name}", a_file(content, "list.csv"), refusal=refusal)
        for name, (content, refusal) in NO_LISTS.items()
    ),
    *(
        Sample(f"substack/{name}", a_file(content, "export.zip"), refusal=refusal)
        for name, (content, refusal) in NO_ARCHIVES.items()
    ),
]
