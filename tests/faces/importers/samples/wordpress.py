"""WordPress exports: what is written into them, how, and what goes wrong with them."""

from __future__ import annotations

import gzip
from typing import Final

from tests.faces.importers.platforms.wordpress.wxr import HEAD, TAIL, cdata, item, wxr
from tests.faces.importers.samples.sample import Counts, Sample, a_file
from tests.faces.importers.samples.wordpress_bodies import BLOCKS, CLASSIC, LIBRARY, SHORTCODES

ONE: Final[Counts] = {"post/published": 1}
ZERO: Final = "0000-00-00 00:00:00"
LETTERS: Final = "Crème brûlée"
_LETTERS: Final = item("<p>Façade, naïve, «so»</p>", title=LETTERS)
_HARMLESS: Final = "<p>Nothing to see.</p>"


def _posts(**titled: str) -> list[str]:
    """An item for each title, with a number and an address of its own."""
    return [
        item(
            body,
            title=title,
            post_id=number,
            post_name=title,
            link=f"https://old.example.com/{title}/",
        )
        for number, (title, body) in enumerate(titled.items(), 10)
    ]


STATUSES: Final = (
    *("publish", "Publish", "draft", "pending", "private", "future", "trash", "auto-draft"),
    *("inherit", "wc-on-hold"),
)
TYPES: Final = (
    *("page", "attachment", "nav_menu_item", "revision", "product", "product_variation"),
    *("wp_block", "wp_template", "wp_navigation", "wp_global_styles", "custom_css", "feedback"),
    *("customize_changeset", "oembed_cache", "recipe"),
)
STATUSES_AND_TYPES: Final = wxr(
    *(item(post_id=n, title=each, status=each) for n, each in enumerate(STATUSES, 1)),
    *(item(post_id=n, title=each, post_type=each) for n, each in enumerate(TYPES, 50)),
    item(post_id=90, title="Locked", post_password="ebb"),
    item(post_id=91, title="Child", post_type="page", post_parent="50"),
)

# Title, date in UTC, date of the feed, local date, what becomes of it.
DATES: Final = (
    ("A day later in UTC", "2022-03-01 02:10:00", "", "2022-02-28 21:10:00",
     "2022-03-01T02:10:00.000Z"),
    ("The feed knows better", ZERO, "Fri, 05 Aug 2011 10:00:00 +0200", "2011-08-05 03:00:00",
     "2011-08-05T08:00:00.000Z"),
    ("Only local", ZERO, "", "2012-01-01 12:00:00", "2012-01-01T17:00:00.000Z"),
    ("Before the epoch", "1961-04-12 06:07:00", "", "1961-04-12 01:07:00",
     "1961-04-12T06:07:00.000Z"),
    ("Far ahead", "2091-01-01 00:00:00", "", "2090-12-31 19:00:00", "2091-01-01T00:00:00.000Z"),
    ("A leap day", "2020-02-29 23:59:59", "", "2020-02-29 18:59:59", "2020-02-29T23:59:59.000Z"),
    ("No day of any calendar", "2019-02-30 10:00:00", "at low tide", "2019-02-28 05:00:00",
     "2019-02-28T10:00:00.000Z"),
)  # fmt: skip
DATED: Final = wxr(
    *(
        item(post_id=n, title=title, post_date_gmt=utc, pub_date=feed, post_date=local)
        for n, (title, utc, feed, local, _) in enumerate(DATES, 1)
    ),
    item(post_id=90, title="Never", status="draft", post_date_gmt=ZERO, post_date=ZERO),
)

