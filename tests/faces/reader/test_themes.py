"""Themes draw every page, an operator's folder changes any part, and no template gets further than
its page."""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Callable, Mapping
from datetime import datetime
from itertools import product
from pathlib import Path

import pytest
from lxml import html
from markupsafe import Markup
from msgspec.structs import replace
from tests.faces.reader.samples import HOME, LIGHTHOUSE, MEMBER, PAGES, SITE, TEXT, chrome
from tests.faces.reader.themed import OTHER_THEMES, themed
from tests.log_lines import capture_logs

from masthead.base.languages.translators import ENGLISH
from masthead.faces.reader.themes import Themes
from masthead.faces.reader.views import PostPage, TextPage
from masthead.features.site.accent import DARK_GROUNDS, LIGHT_GROUNDS, contrast
from masthead.features.site.design import OUR_THEMES
from masthead.web.assets import UnknownAsset
from masthead.web.style_sheets import joined_file

ROOT = Path(__file__).parents[3]
PLAIN = ROOT / "src" / "masthead" / "faces" / "reader" / "themes" / "plain"
THEMES = PLAIN.parent
TEMPLATES = sorted(THEMES.glob("*/templates/*.html"))
NOTE = TextPage("A note", Markup("<p>Text.</p>"))

Write = Callable[[Mapping[str, str]], Themes]


@pytest.fixture(scope="module")
def plain() -> Themes:
    return Themes(None)


@pytest.fixture
def themes_of(tmp_path: Path) -> Write:
    def write(files: Mapping[str, str]) -> Themes:
        for name, text in files.items():
            path = tmp_path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        return Themes(tmp_path)

    return write


def drawn(themes: Themes, name: str, theme: str = "plain") -> html.HtmlElement:
    template, frame, page = PAGES[name] if theme == "plain" else themed(theme, name)
    with capture_logs() as lines:
        text = themes.render(theme, template, frame, page)
    assert lines == []
    return html.document_fromstring(text)


@pytest.mark.parametrize("name", PAGES)
class TestEveryPage:
    def test_keeps_to_the_policy(self, plain: Themes, name: str) -> None:
        page = drawn(plain, name)
        assert page.xpath("//@style | //style | //@*[starts-with(name(), 'on')]") == []
        assert {each.get("type") for each in page.iter("script")} <= {"application/ld+json"}
        assert page.xpath("//@href[starts-with(., 'javascript:')]") == []

    def test_has_one_heading_a_language_and_a_main_part(self, plain: Themes, name: str) -> None:
        page = drawn(plain, name)
        assert page.get("lang") == PAGES[name][1].site.language
        assert len(page.xpath("//h1")) == 1
        assert [each.get("id") for each in page.iter("main")] == ["main"]
        assert page.xpath("//body/*[1]/@href") == ["#main"]

    def test_names_nothing_twice_and_points_at_what_there_is(
        self, plain: Themes, name: str
    ) -> None:
        page = drawn(plain, name)
        ids = page.xpath("//@id")
        assert len(ids) == len(set(ids))
        wanted = page.xpath("//label/@for | //@aria-labelledby")
        wanted += [each[1:] for each in page.xpath("//@href[starts-with(., '#')]")]
        assert set(wanted) <= set(ids)

    def test_its_assets_exist(self, plain: Themes, name: str) -> None:
        page = drawn(plain, name)
        files = plain.assets["plain"].files
        used = page.xpath("//link[starts-with(@href, '/assets/')]/@href")
        assert len(used) >= 5
        assert set(used) <= set(files)


