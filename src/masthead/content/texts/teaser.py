"""How lists, search engines and other sites present a text: fields of posts and pages."""

from __future__ import annotations

from typing import Final

from masthead.engine.records.fields.text import Text, Url

EXCERPT: Final = Text(name="excerpt", max=500)
FEATURED_IMAGE: Final = Url(name="featured_image")
SEO_FIELDS: Final = (Text(name="seo_title", max=60), Text(name="seo_description", max=160))
