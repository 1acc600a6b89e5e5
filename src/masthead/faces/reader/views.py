"""The values for templates of the reader's site: plain values without references to anything else.

A theme may come from an operator's folder, so a view contains no record, no database and no
setting."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from functools import lru_cache

import msgspec
from markupsafe import Markup

from masthead.base.languages.translators import catalog_language, direction_of, primary_language
from masthead.base.languages.words import words
from masthead.web import pages


class Link(msgspec.Struct, frozen=True):
    label: str
    url: str
    is_current: bool = False


class Branch(msgspec.Struct, frozen=True):
    """A page in the tree of a site's pages."""

    label: str
    url: str
    is_current: bool = False
    below: tuple[Branch, ...] = ()


class Announcement(msgspec.Struct, frozen=True):
    """A line above every page."""

    text: str
    url: str = ""


class Site(msgspec.Struct, frozen=True):
    """The site as its settings describe it."""

    name: str
    description: str
    url: str
    """Without a slash at the end."""
    language: str
    """A BCP 47 tag, such as `en` or `pt-BR`."""
    logo: str = ""
    logo_width: int = 0
    logo_height: int = 0
    """0 for a picture that is not of the site's media."""
    favicon: str = ""
    style: str = ""
    """The address of the style sheet with the site's accent colour."""
    navigation: tuple[Link, ...] = ()
    members_enabled: bool = True
    comments_enabled: bool = True
    fonts: str = "mixed"
    """`serif`, `sans`, `mixed` or `mono`."""
    width: str = "normal"
    """`narrow`, `normal` or `wide`."""
    home_layout: str = "lead"
    """`lead`, `grid` or `list`."""
    logo_dark: str = ""
    """The logo of dark pages, if it is another one."""
    announcement: Announcement | None = None
    footer: tuple[str, ...] = ()
    """The lines of the text at the end of every page."""
    footer_links: tuple[Link, ...] = ()
    social: tuple[Link, ...] = ()
    """The site on other sites; the label is the name of the other one."""
    pages: tuple[Branch, ...] = ()
    """The tree of the site's pages; only the theme `manual` gets it."""
    root: str = ""
    """The beginning of the addresses in this language, such as `/de`: empty for the site's own."""
    languages: tuple[Link, ...] = ()
    """The page in each language of the site, or its front page; the label is the language's tag.
    Empty for a site with one language."""

    @property
    def direction(self) -> str:
        """`rtl` for Arabic, Hebrew, Persian and Urdu; otherwise `ltr`."""
        return direction_of(self.language)

    @property
    def words(self) -> Markup:
        """The attributes of an element with words of ours, each after a space: they say that the
        words are English where the language has no catalog, and are empty elsewhere."""
        return _said_in("en", self.language)

    @property
    def own(self) -> Markup:
        """The attributes of a text of the owner's or a reader's inside such an element."""
        return _said_in(self.language, self.language)


@lru_cache(maxsize=256)
def _said_in(language: str, page_language: str) -> Markup:
    if primary_language(page_language or "en") == catalog_language(page_language):
        return Markup("")
    said = Markup(' lang="{}"').format(language)
    if direction_of(page_language) == "rtl":
        said += Markup(' dir="{}"').format(direction_of(language))
    return said


class Reader(msgspec.Struct, frozen=True):
    """Who reads the page."""

    is_member: bool = False
    is_paid: bool = False
    is_staff: bool = False
    name: str = ""
    form_token: str = ""
    """The token in a signed-in reader's forms, so that no other site can send them."""


class Picture(msgspec.Struct, frozen=True):
    src: str
    alt: str = ""
    width: int = 0
    """0 where the size is not known."""
    height: int = 0
    sources: tuple[tuple[str, str], ...] = ()
    """Better formats, best first: a MIME type and its `srcset`."""
    focus: str = ""
    """Classes that say which part stays visible where the picture is cropped."""


