"""XML is repaired before the parser sees it, wherever its pieces end."""

from __future__ import annotations

import io

import pytest

from masthead.faces.importers.platforms.wordpress.clean_xml import CHUNK, CleanXml
from masthead.faces.importers.source import BadFile


def cleaned(data: bytes, chunk: int = CHUNK) -> bytes:
    return b"".join(CleanXml(io.BytesIO(data), chunk=chunk))


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b'<?xml version="1.0"?>\n<rss>a</rss>', b"<rss>a</rss>"),
        (b"\n\n PHP Notice: <b>x</b> in y\n<?xml?><rss>a</rss>", b"<rss>a</rss>"),
        (b"<rss>a</rss>\n<!-- cached --><b>x</b>", b"<rss>a</rss>"),
        (b"<rss>a & b &amp; &lt;c&gt; &nbsp; &x</rss>",
         b"<rss>a &amp; b &amp; &lt;c&gt; &amp;nbsp; &amp;x</rss>"),
        (b"<rss>&#8211;&#x1F600;&#11;&#0;&#xD800;&#xFFFF;</rss>", b"<rss>&#8211;&#x1F600;</rss>"),
        (b'<rss a="?b&c"/></rss>', b'<rss a="?b&amp;c"/></rss>'),
        (b"<rss><![CDATA[a & b </rss> &#0;]]></rss>", b"<rss><![CDATA[a & b </rss> &#0;]]></rss>"),
        (b"<rss><![CDATA[a]]]]><![CDATA[>]]></rss>", b"<rss><![CDATA[a]]]]><![CDATA[>]]></rss>"),
        (b"<rss><![CDATA[a]]> b ]]> c</rss>", b"<rss><![CDATA[a]]> b ]]&gt; c</rss>"),
        (b"<rss>a\x00\x0b\x08b\xef\xbf\xbf\t\r\n</rss>", b"<rss>ab\t\r\n</rss>"),
        (b"<rss>D\xe9j\xe0 \xc3\xa9 \x93</rss>", "<rss>Déjà é “</rss>".encode()),
        (b'<?xml encoding="ISO-8859-1"?><rss>\xe9\x93</rss>', "<rss>é“</rss>".encode()),
        (b"<?xml encoding='windows-1251'?><rss>\xe9</rss>", "<rss>й</rss>".encode()),
        (b'<?xml encoding="utf-16"?><rss>\xc3\xa9</rss>', "<rss>é</rss>".encode()),
        ("<?xml encoding='UTF-16'?><rss>é</rss>".encode("utf-16"), "<rss>é</rss>".encode()),
        ("<?xml?><rss>é</rss>".encode("utf-16-be"), "<rss>é</rss>".encode()),
        ("\ufeff<rss>é</rss>".encode(), "<rss>é</rss>".encode()),
        (b"<rss><item>cut off in a tag <wp:post", b"<rss><item>cut off in a tag <wp:post"),
        (b"<rss><![CDATA[cut off in a text]", b"<rss><![CDATA[cut off in a text]"),
    ],
)  # fmt: skip
def test_repaired(data: bytes, expected: bytes) -> None:
    assert cleaned(data) == expected
    for size in range(40, 50):
        assert cleaned(data, size) == expected, f"in pieces of {size}"


def test_every_way_to_divide_a_text_gives_the_same() -> None:
    data = (
        b'<?xml version="1.0" encoding="UTF-8"?>\n<!-- made by a plugin -->\n<rss a="b&amp;c&d">'
        b"<![CDATA[x & y]]]><a>\xc3\xa9 & ]]> &#1; &lt;</a><b><![CDATA[]]></b>"
        b"<![CDATA[ ]] > ]]]]><![CDATA[>]]></rss > \n after & after"
    )
    whole = cleaned(data)
    # The declaration has to be in the first piece, as it is in pieces of any sensible size.
    for size in range(40, len(data)):
        assert cleaned(data, size) == whole, f"in pieces of {size}"


def test_long_texts_are_left_out_where_nobody_reads_them() -> None:
    long = b"x" * 5000
    data = b"<rss><![CDATA[" + long + b"]]><a><![CDATA[short]]></a>&<![CDATA[" + long + b"]]></rss>"
    whole = b"".join(CleanXml(io.BytesIO(data), without_long_texts=True))
    assert whole == (b"<rss><![CDATA[]]><a><![CDATA[short]]></a>&amp;<![CDATA[]]></rss>")


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "empty"),
        (b" \n\n", "empty"),
        (b"<html><body>No</body></html>", "not a WordPress export"),
        (b"<feed xmlns='http://www.w3.org/2005/Atom'></feed>", "not a WordPress export"),
        (b"x" * 300_000, "not a WordPress export"),
        (b"<?xml?><!DOCTYPE rss><rss></rss>", "DOCTYPE"),
        (b"<?xml?><!doctype rss SYSTEM 'x'><rss></rss>", "DOCTYPE"),
        (b"<!DOCTYPE r [<!ENTITY a 'b'>]><rss>&a;</rss>", "DOCTYPE"),
        ("<!DOCTYPE r><rss></rss>".encode("utf-16"), "DOCTYPE"),
        (b"<?xml encoding='utf-7'?><rss></rss>", "encoding"),
        (b"<?xml encoding='idna'?><rss></rss>", "encoding"),
        (b"<?xml encoding='iso-8859-99'?><rss></rss>", "encoding"),
        (b"<rss><a b='" + b"x" * 200_000 + b"'></a></rss>", "a tag that is longer"),
        (b"<rss>a</rss><rss>b</rss>", "continues after the end"),
        (b"<rss>a</rss>" + b" " * 300_000, "continues after the end"),
    ],
)
def test_refused(data: bytes, message: str) -> None:
    with pytest.raises(BadFile, match=message):
        cleaned(data)
