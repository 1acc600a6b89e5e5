"""Bodies of WordPress posts as its editors write them, by what is in them."""

from __future__ import annotations

from typing import Final

from tests.faces.importers.platforms.wordpress.wxr import attachment

UPLOADS: Final = "https://old.example.com/wp-content/uploads/2021/06"
LIBRARY: Final = (
    attachment(101, f"{UPLOADS}/pier.jpg", alt="The pier", title="Pier", parent=14),
    attachment(102, f"{UPLOADS}/boats-scaled.jpg", caption="Boats at <b>noon</b>", parent=14),
    attachment(103, f"{UPLOADS}/gulls.mp3", title="Gulls"),
)
_IMAGE: Final = f'<img src="{UPLOADS}/pier-1024x683.jpg" alt="The pier" class="wp-image-101" />'


def _block(name: str, content: str, attributes: str = "") -> str:
    given = f" {attributes}" if attributes else ""
    return f"<!-- wp:{name}{given} -->\n{content}\n<!-- /wp:{name} -->\n\n"


BLOCKS: Final = {
    "paragraphs": _block("paragraph", "<p>The <em>first</em> line<br>and the second.</p>")
    + _block("paragraph", '<p class="has-drop-cap">Third.</p>', '{"dropCap":true}'),
    "headings": _block("heading", '<h2 class="wp-block-heading">Ebb</h2>')
    + _block("heading", "<h4>Slack water</h4>", '{"level":4}'),
    "lists": _block(
        "list",
        _block("list-item", "<li>rope</li>")
        + _block("list-item", "<li>oars<ul><!-- wp:list-item --><li>two</li><!-- /wp:list-item -->"
        "</ul></li>"),
    ).replace("<li>rope", "<ul><li>rope") + "</ul>",
    "quotes": _block(
        "quote", "<blockquote class='is-style'><p>Time and tide.</p><cite>Old</cite></blockquote>"
    ) + _block("pullquote", "<figure><blockquote><p>Wait.</p></blockquote></figure>"),
    "pictures": _block(
        "image",
        f'<figure class="wp-block-image">{_IMAGE}<figcaption>At noon</figcaption></figure>',
        '{"id":101,"sizeSlug":"large"}',
    ),
    "galleries": _block(
        "gallery",
        f'<figure class="wp-block-gallery"><figure>{_IMAGE}</figure>'
        f'<figure><img src="{UPLOADS}/boats-scaled.jpg" alt=""/><figcaption>Boats</figcaption>'
        "</figure></figure>",
        '{"ids":[101,102]}',
    ),
    "covers": _block(
        "cover",
        '<div class="wp-block-cover"><p>Over the picture</p></div>',
        f'{{"url":"{UPLOADS}/pier.jpg","id":101}}',
    ),
    "columns": _block(
        "columns",
        '<div class="wp-block-columns">'
        + _block("column", "<div><p>left</p></div>")
        + _block("column", "<div><p>right</p></div>")
        + "</div>",
    ),
    "tables": _block(
        "table",
        "<figure><table><thead><tr><th>Hour</th><th>Metres</th></tr></thead>"
        "<tbody><tr><td>6</td><td>2.1</td></tr></tbody></table></figure>",
    ),
    "code": _block("code", '<pre class="wp-block-code"><code>if a &lt; b:\n\n    go()</code></pre>')
    + _block("preformatted", "<pre>  kept\n   so</pre>"),
    "embeds": _block(
        "embed",
        '<figure class="wp-block-embed"><div class="wp-block-embed__wrapper">\n'
        "https://video.example/watch?v=1\n</div><figcaption>A film</figcaption></figure>",
        '{"url":"https://video.example/watch?v=1"}',
    ),
    "files": _block(
        "file", f'<div class="wp-block-file"><a href="{UPLOADS}/map.pdf">Map</a></div>'
    ) + _block("audio", f'<figure><audio controls src="{UPLOADS}/gulls.mp3"></audio></figure>'),
    "html": _block("html", "<details><summary>More</summary>Inside</details>")
    + _block("separator", '<hr class="wp-block-separator"/>'),
    "more": _block("paragraph", "<p>Before</p>")
    + _block("more", "<!--more-->")
    + _block("paragraph", "<p>after</p>"),
    "made": "<!-- wp:latest-posts /-->" + _block("paragraph", "<p>Only this</p>"),
    "classic": "Not in a block\n\n" + _block("paragraph", "<p>in one</p>") + "and after it",
    "hostile": _block("paragraph", '<p onclick="alert(1)">Click<img src=x onerror=alert(2)></p>')
    + _block("html", "<script>alert(3)</script><p>end</p>"),
}  # fmt: skip

SHORTCODES: Final = {
    "caption": f'[caption id="attachment_101" align="left" width="300"]{_IMAGE} At the <b>pier</b>'
    "[/caption]\n\nand on.",
    "old-caption": f'[caption caption="An old one"]{_IMAGE}[/caption]',
    "linked-caption": f'[caption]<a href="{UPLOADS}/pier.jpg">{_IMAGE}</a> Linked[/caption]',
    "gallery": 'Before\n\n[gallery ids="102,101" columns="2" link="file"]\n\nafter',
    "gallery-of-the-post": "All that hang on it:\n\n[gallery]",
    "gallery-without-pictures": 'Lost: [gallery ids="901,902"] and on',
    "embed": "[embed width='640']https://video.example/1[/embed]\n\nand\n\n"
    "https://video.example/2\n\nin a line https://video.example/3 of text",
    "audio": '[audio mp3="https://old.example.com/a.mp3"][/audio] heard',
    "video": '[video width="640" src="https://old.example.com/v.mp4"] seen',
    "playlist": f"[audio {UPLOADS}/gulls.mp3]",
    "code": '[sourcecode language="py"]if a < b and "[gallery]":\n\n    go()[/sourcecode] run it',
    "escaped": "Write [[gallery]] for a gallery.",
    "unknown": "[contact-form-7 id='9' title='Write'] and [1] and [tide height=2]high[/tide]",
}

CLASSIC: Final = {
    "lines": "One line\nand its second.\n\nAnother paragraph\r\n\r\nand a third",
    "mixed": "<h2>Head</h2>\nText after\n<ul>\n<li>one</li>\n<li>two</li>\n</ul>\nafter the list",
    "quoted": "<blockquote>First\n\nsecond</blockquote>\nafter",
    "kept": "<pre>  two\n\n  parts</pre>\n<p>a  paragraph\nof its own</p>",
    "more": "Before <!--more Read on--> after\n\n<!--nextpage-->\n\nthe second page",
    "unclosed": "<p>never <b>closed\n\nand <i>on",
    "nothing": "",
    "blank": "&nbsp;\n\n\n<p>&nbsp;</p>\n\nwords",
}
