"""The order of texts in lists: the same for the ten languages as people look for them."""

from __future__ import annotations

from random import Random

import pytest

from masthead.base.languages.alphabet import MAX_KEY, by_letters, letters_of

IN_ORDER = {
    "en": ["10 rules", "apple", "Apple pie", "Don’t", "zebra", "Zoo"],
    "de": ["Ähre", "Ärger", "Auto", "Müller", "Mütze", "Straße", "Strasse 2", "Zebra"],
    "fr": ["à la mer", "chou", "cœur", "École", "élan", "Étretat", "œuvre"],
    "es": ["¿Adónde vas?", "árbol", "Ñandú", "nube", "Último", "zorro"],
    "pt": ["açaí", "Água", "ânimo", "Céu", "São Paulo", "sap"],
    "it": ["caffè", "È vero", "lunedì", "perché", "«Zia»"],
    "nl": ["Één", "geëerd", "’s Avonds", "zee"],
    "pl": ["ćma", "Łódź", "mądry", "Święto", "żaba", "źródło"],
    "ja": [
        "あさ",
        "カキ",
        "がっこう",
        "かつら",
        "コーヒー",
        "こおり",
        "ラーメン",
        "ライト",
        "東京",
    ],
    "ar": ["أحمد", "إسلام", "آفاق", "باب", "مَدرسة", "مـدينة", "ياسمين"],
}


@pytest.mark.parametrize("language", IN_ORDER)
def test_letters_decide_whatever_their_case_and_marks(language: str) -> None:
    wanted = IN_ORDER[language]
    mixed = Random(language).sample(wanted, len(wanted))
    assert sorted(mixed, key=by_letters) == wanted


@pytest.mark.parametrize(
    ("text", "letters"),
    [
        ("„Ärger“ um 7", "arger um 7"),
        ("Łódź", "lodz"),
        ("¿Ñandú?", "nandu"),
        ("Cœur", "coeur"),
        ("e\u0301te\u0301", "ete"),
        ("スーパー", "すうはあ"),
        ("ｶﾞｯｺｳ", "かつこう"),
        ("إســلام ١٢", "اسلام 12"),
        ("!?", "!?"),
        ("", ""),
    ],
)
def test_the_key_of_a_text(text: str, letters: str) -> None:
    assert letters_of(text) == letters


def test_case_and_marks_decide_between_the_same_letters() -> None:
    assert sorted(["Résumé", "resume", "Resume"], key=by_letters) == ["Resume", "Résumé", "resume"]


def test_a_key_can_be_indexed() -> None:
    # One character that stands for eighteen.
    assert len(letters_of("\ufdfa" * 255)) == MAX_KEY
