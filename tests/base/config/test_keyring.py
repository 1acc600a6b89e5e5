"""Derived keys are separate and stable; ciphertexts rotate, and can't be changed or moved."""

from __future__ import annotations

import pytest

from masthead.base.config.keyring import DecryptionError, KeyRing

OLD = "old root secret of an install"
NEW = b"new root secret of an install"
PLACE = "tenant/site_settings/record/ai_api_key"


@pytest.fixture
def ring() -> KeyRing:
    return KeyRing([OLD])


def test_keys_are_stable_and_separate_by_purpose(ring: KeyRing) -> None:
    assert ring.derive("sessions") == KeyRing([OLD.encode()]).derive("sessions")
    assert len(ring.derive("sessions")) == 32
    assert ring.derive("sessions") != ring.derive("unsubscribe")


def test_the_first_root_writes_and_all_of_them_verify(ring: KeyRing) -> None:
    rotated = KeyRing([NEW, OLD])
    assert rotated.derive("sessions") == KeyRing([NEW]).derive("sessions")
    assert rotated.derive_all("sessions") == (
        KeyRing([NEW]).derive("sessions"),
        ring.derive("sessions"),
    )


def test_a_derivation_is_that_of_rfc_5869(ring: KeyRing) -> None:
    # Fixed forever: a different answer would lock every install out of its own secrets.
    fixed = KeyRing(["0123456789abcdef"]).derive("sessions")
    assert fixed.hex() == "6a28a05a44445719ae69176848bc9f37d9c162fb19aa58eecee7337ded3f4c62"


@pytest.mark.parametrize("roots", [[], ["short"], ["long enough to be a root", b"short"]])
def test_missing_or_short_roots_are_refused(roots: list[str | bytes]) -> None:
    with pytest.raises(ValueError):
        KeyRing(roots)


@pytest.mark.parametrize("plaintext", ["sk-test", "", "naïve ☂" * 500])
def test_what_is_encrypted_can_be_decrypted(ring: KeyRing, plaintext: str) -> None:
    ciphertext = ring.encrypt("secrets", plaintext, PLACE)
    assert ring.decrypt("secrets", ciphertext, PLACE) == plaintext
    assert ciphertext.startswith("v1.")
    assert plaintext == "" or plaintext not in ciphertext


def test_the_same_text_never_has_the_same_ciphertext(ring: KeyRing) -> None:
    assert ring.encrypt("secrets", "x", PLACE) != ring.encrypt("secrets", "x", PLACE)


def test_a_moved_ciphertext_is_refused(ring: KeyRing) -> None:
    ciphertext = ring.encrypt("secrets", "x", PLACE)
    with pytest.raises(DecryptionError):
        ring.decrypt("secrets", ciphertext, PLACE.replace("tenant", "other"))
    with pytest.raises(DecryptionError):
        ring.decrypt("mail", ciphertext, PLACE)


def test_every_changed_character_is_noticed(ring: KeyRing) -> None:
    ciphertext = ring.encrypt("secrets", "x", PLACE)
    for position, character in enumerate(ciphertext):
        for swapped in {"A", "B", "C", "D"} - {character}:
            changed = ciphertext[:position] + swapped + ciphertext[position + 1 :]
            with pytest.raises(DecryptionError):
                ring.decrypt("secrets", changed, PLACE)


@pytest.mark.parametrize("broken", ["", "v1", "v1.", "plain text", "v2.00000000.AAAA", "v1.é.é"])
def test_what_is_no_ciphertext_is_refused(ring: KeyRing, broken: str) -> None:
    with pytest.raises(DecryptionError):
        ring.decrypt("secrets", broken, PLACE)


def test_a_truncated_ciphertext_is_refused(ring: KeyRing) -> None:
    ciphertext = ring.encrypt("secrets", "x", PLACE)
    for length in range(len(ciphertext)):
        with pytest.raises(DecryptionError):
            ring.decrypt("secrets", ciphertext[:length], PLACE)


def test_rotation_reads_the_old_and_writes_the_new(ring: KeyRing) -> None:
    before = ring.encrypt("secrets", "x", PLACE)
    rotated = KeyRing([NEW, OLD])
    after = rotated.encrypt("secrets", rotated.decrypt("secrets", before, PLACE), PLACE)

    assert rotated.needs_rotation(before)
    assert not rotated.needs_rotation(after)
    assert KeyRing([NEW]).decrypt("secrets", after, PLACE) == "x"


def test_a_removed_root_secret_decrypts_nothing(ring: KeyRing) -> None:
    ciphertext = ring.encrypt("secrets", "x", PLACE)
    with pytest.raises(DecryptionError):
        KeyRing([NEW]).decrypt("secrets", ciphertext, PLACE)


def test_the_repr_shows_no_secret(ring: KeyRing) -> None:
    assert OLD not in repr(ring)