@pytest.mark.parametrize("theme", OTHER_THEMES)
class TestAnotherTheme:
    def test_draws_every_page_with_one_heading_and_whole_labels(
        self, plain: Themes, theme: str
    ) -> None:
        files = plain.assets[theme].files.keys() | plain.assets["plain"].files.keys()
        for name in PAGES:
            page = drawn(plain, name, theme)
            assert len(page.xpath("//h1")) == 1, name
            assert page.xpath("//@style | //style | //@*[starts-with(name(), 'on')]") == []
            ids = page.xpath("//@id")
            wanted = page.xpath("//label/@for | //@aria-labelledby")
            wanted += [each[1:] for each in page.xpath("//@href[starts-with(., '#')]")]
            assert len(ids) == len(set(ids))
            assert set(wanted) <= set(ids), name
            assert set(page.xpath("//link[starts-with(@href, '/assets/')]/@href")) <= files

    def test_has_what_the_settings_put_around_pages(self, plain: Themes, theme: str) -> None:
        text = drawn(plain, "post", theme).text_content()
        for part in ("The winter issue", "Registered charity", "Privacy", "Mastodon"):
            assert text.count(part) == 1


@pytest.mark.parametrize("theme", OUR_THEMES)
def test_a_home_page_weighs_no_more_than_100_kilobytes_without_pictures(
    plain: Themes, theme: str
) -> None:
    """On the way: HTML and styles compressed, fonts as they are."""
    template, frame, page = themed(theme, "home")
    text = plain.render(theme, template, frame, page)
    links = html.document_fromstring(text).xpath(
        "//link[@rel='stylesheet' or @rel='preload']/@href"
    )
    files = plain.assets["plain"].files | plain.assets[theme].files
    bodies = [files[each].bodies[None] for each in links]
    fonts = [body for link, body in zip(links, bodies, strict=True) if link.endswith(".woff2")]
    styles = [body for link, body in zip(links, bodies, strict=True) if link.endswith(".css")]
    sent = sum(map(len, fonts)) + sum(len(gzip.compress(each)) for each in (*styles, text.encode()))
    assert {"serif": 1, "sans": 1, "mixed": 2}[frame.site.fonts] == len(fonts)
    # The pages use no italic and nothing of another script.
    assert "<em" not in text
    assert sent <= 100_000, sent


