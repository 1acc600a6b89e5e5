"""`python -m tests.catalogs update` writes the catalogs; `check` says what they lack, of all
languages or of those that follow, as in `check de fr`; `emails de` shows every email."""

from __future__ import annotations

import sys

from msgspec.structs import replace
from tests.catalogs.checks import all_problems
from tests.catalogs.extraction import update

from masthead.base.languages.translators import LANGUAGES
from masthead.outside.mail.rendering import render


def main(command: str, *languages: str) -> int:
    if command == "update":
        update()
        return 0
    if command == "emails":
        show_emails(*languages)
        return 0
    found = 0
    for language in languages or LANGUAGES[1:]:
        problems = list(all_problems(language))
        found += len(problems)
        for problem in problems:
            print(f"{language}: {problem}")  # noqa: T201
        print(f"{language}: {len(problems) or 'no'} problems")  # noqa: T201
    return 1 if found else 0


def show_emails(language: str) -> None:
    # Imported here: the tests of emails need more than the catalogs.
    from tests.outside.mail.test_message import MAILS

    for mail in MAILS:
        rendered = render(replace(mail, language=language))
        print(f"===== {mail.template}: {rendered.subject}\n\n{rendered.text}")  # noqa: T201


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
