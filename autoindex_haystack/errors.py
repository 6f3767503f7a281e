"""The errors that users meet: one small family, each message a sentence that says what, where and what to do.

``exit_code`` is what the command line returns for the error: 1 for a failed check or program, 2 for wrong use or bad
input, 130 for what was interrupted.
"""


class AutoIndexError(Exception):
    """Base of every error that AutoIndex raises on purpose."""

    exit_code = 2


class CollectionError(AutoIndexError):
    """A corpus, query, qrels or split file cannot be used; the message names file and line."""


class ProgramError(AutoIndexError):
    """A representation program is invalid or failed; the message names the document where there is one.

    :param message: One sentence for the user.
    :param document_id: The id of the document at which the program failed, if any.
    :param program_traceback: The program's own traceback, if it raised.
    """

    exit_code = 1

    def __init__(self, message: str, *, document_id: str | None = None, program_traceback: str = "") -> None:
        super().__init__(message)
        self.document_id = document_id
        self.program_traceback = program_traceback

    def __str__(self) -> str:
        text = super().__str__()
        return f"{text}\n{self.program_traceback.rstrip()}" if self.program_traceback else text


class SandboxError(AutoIndexError):
    """The isolated worker could not be started or broke its protocol."""

    exit_code = 1


class SandboxUnavailable(SandboxError):
    """This machine cannot isolate programs as asked; the message says why and what to do."""


class Cancelled(AutoIndexError):
    """Work that was called off before its end, since its result is no longer wanted."""


class Interrupted(AutoIndexError):
    """A search that was asked to stop, and can be resumed; the message says how."""

    exit_code = 130


class BackendError(AutoIndexError):
    """A retrieval engine is missing, cannot start or cannot read its index."""


class FrozenError(AutoIndexError):
    """A frozen component is missing, damaged or changed."""

    exit_code = 1


class RunError(AutoIndexError):
    """A run folder or an output path cannot be used."""
