"""Ghost exports of all its versions, lists of members, and what goes wrong with both."""

from __future__ import annotations

import json
from typing import Any, Final

from tests.faces.importers.samples.ghost_bodies import CARDS, HTML, LEXICAL, MOBILEDOC
from tests.faces.importers.samples.sample import INVALID, REPEATED, Counts, Sample, a_file, a_zip

ONE: Final[Counts] = {"post/published": 1}
Row = dict[str, Any]


def row(number: int, **given: Any) -> Row:
    return {
        "id": f"5f0c{number:020x}",
        "uuid": f"00000000-0000-4000-8000-{number:012d}",
        "title": f"Tide {number}",
        "slug": f"tide-{number}",
        "html": f"<p>Text of {number}.</p>",
        "type": "post",
        "status": "published",
        "visibility": "public",
        "published_at": "2023-09-10T11:12:13.000Z",
        **given,
    }


def written(posts: list[Any], version: str = "5.82.0", **tables: Any) -> str:
    data = {"posts": posts, **tables}
    meta = {"exported_on": 1_694_000_000_000, "version": version}
    return json.dumps({"db": [{"meta": meta, "data": data}]})


DATES: Final = (
    ("2022-11-05T06:07:08.000Z", "2022-11-05T06:07:08.000Z"),
    ("2022-11-05T06:07:08Z", "2022-11-05T06:07:08.000Z"),
    ("2022-11-05 06:07:08", "2022-11-05T06:07:08.000Z"),
    ("2022-11-05T08:07:08+02:00", "2022-11-05T06:07:08.000Z"),
    (1_667_628_428_000, "2022-11-05T06:07:08.000Z"),
    ("1667628428000", "2022-11-05T06:07:08.000Z"),
    (1_667_628_428, "2022-11-05T06:07:08.000Z"),
    ("", ""),
    ("at low tide", ""),
    (None, ""),
)
DATED: Final = written([row(n, published_at=given) for n, (given, _) in enumerate(DATES)])

FIRST: Final = {
    "meta": {"exported_on": 1_388_000_000_000, "version": "003"},
    "data": {
        "posts": [
            {
                "id": number,
                "title": title,
                "slug": title.lower(),
                "markdown": "## Ebb\n\nand *flow*\n\n![pier](/content/images/2014/01/pier.jpg)",
                "html": "",
                "image": "/content/images/2014/01/boats.jpg",
                "page": 0,
                "status": "published",
                "published_at": 1_388_318_310_000 + number,
            }
            for number, title in enumerate(["First", "Second"], 1)
        ],
        "tags": [{"id": 1, "name": "Boats", "slug": "boats"}],
        "posts_tags": [{"id": 1, "post_id": 1, "tag_id": 1}],
    },
}