class TestPlain:
    def test_fonts_are_preloaded_after_the_styles_that_the_first_paint_waits_for(
        self, plain: Themes
    ) -> None:
        page = drawn(plain, "post")
        links = page.xpath("//link[@rel='preload' or @rel='stylesheet']")
        kinds = [each.get("rel") for each in links]
        assert kinds == ["stylesheet"] * 3 + ["preload"] * 3
        assert {each.get("as") for each in links[3:]} == {"font"}
        assert all(each.get("crossorigin") is not None for each in links[3:])

    def test_the_italic_is_loaded_where_it_is_used(self, plain: Themes) -> None:
        def preloaded(text: str) -> int:
            page = PostPage(LIGHTHOUSE, Markup(text), LIGHTHOUSE.published)
            drawn_page = plain.render("plain", "post.html", chrome(), page)
            return drawn_page.count('rel="preload"')

        assert preloaded("<p>Upright.</p>") == 2
        assert preloaded("<p><em>Leaning.</em></p>") == 3

    def test_what_machines_read_is_not_escaped(self, plain: Themes) -> None:
        (script,) = drawn(plain, "home").iter("script")
        assert json.loads(script.text)["@type"] == "Blog"

    @pytest.mark.parametrize(
        ("language", "file"),
        [("pl", "latin-ext"), ("uk", "cyrillic"), ("el", "greek"), ("vi-VN", "vietnamese")],
    )
    def test_a_sites_script_is_loaded_first(self, plain: Themes, language: str, file: str) -> None:
        frame = chrome(site=replace(SITE, language=language))
        shown = plain.render("plain", "page.html", frame, NOTE)
        assert plain.assets["plain"].url(f"fonts/literata-{file}.woff2") in shown

    def test_all_text_of_others_is_escaped(self, plain: Themes) -> None:
        evil = '"><script>alert(1)</script>'
        card = replace(LIGHTHOUSE, title=evil, excerpt=evil, url=evil)
        frame = chrome(site=replace(SITE, name=evil, description=evil), path=evil, title=evil)
        for template, page in (
            ("home.html", replace(HOME, lead=card, cards=(card,), lines=(card,))),
            ("post.html", PostPage(card, TEXT, card.published)),
        ):
            assert "<script>alert" not in plain.render("plain", template, frame, page)
        assert "<b>I wrote" not in plain.render("plain", *PAGES["post"])

    def test_a_gated_post_calls_to_join_in_one_form(self, plain: Themes) -> None:
        page = drawn(plain, "paywall")
        (form,) = page.xpath("//form[@action='/member/sign-up']")
        assert form.get("method") == "post"
        assert form.xpath(".//input[@name='email']/@type") == ["email"]
        (newsletter,) = form.xpath(".//input[@name='newsletter']")
        assert newsletter.get("checked") is None
        assert "for members" in page.text_content()

    def test_an_open_post_shows_no_wall(self, plain: Themes) -> None:
        assert drawn(plain, "post").xpath("//*[@class='wall']") == []

    def test_nothing_leads_to_membership_where_there_is_none(self, plain: Themes) -> None:
        for name in ("paywall-closed", "home-plain"):
            page = drawn(plain, name)
            assert page.xpath("//@href[starts-with(., '/member/')]") == []
            assert page.xpath("//form[@method='post']") == []

    def test_a_member_is_not_asked_to_join(self, plain: Themes) -> None:
        for name in ("home-member", "post-member"):
            page = drawn(plain, name)
            assert page.xpath("//form[@action='/member/sign-up']") == []
            assert page.xpath("//a[@href='/member/account']")

    def test_a_guest_comments_with_a_name_and_answers_by_the_same_form(self, plain: Themes) -> None:
        page = drawn(plain, "post")
        forms = page.xpath(f"//form[@action='{LIGHTHOUSE.url}/comments']")
        answered = [each.xpath("string(.//input[@name='parent_id']/@value)") for each in forms]
        # Not to the one that waits.
        assert answered == ["c1", "c2", "c3", "c4", "c5", "c6", ""]
        for each in forms:
            assert each.xpath(".//textarea[@name='body']")
            assert each.xpath(".//input[@name='name'] | .//input[@name='email']")

    def test_the_trap_is_hidden_from_people(self, plain: Themes) -> None:
        page = drawn(plain, "post")
        traps = page.xpath("//input[@name='website']")
        assert traps
        for trap in traps:
            assert trap.get("tabindex") == "-1"
            assert trap.xpath("ancestor::div[@aria-hidden='true' and @class='trap']")

    def test_a_members_forms_carry_the_token_of_the_sign_in(self, plain: Themes) -> None:
        page = drawn(plain, "post-member")
        forms = page.xpath("//form[@method='post']")
        assert len(forms) == 4
        for each in forms:
            assert each.xpath(".//input[@name='form_token']/@value") == [MEMBER.form_token]

    def test_the_page_not_found_offers_a_search_for_its_address(self, plain: Themes) -> None:
        page = drawn(plain, "not-found")
        (query,) = page.xpath("//form[@action='/search']//input[@name='q']/@value")
        assert query == "the lighthose keeps its own hours"

    @pytest.mark.parametrize(
        ("language", "form", "shown"),
        [
            ("en-GB", "long", "3 February 2026"),
            ("en-US", "long", "February 3, 2026"),
            ("en", "short", "3 Feb 2026"),
            ("en", "month", "February 2026"),
            ("en", "time", "3 Feb 2026, 09:05"),
            ("de", "long", "3. Februar 2026"),
            ("de", "month", "Februar 2026"),
        ],
    )
    def test_dates_follow_the_language(
        self, themes_of: Write, language: str, form: str, shown: str
    ) -> None:
        themes = themes_of({"t/templates/page.html": f"{{{{ page | date('{form}') }}}}"})
        frame = chrome(site=replace(SITE, language=language))
        assert themes.render("t", "page.html", frame, datetime(2026, 2, 3, 9, 5)) == shown

    def test_numbers_follow_the_language(self, themes_of: Write) -> None:
        themes = themes_of({"t/templates/page.html": "{{ page | number }}"})
        assert themes.render("t", "page.html", chrome(), 50218) == "50,218"
        german = chrome(site=replace(SITE, language="de"))
        assert themes.render("t", "page.html", german, 50218) == "50.218"