class Author(msgspec.Struct, frozen=True):
    name: str
    url: str
    bio: str = ""
    picture: str = ""

    @property
    def initials(self) -> str:
        words = self.name.split()
        return "".join(word[0] for word in (*words[:1], *words[1:][-1:])).upper()


class Card(msgspec.Struct, frozen=True):
    """A post in a list."""

    title: str
    url: str
    excerpt: str
    published: datetime
    """In the site's time zone."""
    minutes: int
    """How long reading takes; 0 where the text is not shown."""
    authors: tuple[Author, ...]
    tags: tuple[Link, ...]
    picture: Picture | None = None
    audience: str = "public"
    """`public`, `members` or `paid`: who may read all of it."""
    levels: tuple[str, ...] = ()
    """The names of the tiers that a post for paid members is for; empty for all of them."""
    is_open: bool = True
    """Whether this reader may."""
    language: str = ""
    """The language of the text, if it is not that of the page."""

    @property
    def direction(self) -> str:
        return direction_of(self.language)


class Comment(msgspec.Struct, frozen=True):
    id: str
    author: str
    when: datetime
    paragraphs: tuple[str, ...]
    """Markup: web addresses are links."""
    text: str = ""
    """As it was written."""
    is_staff: bool = False
    is_waiting: bool = False
    is_deleted: bool = False
    """Deleted by its author after others had answered."""
    can_change: bool = False
    """Its author may still edit or delete it."""
    answers: str = ""
    """The name of whom it answers, where the nesting does not show it."""
    thread: str = ""
    """The address of the whole thread, where there may be more of it."""
    replies: tuple[Comment, ...] = ()


class CommentForm(msgspec.Struct, frozen=True):
    """A form that was sent and could not be taken: what was typed, and why not."""

    errors: Mapping[str, str]
    """Errors by field: `body`, `name`, `email`, or an empty name for the whole form."""
    body: str = ""
    name: str = ""
    email: str = ""
    parent_id: str = ""
    """The comment that is answered."""
    comment_id: str = ""
    """The comment that is edited."""


class Discussion(msgspec.Struct, frozen=True):
    comments: tuple[Comment, ...]
    total: int
    may_post: bool
    """Whether this reader may comment."""
    waits: bool
    """Whether a new comment waits until it was read by the staff."""
    needs_name: bool
    """A guest gives a name and an address."""
    needs_email: bool = False
    open_to: str = "members"
    """Who can comment: `everyone`, `members` or `paid`; empty if comments are closed."""
    older: str = ""
    newer: str = ""
    """Addresses; empty where there is nothing."""
    is_thread: bool = False
    """Only one thread is shown."""
    query: str = ""
    """The query that forms add to their address, so that the answer is the same page."""
    form: CommentForm | None = None


class Pager(msgspec.Struct, frozen=True):
    newer: str = ""
    older: str = ""
    """Addresses; empty where there is nothing."""


class Head(msgspec.Struct, frozen=True):
    """The information about a page for search engines and other sites."""

    title: str
    description: str = ""
    canonical: str = ""
    image: str = ""
    image_width: int = 0
    """0 where the size is not known."""
    image_height: int = 0
    kind: str = "website"
    """`website` or `article`, for Open Graph."""
    published: str = ""
    modified: str = ""
    data: str = ""
    """JSON-LD, in which no character can end a script element."""
    noindex: bool = False
    is_preview: bool = False
    """The admin shows it in a frame: links open outside of it."""
    embedding: str = ""
    """Where another site learns how to embed the page (oEmbed)."""
    feeds: tuple[Link, ...] = ()
    """The feeds of the page itself, before those of the site, which every page has."""
    translations: tuple[Link, ...] = ()
    """The same text in other languages, this one included: the label is the language's tag."""


class Code(msgspec.Struct, frozen=True):
    """Code of the site's owner, if the operator allows it and the page may have it."""

    head: Markup = Markup()
    foot: Markup = Markup()


