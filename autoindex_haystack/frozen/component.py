"""A frozen component on disk: write, load, verify, move.

The folder holds ``manifest.json``, ``program.py``, ``state.json`` when the program learned something from its corpus,
a ``README.md`` for people, and Haystack pipelines for each document store. Loading checks every hash; nothing in the
folder is ever run here.
"""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from autoindex_haystack.errors import FrozenError
from autoindex_haystack.files import atomic_file, atomic_folder
from autoindex_haystack.frozen.card import render_card
from autoindex_haystack.frozen.fingerprint import Fingerprint
from autoindex_haystack.frozen.manifest import (
    FORMAT_VERSION,
    ComponentSettings,
    Manifest,
    canonical_json,
    component_sha256,
    sha256_hex,
)
from autoindex_haystack.frozen.pipelines import (
    CLUSTER_PIPELINES,
    ELASTICSEARCH_INDEX,
    PIPELINES,
    render_elasticsearch_index,
    render_pipeline,
    repin,
)
from autoindex_haystack.program import Program, check_source

_MANIFEST, _PROGRAM, _STATE, _CARD = "manifest.json", "program.py", "state.json", "README.md"


@dataclass(frozen=True)
class FrozenComponent:
    """A learned program with everything it needs to run unchanged.

    :param path: The folder, absolute.
    :param manifest: Its manifest.
    :param program: The program.
    :param state: What the program learned from its corpus; empty when it learned nothing.
    """

    path: Path
    manifest: Manifest
    program: Program
    state: dict[str, Any]


def new_manifest(program: Program, state: dict[str, Any], settings: ComponentSettings, **about: Any) -> Manifest:
    """Make a manifest with the hashes filled in.

    :param program: The program.
    :param state: Its state; empty when it has none.
    :param settings: The component's settings.
    :param about: Further fields of :class:`Manifest`.
    :returns: The manifest.
    """
    state_hash = sha256_hex(canonical_json(state)) if state else None
    digest = component_sha256(program.sha256, state_hash, settings)
    return Manifest(sha256=digest, program_sha256=program.sha256, state_sha256=state_hash, settings=settings, **about)


def write_frozen(
    folder: Path,
    manifest: Manifest,
    program: Program,
    state: dict[str, Any],
    *,
    fingerprint: Fingerprint | None = None,
    force: bool = False,
) -> FrozenComponent:
    """Write a frozen component, whole or not at all.

    :param folder: The new folder.
    :param manifest: Made by :func:`new_manifest`.
    :param program: The program.
    :param state: Its state.
    :param fingerprint: What its documents are like.
    :param force: Replace what is there.
    :returns: The component as loaded from its place.
    :raises RunError: If the folder exists or cannot be written.
    """
    place = folder.resolve()
    with atomic_folder(place, force=force) as temporary:
        (temporary / _PROGRAM).write_bytes(program.source.encode("utf-8"))
        if state:
            (temporary / _STATE).write_bytes(canonical_json(state))
        (temporary / _MANIFEST).write_text(manifest.model_dump_json(indent=1) + "\n", encoding="utf-8")
        if fingerprint is not None:
            fingerprint.write(temporary)
        for name, text in _rendered(place, manifest, program).items():
            (temporary / name).write_text(text, encoding="utf-8")
    return load_frozen(place)


def load_frozen(path: str | Path, *, sha256: str | None = None) -> FrozenComponent:
    """Read a frozen component and check that nothing in it was changed.

    :param path: The folder.
    :param sha256: The hash that the component must have, from its manifest when it was learned. Give it wherever the
        folder could be changed by others: then only what was pinned is ever run.
    :returns: The component.
    :raises FrozenError: If a file is missing or damaged, or a hash differs.

    ```python
    from autoindex_haystack import load_frozen

    frozen = load_frozen("my_run/frozen")
    print(frozen.manifest.sha256, frozen.manifest.learned.held_out)
    ```
    """
    folder = Path(path).resolve()
    try:
        manifest = _read_manifest(folder / _MANIFEST)
        source = (folder / _PROGRAM).read_bytes()
        state_bytes = (folder / _STATE).read_bytes() if manifest.state_sha256 else b""
        program = Program(source.decode("utf-8"), _PROGRAM)
    except FileNotFoundError as error:
        msg = f"{folder} is no frozen component: {_what_is_missing(folder, Path(str(error.filename)))}"
        raise FrozenError(msg) from None
    except (OSError, ValueError) as error:
        msg = f"the frozen component in {folder} cannot be read; restore it from where it was learned ({error})"
        raise FrozenError(msg) from error
    _check_hashes(folder, manifest, program, state_bytes, sha256)
    return FrozenComponent(folder, manifest, program, json.loads(state_bytes) if state_bytes else {})


