"""Freezing a program as it is given: it learns from a corpus what it wants to learn, and nothing is searched for."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from autoindex_haystack.collection import Document
from autoindex_haystack.frozen.component import FrozenComponent, new_manifest, write_frozen
from autoindex_haystack.frozen.fingerprint import take_fingerprint
from autoindex_haystack.frozen.manifest import ComponentSettings
from autoindex_haystack.program import Program
from autoindex_haystack.sandbox import DocumentFile, Isolation, Limits, ProgramRunner, check_stability


def freeze_program(
    program: Program,
    documents: Sequence[Document],
    folder: Path,
    *,
    settings: ComponentSettings = ComponentSettings(),  # noqa: B008 - frozen
    limits: Limits = Limits(),  # noqa: B008 - frozen
    versions: Mapping[str, str] | None = None,
    isolation: Isolation = "full",
    force: bool = False,
) -> FrozenComponent:
    """Calibrate a program on a corpus and write it as a frozen component.

    :param program: The program.
    :param documents: The corpus from which it learns.
    :param folder: The new folder.
    :param settings: BM25 settings, metadata fields and imports that go with the program.
    :param limits: What the program may use and return.
    :param versions: The versions that the manifest states.
    :param isolation: ``full``, or ``process-only`` for workers that the kernel does not lock.
    :param force: Replace what is there.
    :returns: The frozen component.
    :raises ProgramError: If the program is invalid, fails, or its output depends on more than the document.
    :raises RunError: If the folder exists or cannot be written.
    """
    imports = settings.allowed_imports
    program.check(imports)
    with (
        DocumentFile(documents) as file,
        ProgramRunner(program, file, limits=limits, allowed_imports=imports, isolation=isolation) as runner,
    ):
        state = runner.calibrate()
        layers = list(runner.layers)
    check_stability(program, documents, state=state, limits=limits, allowed_imports=imports, isolation=isolation)
    manifest = new_manifest(program, state, settings, versions=dict(versions or {}), isolation=layers)
    fingerprint = take_fingerprint(program, state, documents, settings=settings, limits=limits, isolation=isolation)
    return write_frozen(folder, manifest, program, state, fingerprint=fingerprint, force=force)