class Chrome(msgspec.Struct, frozen=True):
    """The values that every page has."""

    site: Site
    reader: Reader
    head: Head
    path: str
    code: Code = Code()


class HomePage(msgspec.Struct, frozen=True):
    """Template `home.html`."""

    lead: Card | None
    """Only on the first page of the layout `lead`."""
    cards: tuple[Card, ...]
    """The next few, with pictures; all of them in the layout `grid`."""
    lines: tuple[Card, ...]
    """The rest."""
    pager: Pager


class ListPage(msgspec.Struct, frozen=True):
    """Template `list.html`: the posts of a tag or an author."""

    heading: str
    text: str
    cards: tuple[Card, ...]
    pager: Pager
    author: Author | None = None
    picture: str = ""
    """A tag's."""


class Offer(msgspec.Struct, frozen=True):
    """The prices of the paid tiers."""

    price: str
    interval: str
    is_lowest: bool = False
    """There are others, which cost more."""

    @property
    def cost(self) -> str:
        """As in: paid members read everything, …"""
        if self.interval == "year":
            message = words("from %(price)s a year", price=self.price)
            return message if self.is_lowest else words("for %(price)s a year", price=self.price)
        message = words("from %(price)s a month", price=self.price)
        return message if self.is_lowest else words("for %(price)s a month", price=self.price)


class _Text(msgspec.Struct, frozen=True, kw_only=True):
    language: str = ""
    """The language of the text, if it is not that of the page."""

    @property
    def direction(self) -> str:
        return direction_of(self.language)


class PostPage(_Text, frozen=True):
    """Template `post.html`."""

    card: Card
    html: Markup
    """Sanitized; of a gated post only the part before its paywall, or nothing."""
    modified: datetime
    discussion: Discussion | None = None
    related: tuple[Card, ...] = ()
    offer: Offer | None = None
    """Where the post is closed and the site sells tiers."""


class TextPage(_Text, frozen=True):
    """Template `page.html`: a page of the site, such as About."""

    title: str
    html: Markup
    excerpt: str = ""
    picture: Picture | None = None


class Month(msgspec.Struct, frozen=True):
    label: str
    cards: tuple[Card, ...]


class ArchivePage(msgspec.Struct, frozen=True):
    """Template `archive.html`."""

    months: tuple[Month, ...]
    tags: tuple[Link, ...]
    pager: Pager


class SearchPage(msgspec.Struct, frozen=True):
    """Template `search.html`."""

    query: str
    cards: tuple[Card, ...]
    pager: Pager = msgspec.field(default_factory=Pager)


class ErrorPage(msgspec.Struct, frozen=True):
    """Template `error.html`: 404 and the other refusals."""

    status: int
    title: str
    text: str
    latest: tuple[Card, ...] = ()
    """The newest posts, or with `is_near` those whose address is close to the one that is not."""
    is_near: bool = False

    @property
    def picture(self) -> Picture | None:
        return next((each.picture for each in self.latest if each.picture), None)


class Input(msgspec.Struct, frozen=True):
    """A field of a form."""

    name: str
    label: str
    type: str
    autocomplete: str


class MessagePage(msgspec.Struct, frozen=True):
    """Template `message.html`: a few sentences, and at most one form, which is sent to the page's
    own address."""

    title: str
    text: tuple[str, ...]
    button: str = ""
    inputs: tuple[Input, ...] = ()
    hidden: tuple[tuple[str, str], ...] = ()
    problem: str = ""
    links: tuple[Link, ...] = ()


def message_of(page: pages.Page) -> MessagePage:
    inputs = tuple(
        Input(each.name, each.label, each.kind, each.autocomplete) for each in page.inputs
    )
    is_invalid = page.outcome == "invalid"
    problem, text = (page.text[0], page.text[1:]) if is_invalid else ("", page.text)
    links = (Link(*page.link),) if page.link[0] else ()
    return MessagePage(page.title, text, page.button, inputs, problem=problem, links=links)