class TestAFolderOfTheOperators:
    def test_replaces_one_template_of_plain(self, themes_of: Write) -> None:
        themes = themes_of({"plain/templates/_footer.html": "<footer>Ours!</footer>"})
        assert themes.names() == OUR_THEMES
        shown = themes.render("plain", "page.html", chrome(), NOTE)
        assert "<footer>Ours!</footer>" in shown
        assert "A note" in shown

    def test_adds_a_theme_that_falls_back_to_plain(self, themes_of: Write) -> None:
        themes = themes_of(
            {
                "harbour/templates/page.html": "<h1>{{ page.title }}, harbour</h1>",
                "plain/templates/_footer.html": "<footer>Everywhere</footer>",
            }
        )
        assert themes.names() == (*OUR_THEMES, "harbour")
        assert themes.render("harbour", "page.html", chrome(), NOTE) == "<h1>A note, harbour</h1>"
        home = themes.render("harbour", "home.html", chrome(), HOME)
        assert LIGHTHOUSE.title in home
        assert "Everywhere" in home

    def test_a_template_can_extend_the_one_it_replaces(self, themes_of: Write) -> None:
        source = '{% extends "plain/page.html" %}{% block skip %}Jump{% endblock %}'
        themes = themes_of({"plain/templates/page.html": source})
        shown = themes.render("plain", "page.html", chrome(), NOTE)
        assert "Jump" in shown
        assert "A note" in shown

    def test_a_theme_that_is_gone_shows_as_plain(self, plain: Themes) -> None:
        assert plain.render("gone", "page.html", chrome(), NOTE) == plain.render(
            "plain", "page.html", chrome(), NOTE
        )

    def test_static_files_have_the_themes_own_addresses(self, themes_of: Write) -> None:
        themes = themes_of(
            {"harbour/static/harbour.css": "a { src: url(fonts/literata-latin.woff2) }"}
        )
        assets = themes.assets["harbour"]
        assert assets.url("harbour.css").startswith("/assets/harbour/harbour-")
        assert assets.url("reader.css") == themes.assets["plain"].url("reader.css")
        font = themes.assets["plain"].url("fonts/literata-latin.woff2")
        assert font.encode() in assets.files[assets.url("harbour.css")].bodies[None]
        with pytest.raises(UnknownAsset):
            themes.assets["plain"].url("harbour.css")

    @pytest.mark.parametrize("name", ["Harbour", "a b", "x" * 41])
    def test_a_folder_with_another_name_is_no_theme(self, tmp_path: Path, name: str) -> None:
        (tmp_path / name).mkdir()
        with capture_logs() as lines:
            themes = Themes(tmp_path)
        assert themes.names() == OUR_THEMES
        assert [each["event"] for each in lines] == ["theme_ignored"]

    def test_a_link_out_of_the_folder_is_no_template(
        self, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
    ) -> None:
        secret = tmp_path_factory.mktemp("elsewhere") / "secret.html"
        secret.write_text("secret")
        folder = tmp_path / "harbour" / "templates"
        folder.mkdir(parents=True)
        (folder / "page.html").symlink_to(secret)
        shown = Themes(tmp_path).render("harbour", "page.html", chrome(), NOTE)
        assert "secret" not in shown
        assert "A note" in shown


