"""Running a program over documents although it fails at some: those are put aside, each with its error."""

from collections.abc import Callable

from autoindex_haystack.errors import ProgramError
from autoindex_haystack.sandbox.blocks import Block
from autoindex_haystack.sandbox.runner import ProgramRunner


def run_past_failures(
    runner: ProgramRunner,
    take: Callable[[Block], object],
    failed: Callable[[int, ProgramError], object],
    *,
    most: int,
) -> None:
    """Run a program over all of its document file; after a document at which it fails, go on with the others.

    :param runner: The program with its workers and documents.
    :param take: Called with each block of documents when it is done, with the chunks' metadata.
    :param failed: Called with the ordinal of each document that was put aside, and why.
    :param most: At how many documents the program may fail, since its workers start anew each time. What is not done
        after that is put aside untried.
    :raises ProgramError: If the program fails without a document being at fault.
    """
    waiting = dict.fromkeys(range(len(runner.documents)))
    failures = 0

    def done(block: Block) -> None:
        take(block)
        for ordinal in block.ordinals:
            del waiting[ordinal]

    while waiting and failures < most:
        try:
            runner.stream(done, ordinals=list(waiting), metadata=True)
        except ProgramError as error:
            culprit = _ordinal(runner, error)
            if culprit not in waiting:
                raise
            del waiting[culprit]
            failures += 1
            failed(culprit, error)
    for ordinal in waiting:
        msg = f"not tried, since the program had failed at {failures:,} documents beside this one"
        failed(ordinal, ProgramError(msg, document_id=runner.documents.document_ids[ordinal]))


def _ordinal(runner: ProgramRunner, error: ProgramError) -> int | None:
    """Where the document stands that an error names, if it names one."""
    ids = runner.documents.document_ids
    return ids.index(error.document_id) if error.document_id in ids else None