# Name, link, and the slug and old path that come of them.
ADDRESSES: Final = (
    ("low-water", "https://old.example.com/2021/06/low-water/", "low-water", "/2021/06/low-water/"),
    ("low-water", "https://old.example.com/2021/07/low-water/", "low-water", "/2021/07/low-water/"),
    ("plain", "https://old.example.com/?p=31", "plain", "/?p=31"),
    ("in-a-folder", "https://old.example.com/blog/archives/31", "in-a-folder", "/blog/archives/31"),
    ("page.html", "https://old.example.com/boats/page.html", "page.html", "/boats/page.html"),
    ("%e6%bd%ae", "https://old.example.com/%e6%bd%ae/", "潮", "/%e6%bd%ae/"),
    ("", "https://old.example.com/no-name/", "", "/no-name/"),
    ("elsewhere", "http://cdn.example.net/elsewhere/", "elsewhere", "/elsewhere/"),
    ("=1+1", "https://old.example.com/=1+1/", "=1+1", "/=1+1/"),
    ("no-link", "", "no-link", ""),
    ("../up", "https://old.example.com/2021/../../up/", "up", ""),
    ("//far.example", "https://old.example.com//far.example/", "far.example", ""),
    ("<b>bold</b>", "https://old.example.com/<b>bold</b>/", "b-bold-b", "/%3Cb%3Ebold%3C/b%3E/"),
    ("line", "https://old.example.com/a\n/evil,https://far.example,301", "line", ""),
)
ADDRESSED: Final = wxr(
    *(
        item(post_id=n, title=f"Post {n}", post_name=name, link=cdata(link))
        for n, (name, link, _, _) in enumerate(ADDRESSES, 1)
    )
)

TEXTS: Final = wxr(
    *_posts(
        emoji="<p>🌊🚣🏽‍♀️ and 👩‍👩‍👧</p>",
        scripts="<p>潮が満ちる, מים גבוהים, مدّ عالٍ, прилив</p>",
        invisible="<p>soft\u00adhy\u200bphen\u2060s and na\u00efve nai\u0308ve</p>",
        escaped="<p>1 &lt; 2 &amp;&amp; 3 &gt; 2 &amp;amp; &#8212; &hellip;</p>",
        ended="<p>var a = b[c[0]]>1; end ]]></p>",
        slashes=r"<p>C:\tides\new \\server 'd\'arcy' \u00e9</p>",
    ),
    item(post_id=40, title="x", raw="").replace(cdata("x"), "Salt &amp; &lt;light&gt; &#9731;"),
)

PIECES: Final = wxr(
    item("@@", title="Pieces").replace(
        cdata("@@"), "<![CDATA[<p>one ]]><![CDATA[two ]]]]><![CDATA[> ]]>&lt;b&gt;three&lt;/b&gt;"
        "<!-- not this --><![CDATA[</p>]]>",
    ),
    item("@@", post_id=6, title="Lines").replace(cdata("@@"), "\n\n  " + cdata("<p>in</p>\n")),
    "<item><title>Nearly nothing</title><wp:status>publish</wp:status>"
    "<wp:post_type>post</wp:post_type></item>\n",
)  # fmt: skip

SHOP: Final = wxr(
    *(
        item(
            f"<p>{name} of the shop.</p>",
            post_id=number,
            title=name,
            post_type="product",
            meta={"_regular_price": price, "_thumbnail_id": "101"},
        )
        for number, (name, price) in enumerate([("Tide clock", "49.50"), ("Map", "12")], 30)
    ),
    item(post_id=33, title="Map, large", post_type="product_variation", post_parent="31"),
    *LIBRARY,
)
COMMENT: Final = (
    "<wp:comment><wp:comment_id>7</wp:comment_id><wp:comment_author><![CDATA[Anna]]>"
    "</wp:comment_author><wp:comment_date_gmt>2021-06-01 10:00:00</wp:comment_date_gmt>"
    "<wp:comment_content><![CDATA[<p>High water!</p>]]></wp:comment_content>"
    "<wp:comment_approved>1</wp:comment_approved><wp:commentmeta><wp:meta_key>akismet"
    '</wp:meta_key><wp:meta_value><![CDATA[a:1:{s:1:"x";i:1;}]]></wp:meta_value>'
    "</wp:commentmeta></wp:comment>"
)
AUTHOR: Final = (
    "<wp:author><wp:author_id>2</wp:author_id><wp:author_login><![CDATA[nell]]></wp:author_login>"
    "<wp:author_email><![CDATA[nell@example.com]]></wp:author_email></wp:author>\n"
)
TERM: Final = (
    "<wp:category><wp:term_id>3</wp:term_id><wp:category_nicename>boats</wp:category_nicename>"
    "<wp:cat_name><![CDATA[Boats & oars]]></wp:cat_name></wp:category>\n"
)
BELONGINGS: Final = wxr(
    AUTHOR,
    TERM,
    item(
        "<p>With all that belongs to it.</p>",
        terms=[("category", "Boats & oars"), ("post_tag", "tide, low"), ("post_format", "Aside")],
        meta={
            "_edit_last": "2",
            "_wp_old": 'a:2:{i:0;s:9:"]]> <b>x";i:1;O:8:"stdClass":0:{}}',
            "enclosure": "https://old.example.com/ep.mp3\n123\naudio/mpeg",
            "_yoast_wpseo_title": "Found",
        },
        raw=COMMENT,
    ),
)