class TestABrokenTemplate:
    @pytest.mark.parametrize(
        ("source", "line", "reason"),
        [
            ("<p>\n{% if %}", 2, "TemplateSyntaxError"),
            ("<p>\n\n{{ site.motto }}", 3, "UndefinedError"),
            ("{{ nothing }}", 1, "UndefinedError"),
            ("{{ 1 / 0 }}", 1, "ZeroDivisionError"),
            ("{{ asset('gone.css') }}", 1, "UnknownAsset"),
            ("{{ page.title + 1 }}", 1, "TypeError"),
            ("{% include 'gone.html' %}", 1, "TemplateNotFound"),
            ("{% include 'page.html' %}", 1, "RecursionError"),
            ("{{ page.title | date }}", 1, "AttributeError"),
        ],
    )
    def test_is_logged_with_its_place_and_ours_draws_the_page(
        self, themes_of: Write, tmp_path: Path, source: str, line: int, reason: str
    ) -> None:
        themes = themes_of({"harbour/templates/page.html": source})
        with capture_logs() as lines:
            shown = themes.render("harbour", "page.html", chrome(), NOTE)
        assert shown == Themes(None).render("plain", "page.html", chrome(), NOTE)
        (logged,) = lines
        assert logged["event"] == "theme_template_failed"
        assert logged["template"] == str(tmp_path / "harbour/templates/page.html")
        assert logged["line"] == line
        assert logged["error"].startswith(reason)

    def test_is_replaced_by_a_page_whose_files_are_served(self, themes_of: Write) -> None:
        themes = themes_of(
            {
                "plain/templates/page.html": "{{ nothing }}",
                "plain/static/reader.css": "body { color: red }",
            }
        )
        shown = html.document_fromstring(themes.render("plain", "page.html", chrome(), NOTE))
        used = shown.xpath("//link[starts-with(@href, '/assets/')]/@href")
        assert set(used) <= set(themes.assets["plain"].files)

    def test_is_logged_once(self, themes_of: Write) -> None:
        themes = themes_of({"harbour/templates/page.html": "{{ nothing }}"})
        with capture_logs() as lines:
            for _ in range(3):
                themes.render("harbour", "page.html", chrome(), NOTE)
        assert len(lines) == 1

    def test_does_not_spoil_the_other_pages(self, themes_of: Write) -> None:
        themes = themes_of({"harbour/templates/_comments.html": "{{ nothing }}"})
        with capture_logs() as lines:
            themes.render("harbour", "home.html", chrome(), HOME)
        assert lines == []


HOSTILE = [
    "{{ page.__class__ }}",
    "{{ page.__class__.__mro__[1].__subclasses__() }}",
    "{{ ''['__class__'] }}",
    "{{ page | attr('__class__') }}",
    "{{ (page | attr('__init__')).__globals__ }}",
    "{{ asset.__self__._paths }}",
    "{{ asset.__globals__['os'] }}",
    "{{ asset.__func__.__globals__ }}",
    "{{ '{0.__class__}'.format(page) }}",
    "{{ '{x.__class__}'.format_map({'x': page}) }}",
    "{{ page.html.__html__.__globals__ }}",
    "{{ self.__init__.__globals__ }}",
    "{{ self._TemplateReference__context.environment }}",
    "{{ range.__init__.__globals__ }}",
    "{{ config }}",
    "{{ request }}",
    "{{ settings }}",
    "{{ os }}",
    "{{ lipsum.__globals__ }}",
    "{{ cycler.__init__.__globals__ }}",
    "{% for each in range(10000000) %}{% endfor %}",
    "{% include '../../../../etc/passwd' %}",
    "{% include '/etc/passwd' %}",
    "{% import 'os' as os %}",
    "{{ site.navigation.__add__ }}",
    "{% set x = {} %}{{ x.update({'a': 1}) }}",
    "{% set x = [] %}{{ x.append(1) }}",
]


