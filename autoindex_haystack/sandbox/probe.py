"""What isolation this machine gives, found out by starting a worker."""

from collections.abc import Sequence

from autoindex_haystack.program import builtin_program
from autoindex_haystack.sandbox.documents import DocumentFile
from autoindex_haystack.sandbox.isolation import Isolation
from autoindex_haystack.sandbox.limits import Limits
from autoindex_haystack.sandbox.runner import ProgramRunner


def layers_in_force(
    isolation: Isolation = "full",
    *,
    limits: Limits = Limits(),  # noqa: B008 - frozen
    allowed_imports: Sequence[str] = (),
) -> tuple[str, ...]:
    """Start a worker as programs get it and ask it.

    :param isolation: The isolation that programs shall have.
    :param limits: What programs may use.
    :param allowed_imports: Modules that programs may import beside the usual ones.
    :returns: The layers in force, as the worker reports them.
    :raises SandboxUnavailable: If this machine cannot isolate programs as asked.
    """
    with (
        DocumentFile() as nothing,
        ProgramRunner(
            builtin_program("full_document"),
            nothing,
            limits=limits,
            allowed_imports=allowed_imports,
            isolation=isolation,
        ) as runner,
    ):
        runner.start()
        return runner.layers
