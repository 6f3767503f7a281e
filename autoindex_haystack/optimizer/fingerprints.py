"""The fingerprint that a search puts into its frozen component; a search is never lost for want of one."""

from collections.abc import Sequence
from typing import Any

from autoindex_haystack.collection import Document
from autoindex_haystack.errors import ProgramError, SandboxError
from autoindex_haystack.frozen import ComponentSettings
from autoindex_haystack.frozen.fingerprint import Fingerprint, take_fingerprint
from autoindex_haystack.program import Program
from autoindex_haystack.proposers.builtin.variants import without_each_step
from autoindex_haystack.sandbox import Isolation, Limits


def fingerprint_of(
    program: Program,
    state: dict[str, Any],
    documents: Sequence[Document],
    settings: ComponentSettings,
    *,
    limits: Limits,
    workers: int,
    isolation: Isolation,
) -> Fingerprint | None:
    """Look at what a learned program makes of the documents that it was learned on, step by step.

    :param program: The program.
    :param state: What it learned.
    :param documents: The documents.
    :param settings: The component's settings.
    :param limits: What the program may use and return.
    :param workers: Worker processes.
    :param isolation: ``full``, or ``process-only``.
    :returns: The fingerprint; None when the program fails now, though it did not before.
    """
    try:
        return take_fingerprint(
            program,
            state,
            documents,
            settings=settings,
            variants=without_each_step(program),
            limits=limits,
            workers=workers,
            isolation=isolation,
        )
    except (ProgramError, SandboxError):
        return None
