"""Languages: which catalog speaks, and words that are shown in the language spoken there."""

from __future__ import annotations

import pickle
from datetime import UTC, datetime
from time import process_time

import pytest
from jinja2 import Environment

from masthead.base.languages.formats import Numeral, listed, number_text, separator, shown_date
from masthead.base.languages.in_templates import EXTENSION, install_words
from masthead.base.languages.moments import Day
from masthead.base.languages.retelling import LONGEST, retold
from masthead.base.languages.translators import (
    accepted_language,
    admin_messages,
    admin_translator,
    catalog_language,
    direction_of,
    speaking,
    spoken_now,
    translator_of,
)
from masthead.base.languages.words import counted, words
from masthead.engine.jobs.tables import new_job
from masthead.engine.records.fields.base import FieldError
from masthead.engine.records.fields.documents import Json
from masthead.engine.records.fields.text import Email
from masthead.faces.importers.report import Note, errors_file
from masthead.faces.site_export.jobs import NO_ANSWER
from masthead.features.mailings.queue import LOST


@pytest.mark.parametrize(
    ("header", "language"),
    [
        ("", "en"),
        ("de-AT,de;q=0.9,en;q=0.8", "de"),
        ("en;q=0.5, fr", "fr"),
        ("en;q=0.5, de ; q=0.7", "de"),
        ("tlh, ja;q=0.3", "ja"),
        ("de;q=0, *;q=0.1", "en"),
        ("de;q=nonsense", "en"),
        (";;,q=,", "en"),
        ("x" * 10_000, "en"),
    ],
)
def test_a_browser_names_the_languages_that_it_wants(header: str, language: str) -> None:
    assert accepted_language(header) == language


@pytest.mark.parametrize(
    ("stored", "german"),
    [
        ("invalid email address", "ungültige E‑Mail-Adresse"),
        ("The receiver answered 503.", "Der Empfänger antwortete 503."),
        (
            "the mail server refused the address (550)",
            "der Mailserver hat die Adresse abgelehnt (550)",
        ),
        ("550 5.1.1 No such user here", "550 5.1.1 No such user here"),
        (
            "“007” is being changed. Wait until that is done.",
            "„007“ wird gerade geändert. Warten Sie, bis das erledigt ist.",
        ),
        (
            "“٣” is being changed. Wait until that is done.",
            "„٣“ wird gerade geändert. Warten Sie, bis das erledigt ist.",
        ),
        (
            "The export has more than 100,000 posts.",
            "Der Export enthält mehr als 100.000 Beiträge.",
        ),
        ("SEO title: cut to 60 characters.", "SEO-Titel: auf 60 Zeichen gekürzt."),
        (
            "Labels: Each item must be no more than 50 character(s).",
            "Etiketten: Jeder Eintrag darf höchstens 50 Zeichen lang sein.",
        ),
        (
            "This is not an email address. Correct it. Newsletter: write yes or no. Ahoy!",
            "Das ist keine E‑Mail-Adresse. Berichtigen Sie sie. Newsletter: Schreiben Sie yes oder "
            "no. Ahoy!",
        ),
        ("The old address /a leads to /b. already.", "Die alte Adresse /a führt schon zu /b.."),
        # The words of another message, "cut to … characters", are a part of it.
        (
            "A comment was cut to 1,500 characters.",
            "Ein Kommentar wurde auf 1.500 Zeichen gekürzt.",
        ),
        ("The file %(x)s can't be read.", "Die Datei %(x)s lässt sich nicht lesen."),
        ("The file  can't be read", "The file  can't be read"),
        ("The export has more than posts.", "The export has more than posts."),
        ("Name: ahoy", "Name: ahoy"),
        ("%(number)s", "%(number)s"),
        ("100% of %s", "100% of %s"),
        ("", ""),
    ],
)
def test_english_that_was_stored_is_told_in_the_language_of_its_reader(
    stored: str, german: str
) -> None:
    assert retold(stored) == stored
    with speaking(admin_translator("de")):
        assert retold(stored) == german


def test_an_email_retells_in_its_own_language_what_readers_see() -> None:
    said = {}
    for language in ("de", "fr", "ar", "el"):
        with speaking(translator_of(language)):
            said[language] = retold(NO_ANSWER)
            # Only the staff's words in a language that the admin does not have.
            assert retold(LOST) == LOST or language == "de"
    assert said["de"] == (
        "Die Datenbank oder der Dateispeicher hat nicht geantwortet. Versuchen Sie es in ein paar "
        "Minuten noch einmal."
    )
    assert said["fr"].startswith("La base de données")
    assert said["ar"] != NO_ANSWER
    assert said["el"] == NO_ANSWER


