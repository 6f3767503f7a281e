"""No attack on the sandbox has an effect, as the user who runs the tests, who may be root."""

import pytest

from .harness import complaint, read_attacks, run_attack, succeeded, targets

ATTACKS = read_attacks()


@pytest.fixture(scope="module")
def aimed():
    with targets() as made:
        yield made


@pytest.mark.parametrize("attack", ATTACKS, ids=[attack.name for attack in ATTACKS])
def test_an_attack_has_no_effect(attack, aimed):
    assert complaint(attack, run_attack(attack, aimed)) == ""


REAL = [attack for attack in ATTACKS if attack.real and attack.expect in ("refused", "nothing")]


@pytest.mark.parametrize("attack", REAL, ids=[attack.name for attack in REAL])
def test_it_would_have_one_if_the_kernel_did_not_lock_the_worker(attack, aimed):
    """Otherwise an attack that is broken would look like one that was refused."""
    assert succeeded(attack, run_attack(attack, aimed, "process-only"))


def test_there_are_enough_attacks():
    assert len(ATTACKS) >= 50
    assert len(REAL) >= 25
