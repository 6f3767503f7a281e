"""The same attacks by a user without any rights, in a process of that user's, when the tests run as root."""

import os
import shutil
import subprocess
import sys

import pytest

from .harness import NOBODY, as_user, complaint, read_attacks

ATTACKS = read_attacks()


def _python() -> str:
    """An interpreter of this version that the user may start."""
    version = f"{sys.version_info[0]}.{sys.version_info[1]}"
    for path in dict.fromkeys(
        [sys.executable, *filter(None, map(shutil.which, (f"python{version}",))), "/usr/bin/python3"]
    ):
        code = "import sys; print('%d.%d' % sys.version_info[:2])"
        try:
            done = subprocess.run(
                [path, "-c", code],
                user=NOBODY,
                group=NOBODY,
                extra_groups=[],
                capture_output=True,
                text=True,
                env={},
                check=False,
            )
        except OSError:
            continue
        if done.stdout.strip() == version:
            return path
    pytest.skip(f"no Python {version} that user {NOBODY} may start")


@pytest.fixture(scope="module")
def seen():
    if os.geteuid() != 0:
        pytest.skip("only root can become another user; the other tests here ran as one without rights")
    return {one["name"]: one for one in as_user(NOBODY, _python())}


@pytest.mark.parametrize("attack", ATTACKS, ids=[attack.name for attack in ATTACKS])
def test_an_attack_has_no_effect(attack, seen):
    assert complaint(attack, seen[attack.name]) == ""