PAGES: Final = written(
    [
        row(1, page=0, type=None),
        row(2, page=1, type=None, title="About"),
        row(3, page=0, type=None, status="draft", published_at=None),
    ],
    "2.31.1",
)
SUBSCRIBED: Final = written(
    [
        row(1, html='<p><img src="/content/images/2020/pier.jpg"></p>'),
        row(2, html="", mobiledoc=json.dumps(MOBILEDOC), feature_image="/content/images/b.jpg"),
    ],
    "3.40.5",
    members=[{"id": "m1", "email": "anna@example.com", "name": "Anna", "subscribed": 1}],
    members_stripe_customers=[{"member_id": "m1", "customer_id": "cus_a"}],
    members_stripe_customers_subscriptions=[
        {"customer_id": "cus_a", "status": "active", "plan_nickname": "Complimentary"}
    ],
)
FOURTH: Final = written(
    [
        row(1, html=None, mobiledoc=json.dumps(MOBILEDOC)),
        row(2, html='<p><a href="__GHOST_URL__/tide-1/">One</a></p>', visibility="label:crew"),
        row(3, type="page", title="About"),
        row(4, status="sent"),
    ],
    "4.30.0",
    members=[{"id": "m1", "email": "comped@example.com", "status": "comped"}],
)
LATEST: Final = written(
    [
        row(1, lexical=json.dumps(LEXICAL), html=None),
        row(2, html=HTML, lexical=json.dumps(LEXICAL)),
        row(3, html=CARDS),
        row(4, html=None, lexical=None, plaintext="Only words.\n\nIn two parts."),
        row(5, html=None, title=""),
        row(6, visibility="members"),
        row(7, visibility="paid", html="<p>For all</p><!--members-only--><p>for some</p>"),
        row(8, visibility="tiers", feature_image="__GHOST_URL__/content/images/pier.jpg"),
        row(9, visibility="status:-free,label:crew"),
        row(10, status="draft", published_at=None),
        row(11, status="scheduled", published_at="2093-01-01T00:00:00.000Z"),
        row(12, status="sent"),
        row(13, type="page", title="About"),
        row(14, type="page", status="draft", title="Later"),
        row(15, slug="潮", title="潮 🌊"),
    ],
    "6.3.1",
    tags=[{"id": "t1", "name": "Boats", "slug": "boats"}, {"id": "t2", "name": "#hidden"}],
    posts_tags=[
        {"post_id": row(1)["id"], "tag_id": "t1", "sort_order": 1},
        {"post_id": row(1)["id"], "tag_id": "t2", "sort_order": 0},
    ],
    posts_meta=[{"post_id": row(1)["id"], "meta_title": "Found", "feature_image_alt": "Pier"}],
    newsletters=[{"id": "n1", "name": "Letters"}],
    products=[{"id": "g1", "name": "Gold", "type": "paid"}],
    members=[
        {"id": "1", "email": "free@example.com", "status": "free"},
        {"id": "2", "email": "paid@example.com", "status": "paid"},
        {"id": "3", "email": "comped@example.com", "status": "comped"},
        {"id": "4", "email": "gift@example.com", "status": "gift"},
        {"id": "5", "email": "FREE@example.com", "status": "paid"},
        {"id": "6", "email": "no address", "status": "free"},
        {"id": "7", "email": "odd@example.com", "status": "drifting"},
    ],
    members_newsletters=[{"member_id": "1", "newsletter_id": "n1"}],
)
PICTURE: Final = b"\x89PNG\r\n\x1a\n"
_SMALL: Final = written([row(1)])
_COLUMNS: Final = (
    "id,email,name,note,subscribed_to_emails,complimentary_plan,stripe_customer_id,created_at,"
    "deleted_at,labels,tiers\n"
)
_NESTED: Final = '{"a":' * 3_000 + "1" + "}" * 3_000


def _posts(text: str) -> str:
    return '{"db":[{"meta":{"version":"5.0.0"},"data":{"posts":' + text + "}}]}"