class TestAHostileTemplate:
    @pytest.mark.parametrize("source", HOSTILE)
    def test_gets_nowhere(self, themes_of: Write, source: str) -> None:
        themes = themes_of({"harbour/templates/page.html": "ESCAPED " + source})
        with capture_logs() as lines:
            shown = themes.render("harbour", "page.html", chrome(), NOTE)
        assert [each["event"] for each in lines] == ["theme_template_failed"]
        assert "ESCAPED" not in shown

    @pytest.mark.parametrize("source", HOSTILE[:5])
    def test_gets_nowhere_from_within_a_part_of_plain(self, themes_of: Write, source: str) -> None:
        themes = themes_of({"plain/templates/_footer.html": "ESCAPED " + source})
        with capture_logs() as lines:
            shown = themes.render("plain", "page.html", chrome(), NOTE)
        assert len(lines) == 1
        assert "ESCAPED" not in shown

    def test_sees_these_names_alone(self, themes_of: Write) -> None:
        themes = themes_of({"t/templates/page.html": "x"})
        environment = themes._environments["t"].of(ENGLISH)
        assert set(environment.globals) == {"asset", "range"}


def pairs_of(sheet: str) -> dict[str, tuple[str, str]]:
    found = re.findall(r"--([\w-]+): light-dark\((#\w+), (#\w+)\)", sheet)
    return {name: (light, dark) for name, light, dark in found}


TOKENS = (PLAIN / "static" / "tokens.css").read_text()
PAIRS = pairs_of(TOKENS)
SHEETS = {name: (THEMES / name / "static" / "theme.css").read_text() for name in OUR_THEMES[1:]}
COLOURS = {"plain": PAIRS, **{name: PAIRS | pairs_of(sheet) for name, sheet in SHEETS.items()}}
GROUNDS = ("paper", "sheet", "raised")


def in_language(themes: Themes, name: str, language: str) -> html.HtmlElement:
    template, frame, page = PAGES[name]
    frame = replace(frame, site=replace(frame.site, language=language))
    return html.document_fromstring(themes.render("plain", template, frame, page))


def test_japanese_names_and_sentences_have_no_blanks_between_them(plain: Themes) -> None:
    [names] = in_language(plain, "home", "ja").xpath("//*[@class='meta']/span[contains(., '、')]")
    assert names.text == "Marguerite Oyelaran-Whitcombe、Nell Ashby"
    account = in_language(plain, "account", "ja")
    [tier] = account.xpath("//*[@id='tier']//small/text()")
    assert tier.strip().startswith("Supporter、年額£44。変更や終了は、")
    [tier] = in_language(plain, "account", "it").xpath("//*[@id='tier']//small/text()")
    assert " ".join(tier.split()).startswith("Supporter, £44 all’anno. Le email")


def test_minutes_have_the_forms_of_their_language(plain: Themes) -> None:
    shown = {
        language: in_language(plain, "home", language).xpath("//*[@class='meta']/span[last()]")
        for language in ("en", "ar")
    }
    minutes = {language: {each.text for each in found} for language, found in shown.items()}
    assert {"6 min", "2 min", "11 min"} <= minutes["en"]
    assert {"\u20686\u2069 دقائق", "دقيقتان", "\u206811\u2069 دقيقة"} <= minutes["ar"]


def test_sentences_of_strangers_are_escaped(themes_of: Write) -> None:
    themes = themes_of({"harbour/templates/post.html": "{{ page.card.title | sentences }}"})
    post = PostPage(replace(LIGHTHOUSE, title="<b>灯。 台</b>"), TEXT, LIGHTHOUSE.published)
    frame = chrome()
    for language, blank in (("en", " "), ("ja", "")):
        frame = replace(frame, site=replace(frame.site, language=language))
        shown = themes.render("harbour", "post.html", frame, post)
        assert shown == f"&lt;b&gt;灯。{blank}台&lt;/b&gt;"