def verify_frozen(path: str | Path, *, relocate: bool = False) -> tuple[FrozenComponent, list[str]]:
    """Check a frozen component as a whole: hashes, the program's static check, the pipelines, the card.

    :param path: The folder.
    :param relocate: Rewrite the pipelines for the place where the folder is now, and the card.
    :returns: The component and what is wrong with it, one sentence each; an empty list when all is well.
    :raises FrozenError: If the component cannot be loaded at all.
    """
    frozen = load_frozen(path)
    problems = [
        f"{_PROGRAM}, {problem}"
        for problem in check_source(frozen.program.source, frozen.manifest.settings.allowed_imports)
    ]
    for name, expected in _rendered(frozen.path, frozen.manifest, frozen.program).items():
        file = frozen.path / name
        current = file.read_text(encoding="utf-8", errors="replace") if file.is_file() else None
        if current is not None and name in CLUSTER_PIPELINES:
            expected = _kept(name, current, expected, frozen)
        if relocate:
            with atomic_file(file) as temporary:
                temporary.write_text(expected, encoding="utf-8")
        elif current is None:
            problems.append(f"{name} is missing; write it again with --relocate")
        elif current != expected:
            problems.append(f"{name} was changed or names another place; write it again with --relocate")
    return frozen, problems


def _kept(name: str, current: str, rendered: str, frozen: FrozenComponent) -> str:
    """A cluster's pipeline as it should be: its users name cluster and index, the component in it is this one."""
    if name.startswith("query"):
        return current
    try:
        return repin(current, frozen.path, frozen.manifest)
    except FrozenError:
        return rendered


def _rendered(place: Path, manifest: Manifest, program: Program) -> dict[str, str]:
    """The files that follow from the others, by name."""
    pipelines = {name: render_pipeline(name, place, manifest) for name in (*PIPELINES, *CLUSTER_PIPELINES)}
    others = {ELASTICSEARCH_INDEX: render_elasticsearch_index(manifest), _CARD: render_card(manifest, program)}
    return {**pipelines, **others}


def _read_manifest(path: Path) -> Manifest:
    """Read a manifest; of another format only its version is looked at."""
    fields = json.loads(path.read_bytes())
    version = fields.get("format_version") if isinstance(fields, dict) else None
    if isinstance(version, int) and version != FORMAT_VERSION:
        msg = f"{path.parent} has format {version}, this version reads {FORMAT_VERSION}; use the version that wrote it"
        raise FrozenError(msg)
    return Manifest.model_validate(fields)


def _what_is_missing(folder: Path, file: Path) -> str:
    if not folder.is_dir():
        return "there is no such folder; check the path"
    if (folder / "frozen" / _MANIFEST).is_file():
        return f"this is a run; give {folder / 'frozen'}"
    return f"{file.name} is missing"


def _check_hashes(folder: Path, manifest: Manifest, program: Program, state: bytes, pinned: str | None) -> None:
    """Compare every hash, the pinned one last."""
    stated = (manifest.program_sha256, manifest.state_sha256)
    found = (program.sha256, sha256_hex(state) if manifest.state_sha256 else None)
    for name, expected, actual in zip((_PROGRAM, _STATE), stated, found, strict=True):
        if expected != actual:
            msg = f"{folder / name} was changed since it was frozen; restore it or freeze again"
            raise FrozenError(msg)
    if component_sha256(*stated, manifest.settings) != manifest.sha256:
        msg = f"{folder / _MANIFEST} was changed since it was frozen; restore it or freeze again"
        raise FrozenError(msg)
    if pinned is not None and pinned != manifest.sha256:
        msg = f"{folder} has sha256 {manifest.sha256}, but {pinned} is pinned; use the component that was pinned"
        raise FrozenError(msg)