def test_a_number_among_words_is_written_where_they_are_shown() -> None:
    said = words("The file has more than %(number)s bytes.", number=Numeral(200_000))
    assert said == "The file has more than 200,000 bytes."
    with speaking(admin_translator("de")):
        assert str(said) == "Die Datei hat mehr als 200.000 Bytes."


HOSTILE = (
    *("A. ", "Ab. ", ": ", "Name: ", "Not saved: ", "word ", "%(field)s: "),
    *("The old address ", " leads to ", "The export has more than 1 posts", "x", "\0", "(a"),
)


@pytest.mark.parametrize("size", [LONGEST, 100_000])
@pytest.mark.parametrize("part", HOSTILE)
def test_text_that_a_stranger_chose_is_looked_up_at_once(part: str, size: int) -> None:
    stored = (part * size)[:size]
    retold_at_once = [stored, f"Not saved: {stored}"[:size], f"{stored} posts."[-size:]]
    with speaking(admin_translator("de")):
        retold("The catalog is read before: this time counts the text alone.")
        started = process_time()
        for text in retold_at_once:
            retold(text)
    assert process_time() - started < 1


def test_a_row_of_a_report_is_told_in_milliseconds() -> None:
    with speaking(admin_translator("de")):
        retold("The catalog is read before: this time counts the rows alone.")
        started = process_time()
        for row in range(500):
            own = f"Row {row}: somebody’s own words. And more."
            assert retold(own) == own
            german = f"Der Export enthält mehr als {number_text(row, 'de')} Beiträge."
            assert retold(f"The export has more than {row:,} posts.") == german
    assert process_time() - started < 2


def test_no_list_of_messages_is_made_where_no_text_was_stored() -> None:
    admin_messages.cache_clear()
    retold("The export has more than 5 posts.")
    with speaking(admin_translator("de")):
        assert retold("") == ""
        assert admin_messages.cache_info().misses == 0
        assert retold("Ahoy, sailor!") == "Ahoy, sailor!"
        assert admin_messages.cache_info().misses == 1


def test_a_latin_name_stands_by_itself_in_a_text_from_right_to_left() -> None:
    environment = Environment(extensions=[EXTENSION], autoescape=True)
    install_words(environment)
    template = environment.from_string("{{ _('Sign in to %(site)s', site=site) }}")
    subject = words("Sign in to %(site)s", site="Tide & co.")
    link = words("Or open this address: %(link)s", link="https://example.org/")
    with speaking(translator_of("ar")):
        assert str(subject) == "تسجيل الدخول إلى \u2068Tide & co.\u2069"
        assert template.render(site="Tide & co.") == "تسجيل الدخول إلى \u2068Tide &amp; co.\u2069"
        # Programs make links of them, and would take the character for a part.
        assert str(link).endswith(" https://example.org/")
    with speaking(translator_of("de")):
        assert "\u2068" not in str(subject)


def test_no_polish_line_ends_with_a_word_of_one_letter() -> None:
    polish = translator_of("pl")
    said = polish.gettext("The rest of this post is for members, and joining is free")
    assert said == "Dalsza część tego tekstu jest dla członków, a\u00a0dołączenie jest bezpłatne"
    link = '<a href="%(url)s#comments">'
    assert link in polish.gettext(f"One thread. {link}Show all comments</a>")
    with speaking(polish):
        assert listed(["Ada", "Ben"]) == "Ada i\u00a0Ben"


def test_values_in_tags_are_left_as_they_are() -> None:
    message = 'Everything, %(cost)s: <a href="%(url)s">what paid members get</a>'
    assert (
        translator_of("ar")
        .gettext(message)
        .startswith('كل شيء، \u2068%(cost)s\u2069: <a href="%(url)s')
    )


def test_the_first_of_a_month_has_a_name_of_its_own_in_french() -> None:
    first, other = datetime(2026, 11, 1, tzinfo=UTC), datetime(2026, 12, 21, tzinfo=UTC)
    assert shown_date(first, "long", "fr") == "1er novembre 2026"
    assert shown_date(first, "whole", "fr-ca") == "dimanche 1er novembre 2026"
    assert shown_date(first, "day", "fr") == "1er nov."
    assert shown_date(first, "month", "fr") == "novembre 2026"
    assert shown_date(other, "long", "fr") == "21 décembre 2026"
    assert shown_date(first, "long", "es") == "1 de noviembre de 2026"


