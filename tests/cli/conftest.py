"""Running commands in the test's own process."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from autoindex_haystack.cli.main import main


@dataclass(frozen=True)
class Printed:
    """What a command returned and printed."""

    code: int
    out: str
    err: str


@pytest.fixture
def autoindex(capsys: pytest.CaptureFixture[str]) -> Callable[..., Printed]:
    """Run a command: `autoindex("evaluate", "--help")`."""

    def run(*arguments: Any) -> Printed:
        capsys.readouterr()
        code = main([str(argument) for argument in arguments])
        printed = capsys.readouterr()
        return Printed(code, printed.out, printed.err)

    return run