READ: Final[dict[str, tuple[str | bytes, Counts, Counts]]] = {
    "0 with markdown": (json.dumps(FIRST), {"post/published": 2}, {}),
    "2 with a flag for pages": (
        PAGES,
        {"post/published": 1, "page/published": 1, "post/draft": 1},
        {},
    ),
    "3 with subscribers": (SUBSCRIBED, {"post/published": 2}, {"paid": 1}),
    "4 with mobiledoc": (
        FOURTH,
        {"post/published": 3, "page/published": 1},
        {"paid": 1},
    ),
    "6 with lexical and cards": (
        LATEST,
        {
            **{"post/published": 11, "post/draft": 1, "page/published": 1, "page/draft": 1},
            "scheduled": 1,
        },
        # Of two rows with one address, the second one pays.
        {"free": 1, "paid": 4, INVALID: 1, REPEATED: 1},
    ),
    "5 without a database around": (json.dumps(json.loads(_SMALL)["db"][0]), ONE, {}),
    "5 with its tables alone": (json.dumps({"data": {"posts": [row(1)]}}), ONE, {}),
    "two databases": (
        json.dumps({"db": json.loads(_SMALL)["db"] + json.loads(LATEST)["db"]}),
        ONE,
        {},
    ),
    "dates": (DATED, {"post/published": len(DATES)}, {}),
    "no posts": (written([]), {}, {}),
    "a table that stands twice": (_posts('[],"posts":' + json.dumps([row(1)])), ONE, {}),
    "names of a language": (_posts('[],"__proto__":{"a":true},"constructor":{"b":1}'), {}, {}),
    "numbers that JSON lacks": (_posts('[],"settings":[{"a":NaN,"b":-Infinity}]'), {}, {}),
    "a number as an id": (written([row(1, id=10**30)]), ONE, {}),
    "other types than there should be": (
        written([row(1, title=None, slug=5, status=["published"], html={}), None, "text", 42]),
        {"unknown status": 1, "not a post": 3},
        {},
    ),
    "documents that can't be read": (
        written([row(1, html=None, lexical="{"), row(2, html=None, mobiledoc="[1,")]),
        {"post/published": 2},
        {},
    ),
    "links to scripts": (
        written([row(1, html='<a href="javascript:alert(1)">x</a>', feature_image="javascript:x")]),
        ONE,
        {},
    ),
    "half a letter": (_SMALL.replace("Tide 1", "Tide \\ud83c"), ONE, {}),
    "a mark before it": (b"\xef\xbb\xbf" + _SMALL.encode(), ONE, {}),
    "latin-1": (_SMALL.replace("Tide 1", "Hôtel").encode("latin-1"), ONE, {}),
    "utf-16": (_SMALL.encode("utf-16"), ONE, {}),
}
REFUSED: Final[dict[str, tuple[str | bytes, str]]] = {
    "nothing": ("", "empty"),
    "null": ("null", "Ghost"),
    "a list": ("[]", "Ghost"),
    "another file": ('{"name": "theme", "version": "1.0"}', "Ghost"),
    "no database": ('{"db": []}', "Ghost"),
    "a database that is none": ('{"db": {"meta": {}, "data": {}}}', "Ghost"),
    "posts that are no list": (_posts('{"0": {}}'), "posts"),
    "cut off": (_SMALL[:-40], "cut off"),
    "nested too deeply": (_posts(f"[{_NESTED}]"), "nested"),
}
LISTS: Final[dict[str, tuple[str | bytes, Counts]]] = {
    "all columns": (
        _COLUMNS + "1,free@example.com,Anna,,true,,,2022-01-02T03:04:05.000Z,,crew,\n"
        '2,comped@example.com,"Bo, jr",a note,true,true,,2022-01-02T03:04:05.000Z,,,Gold\n'
        "3,paid@example.com,,,false,,cus_a,,,,Gold\n"
        "4,gone@example.com,,,true,,,,2023-01-01T00:00:00.000Z,,\n",
        {"free": 1, "paid": 2, "deleted at the source": 1},
    ),
    "addresses alone after a mark": ("\ufeffemail\na@example.com\nb@example.com", {"free": 2}),
    "the same address twice": ("email\na@example.com,\nA@example.com,\n", {"free": 1, REPEATED: 1}),
    "formulas": ("email,name,note\na@example.com,-5,+1\nb@example.com,=A1,@b\n", {"free": 2}),
    "a day far ahead": ("email,created_at\na@example.com,9999-01-01T00:00:00Z\n", {"free": 1}),
    "names of columns alone": ("email,name\n", {}),
    "values that are none": (
        "email,complimentary_plan,created_at\na@example.com,perhaps,soon\nnobody,true,\n,,\n",
        {"free": 1, INVALID: 2},
    ),
    "rows of other lengths": ("email,name\na@example.com\nb@example.com,Bo,more\n", {"free": 2}),
    "customers": ("email,stripe_customer_id\na@example.com,cus_a\nb@example.com,\n",
                  {"paid": 1, "free": 1}),
    "many": (
        "email\n" + "".join(f"reader{n}@example.com\n" for n in range(60)),
        {"free": 60},
    ),
}  # fmt: skip
PACKED: Final = {
    "packed with its images": {
        "data/site.json": _SMALL,
        "content/images/2023/pier.png": PICTURE,
        "members.csv": "email\na@example.com\n",
    },
    "packed to be moved": {"site.json": _SMALL, "content/images/pier.png": PICTURE},
}

SAMPLES: Final = [
    *(
        Sample(f"ghost/{name}", a_file(content, "site.json"), posts, members)
        for name, (content, posts, members) in READ.items()
    ),
    *(
        Sample(f"ghost/{name}", a_file(content, "site.json"), refusal=refusal)
        for name, (content, refusal) in REFUSED.items()
    ),
    *(
        Sample(f"ghost/members/{name}", a_file(content, "members.csv"), {}, members)
        for name, (content, members) in LISTS.items()
    ),
    *(
        Sample(
            f"ghost/{name}",
            a_zip(entries),
            ONE,
            {"free": 1} if "members.csv" in entries else {},
        )
        for name, entries in PACKED.items()
    ),
]
