"""The sections of the admin in which texts are written: addresses, words and fields of each."""

from __future__ import annotations

import msgspec

from masthead.base.languages.words import words
from masthead.content.texts.kinds import TextKind
from masthead.engine.records.collection import Collection, Record
from masthead.faces.admin.forms import Ask
from masthead.features.pages.collection import PAGES as PAGE_TEXTS
from masthead.features.posts.collection import POSTS as POST_TEXTS

READERS = {"public": words("Everyone"), "members": words("Members"), "paid": words("Paid members")}


class Section(msgspec.Struct, frozen=True):
    kind: TextKind
    label: str
    """Its name in the navigation."""
    address: str
    """The address of its list; the pages of a text are below it."""
    site_prefix: str
    """The part before the slug in an address of the reader's site."""
    first: str
    """A hint for someone who has not written anything yet."""
    asks: tuple[Ask, ...]
    has_comments: bool = False

    @property
    def texts(self) -> Collection:
        return self.kind.texts

    @property
    def is_post(self) -> bool:
        return self.has_authors

    def said(self, of_post: str, of_page: str) -> str:
        """The words for one of its texts: other languages don't only swap the noun."""
        return of_post if self.is_post else of_page

    @property
    def has_authors(self) -> bool:
        return "authors" in self.texts.by_name

    @property
    def has_tags(self) -> bool:
        return "tags" in self.texts.by_name

    @property
    def is_listed(self) -> bool:
        """Lists of the site show its texts, with a summary and a picture drawn from the title."""
        return "summary" in self.texts.by_name

    @property
    def has_schedule(self) -> bool:
        return "scheduled_for" in self.texts.by_name

    @property
    def has_review(self) -> bool:
        return "review" in self.texts.by_name

    def url(self, text_id: str) -> str:
        return f"{self.address}/{text_id}"

    def empty(self) -> Record:
        values = {each.name: each.default_value() for each in self.texts.fields}
        return values | {"id": "", "version": 0}


def _asks(site_prefix: str, *more: Ask) -> tuple[Ask, ...]:
    return (
        Ask("title", words("Title")),
        Ask(
            "content_html",
            words("Text, as HTML"),
            words("Up to 8 MB. Readers see it without scripts, styles and forms."),
            rows=24,
        ),
        Ask("slug", words("Address"), words("If empty, made from the title."), prefix=site_prefix),
        *more,
        Ask(
            "featured_image",
            words("Picture"),
            words("The address of a picture, or a path such as /media/…"),
            is_picture=True,
        ),
        Ask("seo_title", words("Title for search engines"), words("If empty, the title.")),
        Ask(
            "seo_description",
            words("Description for search engines"),
            words("If empty, the excerpt."),
            rows=3,
        ),
        Ask(
            "language",
            words("Language"),
            words("Its address and its lists are those of the language."),
        ),
        Ask(
            "translations",
            words("Translations"),
            words(
                "The same text in other languages: each in a line, with its language and its "
                "address, such as fr /fr/posts/le-phare."
            ),
        ),
    )


POSTS = Section(
    POST_TEXTS,
    words("Posts"),
    "/admin/posts",
    "/posts/",
    words("A post stays a draft until you publish it. Readers don't see drafts."),
    _asks(
        "/posts/",
        Ask("visibility", words("Who can read it"), choices=READERS),
        Ask(
            "tiers",
            words("Only with these tiers"),
            words("Without a tick, all paid members read it."),
        ),
        Ask(
            "email_only",
            words("Only by email"),
            words(
                "The post gets no page and appears in no list. Everyone who "
                "can read it gets the whole "
                "text by email."
            ),
        ),
        Ask("tags", words("Tags"), words("Separated by commas.")),
        Ask("excerpt", words("Excerpt"), words("Shown in lists and search results."), rows=4),
        Ask(
            "authors",
            words("Authors"),
            words("Readers see their names above the post."),
            are_people=True,
        ),
    ),
    has_comments=True,
)
PAGES = Section(
    PAGE_TEXTS,
    words("Pages"),
    "/admin/pages",
    "/",
    words(
        "A standalone page, such as About or a legal notice. It does not appear in lists and feeds."
    ),
    _asks(
        "/",
        Ask(
            "excerpt",
            words("Excerpt"),
            words("Shown below the title and in search results."),
            rows=4,
        ),
    ),
)
