"""The same attacks by a user without any rights, in a process of that user's, when the tests run as root."""

import pytest

from .harness import as_user, complaint, read_attacks

ATTACKS = read_attacks()


@pytest.fixture(scope="module")
def seen(other_user):
    return {one["name"]: one for one in as_user(other_user.python, other_user.become)}


@pytest.mark.parametrize("attack", ATTACKS, ids=[attack.name for attack in ATTACKS])
def test_an_attack_has_no_effect(attack, seen):
    assert complaint(attack, seen[attack.name]) == ""
