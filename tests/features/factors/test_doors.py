"""Every door that ends in a session of staff is named here, with what it asks for."""

from __future__ import annotations

import ast
from pathlib import Path

from tests.parsed import nodes_of, reads_the_source

import masthead

ROOT = Path(masthead.__file__).parent
DOORS = {
    # After a password, only for an account without a second factor; and for a session that is
    # older than the table of sign-ins.
    "identity/accounts.py",
    # After a code, or a passkey.
    "identity/second_step.py",
    "identity/passkey_sign_ins.py",
    # After a code from an email, only for an account without a second factor.
    "features/password_reset/staff_codes.py",
    # After a verified answer of a provider of the site, which may have asked for a second factor
    # itself: see the provider's `second_step`.
    "features/single_sign_on/staff.py",
    # Of someone who is signed in and has typed the old password.
    "faces/admin/pages/account/profile.py",
    # Of members, who have no second factor.
    "features/members/mailed_links.py",
    "features/single_sign_on/members.py",
    "faces/reader/member/account.py",
}


@reads_the_source
def test_a_new_door_has_to_say_what_it_asks_for() -> None:
    found = {
        path.relative_to(ROOT).as_posix()
        for path in ROOT.rglob("*.py")
        for node in nodes_of(path)
        if isinstance(node, ast.Call) and _begins_a_sign_in(node)
    }
    assert found == DOORS


def _begins_a_sign_in(call: ast.Call) -> bool:
    if not isinstance(call.func, ast.Attribute) or call.func.attr != "begin" or not call.args:
        return False
    first = ast.unparse(call.args[0])
    return first in ("superusers", "blog_members", "collection")