class TestTokens:
    @pytest.mark.parametrize("look", [0, 1], ids=["light", "dark"])
    @pytest.mark.parametrize("theme", OUR_THEMES)
    def test_text_is_readable_on_every_ground(self, theme: str, look: int) -> None:
        pairs = COLOURS[theme]
        for name in ("ink", "soft", "accent", "good", "warn", "bad", "info"):
            grounds = [*GROUNDS, *([f"{name}-wash"] if f"{name}-wash" in pairs else [])]
            for ground in grounds:
                assert contrast(pairs[name][look], pairs[ground][look]) >= 4.5, (name, ground)

    @pytest.mark.parametrize("look", [0, 1], ids=["light", "dark"])
    @pytest.mark.parametrize("theme", OUR_THEMES)
    def test_edges_focus_rings_and_buttons_stand_out(self, theme: str, look: int) -> None:
        colour = {name: pair[look] for name, pair in COLOURS[theme].items()}
        for name, ground in product(("edge", "focus"), GROUNDS):
            assert contrast(colour[name], colour[ground]) >= 3
        for ground in ("action", "action-hover"):
            assert contrast(colour["on-action"], colour[ground]) >= 4.5
        assert contrast(colour["ink"], colour["wash"]) >= 4.5

    def test_old_browsers_get_the_light_values(self) -> None:
        old = TOKENS.partition("@supports not")[2]
        values = dict(re.findall(r"--([\w-]+): (#\w+);", old))
        assert values == {name: light for name, (light, _) in PAIRS.items()}
        for sheet in SHEETS.values():
            old = sheet.partition("@supports not")[2].partition("\n}\n")[0]
            values = dict(re.findall(r"--([\w-]+): (#\w+);", old))
            assert values == {name: light for name, (light, _) in pairs_of(sheet).items()}

    def test_accents_are_made_for_these_grounds(self) -> None:
        assert tuple(PAIRS[name][0] for name in GROUNDS) == LIGHT_GROUNDS
        assert tuple(PAIRS[name][1] for name in GROUNDS) == DARK_GROUNDS
        # Another theme's grounds are further from the text, so an accent is as readable there.
        for pairs in COLOURS.values():
            for ground in GROUNDS:
                light, dark = pairs[ground]
                assert contrast(light, "#000000") >= contrast("#f5f2ea", "#000000")
                assert contrast(dark, "#ffffff") >= contrast("#292622", "#ffffff")


def test_the_style_sheet_and_the_pages_have_the_same_classes(plain: Themes) -> None:
    sheets = ("reader.css", "tiers.css")
    sheet = b"".join(joined_file(PLAIN / "static" / name) for name in sheets).decode()
    sheet += "".join(SHEETS.values())
    styled = set(re.findall(r"\.([a-z][\w-]*)", re.sub(r"/\*.*?\*/", "", sheet, flags=re.S)))
    used = {
        each
        for page in (
            *(drawn(plain, name) for name in PAGES),
            *(drawn(plain, name, theme) for theme in SHEETS for name in ("home", "post")),
        )
        for value in page.xpath("//@class")
        for each in value.split()
        if not each.startswith("language-")
    }
    assert used - styled == set()
    of_texts = {"paywall", "align-center", "align-right", "align-justify"}
    of_cards = {each for each in styled if each.startswith(("mh-", "ratio-"))}
    of_pictures = {f"focus-{axis}{step}" for axis in "xy" for step in range(11)}
    assert styled - used - of_texts - of_cards == of_pictures


def test_the_example_of_the_documentation_works(themes_of: Write) -> None:
    page = (ROOT / "docs" / "themes.md").read_text()
    files = dict(re.findall(r"^`(harbour/\S+)`\n```\w+\n(.*?)^```$", page, re.M | re.S))
    assert set(files) == {"harbour/templates/post.html", "harbour/static/harbour.css"}
    themes = themes_of(files)
    post = PostPage(LIGHTHOUSE, TEXT, LIGHTHOUSE.published)
    with capture_logs() as lines:
        shown = themes.render("harbour", "post.html", chrome(), post)
    assert lines == []
    assert "Written in Tideline, November 2026." in shown
    assert themes.assets["harbour"].url("harbour.css") in shown
    assert "Written in" not in themes.render("plain", "post.html", chrome(), post)


def test_the_documentation_names_every_template_and_block() -> None:
    page = (ROOT / "docs" / "themes.md").read_text()
    for path in TEMPLATES:
        assert path.name.startswith("_") or path.name in page
        for block in re.findall(r"{% block (\w+) %}", path.read_text()):
            assert f"`{block}`" in page