def test_a_moment_has_the_comma_of_its_language() -> None:
    moment = datetime(2026, 11, 19, 11, 5, tzinfo=UTC)
    assert shown_date(moment, "time", "ar") == "19 نوفمبر 2026، 11:05"
    assert shown_date(moment, "time", "de") == "19. Nov. 2026, 11:05"
    assert shown_date(moment, "time", "ja") == "2026年11月19日 11:05"


@pytest.mark.parametrize(
    ("tag", "spoken", "direction"),
    [
        ("pt-BR", "pt", "ltr"),
        ("DE-ch", "de", "ltr"),
        ("ar-EG", "ar", "rtl"),
        ("he", "en", "rtl"),
        ("tlh", "en", "ltr"),
        ("", "en", "ltr"),
    ],
)
def test_a_tag_leads_to_a_catalog(tag: str, spoken: str, direction: str) -> None:
    assert translator_of(tag).spoken == catalog_language(tag or "en") == spoken
    assert direction_of(tag) == direction


def test_words_are_in_the_language_that_is_spoken_where_they_are_shown() -> None:
    day = datetime(2026, 12, 24, tzinfo=UTC)
    text = words("Closed until %(day)s, 100%% sure", day=Day(day))
    assert text == "Closed until 24 December 2026, 100% sure"
    with speaking(translator_of("de")):
        assert str(text) == f"{text}" == "Closed until 24. Dezember 2026, 100% sure"
        with speaking(translator_of("en")):
            assert str(text) == "Closed until 24 December 2026, 100% sure"
    assert spoken_now().language == "en"
    assert text.encode() == b"Closed until 24 December 2026, 100% sure"
    assert type(pickle.loads(pickle.dumps(text))) is str


def test_words_for_a_number_follow_it() -> None:
    assert [str(counted("%(number)s day", "%(number)s days", each)) for each in (0, 1, 2)] == [
        "0 days",
        "1 day",
        "2 days",
    ]


@pytest.mark.parametrize(
    ("language", "kind", "text"),
    [
        ("en", "and", "A, B and C"),
        ("en-US", "or", "A, B or C"),
        ("de", "and", "A, B und C"),
        ("fr", "or", "A, B ou C"),
        ("ja", "and", "A、B、C"),
        ("tlh", "and", "A, B and C"),
    ],
)
def test_a_list_is_written_as_the_language_does(language: str, kind: str, text: str) -> None:
    with speaking(translator_of(language)):
        assert listed(["A", "B", "C"], kind) == text
        assert listed(["A"], kind) == "A"
        assert separator(1, 1) == ""
    assert listed(["A", "B"]) == "A and B"


@pytest.mark.parametrize("mail", ["nobody@", ""])
def test_what_a_field_refuses_can_be_stored_and_reported(mail: str) -> None:
    with pytest.raises(FieldError) as refused:
        Email(name="email", required=True).check(mail)
    sentence = refused.value.problem.message
    assert sentence in Json(name="report").encode({"errors": [sentence]})
    assert sentence in new_job("", "mail", {"problem": sentence}, "")["payload"]
    assert sentence.encode() in errors_file([Note("post", "1", reason=sentence)])


SAID = (
    '{{ _("Sign in") }}',
    '{% set said = _("Sign in") %}{{ said }}',
    "{% trans minutes=name %}{{ minutes }} min{% endtrans %}",
    '{{ _("%(minutes)s min", minutes="<" ~ name) }}',
    '{{ _("%(minutes)s min", minutes="<b>") }}',
    '{% set said = _("%(minutes)s min", minutes=name) %}{{ said }}',
    '{{ _("Sign in") if name else _("Join") }}',
    '{{ pgettext("pager", "Pages") }}',
    '{{ _("100 %% <i>sure</i>") }}',
    "{{ _(name) }}",
)


@pytest.mark.parametrize("language", ["en", "de"])
def test_words_that_are_compiled_into_a_template_are_those_of_a_call(language: str) -> None:
    translator = translator_of(language)
    for autoescape in (True, False):
        called, compiled = Environment(), Environment()
        for environment, words_of in ((called, None), (compiled, translator)):
            environment.autoescape = autoescape
            environment.add_extension(EXTENSION)
            install_words(environment, words_of)
        for source in SAID:
            with speaking(translator):
                wanted = called.from_string(source).render(name="Ann & Co")
                assert compiled.from_string(source).render(name="Ann & Co") == wanted, source
        code = compiled.compile(SAID[0], raw=True)
        assert translator.gettext("Sign in") in code
        assert "words_in" not in code