BLOG: Final = wxr(*_posts(**SHORTCODES), *LIBRARY)

GOOD: Final = wxr(_LETTERS)
_ASCII: Final = wxr(item(_HARMLESS, title="Plain"))


def _declared(encoding: str, text: str = GOOD) -> bytes:
    return text.replace("UTF-8", encoding).encode(encoding)


def _with(before: str, after: str) -> bytes:
    assert before in _ASCII
    return _ASCII.replace(before, after).encode()


def _doctype(inner: str, title: str = "&a;") -> bytes:
    text = wxr(item(title="x").replace(cdata("x"), title))
    return text.replace("<rss", f"<!DOCTYPE rss {inner}>\n<rss", 1).encode()


_LAUGHS: Final = "".join(f'<!ENTITY a{n} "{f"&a{n - 1};" * 10}">' for n in range(1, 10))
_TWO: Final = wxr(item(_HARMLESS), item("<p>Second.</p>" * 50, post_id=6))

READ: Final[dict[str, tuple[str | bytes, Counts]]] = {
    "statuses and types": (
        STATUSES_AND_TYPES,
        {
            **{"post/published": 2, "post/draft": 1, "pending review": 1, "private": 1},
            **{"scheduled": 1, "trashed": 1, "auto draft": 1, "other status": 2, "page": 2},
            **{"product": 1, "product variation": 1, "other type of content": 2},
            **{"password protected": 1},
        },
    ),
    "dates": (DATED, {"post/published": len(DATES), "post/draft": 1}),
    "addresses": (ADDRESSED, {"post/published": len(ADDRESSES)}),
    "letters": (TEXTS, {"post/published": 7}),
    "letters after a mark": (("\ufeff" + TEXTS).encode(), {"post/published": 7}),
    "texts in pieces": (PIECES, {"post/published": 3}),
    "blocks": (wxr(*_posts(**BLOCKS), *LIBRARY), {"post/published": len(BLOCKS)}),
    "shortcodes": (
        BLOG,
        {"post/published": len(SHORTCODES)},
    ),
    "classic texts": (wxr(*_posts(**CLASSIC)), {"post/published": len(CLASSIC)}),
    "a shop": (SHOP, {"product": 2, "product variation": 1}),
    "what belongs to a post": (BELONGINGS, ONE),
    "no items": (wxr(), {}),
    "authors and terms alone": (wxr(AUTHOR, TERM), {}),
    "version 1.0": (wxr(_LETTERS, version="1.0"), ONE),
    "version 1.1": (wxr(_LETTERS, version="1.1"), ONE),
    "another prefix": (_ASCII.replace("wp:", "blog:"), ONE),
    "a prefix that is not declared": (_with("</item>", "<media:x>y</media:x></item>"), ONE),
    "latin-1": (_declared("ISO-8859-1"), ONE),
    "utf-16": (_declared("UTF-16"), ONE),
    "windows-1252": (_declared("windows-1252", GOOD.replace("«so»", "– „so“ …")), ONE),
    "latin-1 that says it is utf-8": (GOOD.encode("windows-1252"), ONE),
    "line ends of Windows": (GOOD.replace("\n", "\r\n"), ONE),
    "control characters": (_with("see", "\x0bs\x08e\x1fe"), ONE),
    "a NUL": (_with("see", "s\0ee"), ONE),
    "a bare ampersand": (_with("<description>All", "<description>Salt & light &c; All"), ONE),
    "blank lines before it": (f"\n\n \n{_ASCII}", ONE),
    "a notice before it": (f"<b>Notice</b>: Undefined index in x.php\n{_ASCII}", ONE),
    "a comment after it": (f"{_ASCII}<!-- made in 0.4 s --><p>x</p>", ONE),
    "packed without saying so": (gzip.compress(_ASCII.encode()), ONE),
    "an include": (
        _with("</item>", '<xi:include xmlns:xi="x" href="file:///etc/passwd"/></item>'),
        ONE,
    ),
    "the same number again": (
        wxr(*(item(link=f"https://old.example.com/{n}/") for n in range(3))),
        {"post/published": 3},
    ),
    "nested deeply": (wxr(item("<div>" * 3_000 + "deep" + "</div>" * 3_000)), ONE),
    "a long post": (wxr(item("<p>Ebb and flow, ebb and flow.</p>\n" * 3_000)), ONE),
}
REFUSED: Final[dict[str, tuple[str | bytes, str]]] = {
    "nothing": (b"", "empty"),
    "blanks": (b" \n\t\n", "empty"),
    "a page": (b"<html><body><p>Not found</p></body></html>", "not a WordPress export"),
    "a feed": (
        b'<?xml version="1.0"?><rss version="2.0"><channel><title>x</title><item><title>y</title>'
        b"</item></channel></rss>",
        "not a WordPress export",
    ),
    "an Atom feed": (b'<feed xmlns="http://www.w3.org/2005/Atom"/>', "not a WordPress export"),
    "no version": (_with("<wp:wxr_version>1.2</wp:wxr_version>", ""), "not a WordPress export"),
    "a version that is none": (_with("version>1.2<", "version>one<"), "version"),
    "cut off in a text": (_TWO[: _TWO.rindex("</p>]]>")], "truncated"),
    "cut off in an item": (_TWO[: _TWO.rindex("<wp:status")], "truncated"),
    "cut off before the end": (_ASCII.replace(TAIL, ""), "truncated"),
    "tags that do not match": (_with("</item>", "</itm>"), "not well-formed at line 28"),
    "entities in entities": (_doctype(f'[<!ENTITY a0 "ha">{_LAUGHS}]', "&a9;"), "DOCTYPE"),
    "a long entity again and again": (
        _doctype(f'[<!ENTITY a "{"x" * 5_000}">]', "&a;" * 500),
        "DOCTYPE",
    ),
    "an entity that is a file": (_doctype('[<!ENTITY a SYSTEM "file:///etc/passwd">]'), "DOCTYPE"),
    "an entity of the network": (_doctype('[<!ENTITY a SYSTEM "http://127.0.0.1:9/">]'), "DOCTYPE"),
    "an entity of parameters": (
        _doctype('[<!ENTITY % p SYSTEM "http://127.0.0.1:9/x.dtd"> %p;]', "x"),
        "DOCTYPE",
    ),
    "rules of the network": (_doctype('SYSTEM "http://127.0.0.1:9/rss.dtd"', "x"), "DOCTYPE"),
    "a harmless entity": (_doctype('[<!ENTITY a "A title">]'), "DOCTYPE"),
    "elements nested too deeply": (wxr("<a>" * 20_000 + "</a>" * 20_000), "nested deeper"),
    "a tag of many attributes": (
        HEAD.format(version="1.2") + "<a " + " ".join(f'a{n}="x"' for n in range(20_000)) + "/>",
        "a tag that is longer",
    ),
}  # fmt: skip

SAMPLES: Final = [
    *(
        Sample(f"wordpress/{name}", a_file(content, "export.xml"), counts)
        for name, (content, counts) in READ.items()
    ),
    *(
        Sample(f"wordpress/{name}", a_file(content, "export.xml"), refusal=refusal)
        for name, (content, refusal) in REFUSED.items()
    ),
]
