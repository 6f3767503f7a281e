"""The frozen component on disk: round trip, changes that are noticed, the pinned hash, moving it."""

import json
import os
import shutil
from pathlib import Path

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from autoindex_haystack.errors import FrozenError, ProgramError, RunError
from autoindex_haystack.frozen import (
    ComponentSettings,
    Figures,
    FrozenComponent,
    LearnedOn,
    Step,
    load_frozen,
    new_manifest,
    verify_frozen,
    write_frozen,
)
from autoindex_haystack.frozen.freeze import freeze_program
from autoindex_haystack.frozen.pipelines import CLUSTER_PIPELINES
from autoindex_haystack.program import Document, Program, builtin_program
from autoindex_haystack.retrieval import BM25Settings

PROGRAM = builtin_program("full_document")
STATE = {"table": {"wing": ["wings", "flügel"], "n": 1.5}, "empty": None}
SETTINGS = ComponentSettings(bm25=BM25Settings(k1=0.9, b=0.4), metadata_fields=("year",), allowed_imports=("datetime",))
FILES = {
    "README.md",
    "index.elasticsearch.json",
    "indexing.elasticsearch.yaml",
    "indexing.lucene.yaml",
    "indexing.opensearch.yaml",
    "indexing.yaml",
    "manifest.json",
    "program.py",
    "query.elasticsearch.yaml",
    "query.lucene.yaml",
    "query.opensearch.yaml",
    "query.opensearch.collapse.yaml",
    "query.yaml",
    "state.json",
}


def freeze(folder: Path, program: Program = PROGRAM, state=STATE, force: bool = False) -> FrozenComponent:
    manifest = new_manifest(
        program,
        state,
        SETTINGS,
        learned_on=LearnedOn(name="small", fingerprint="f", documents=1_234, validation_queries=3, held_out_queries=6),
        baseline=Figures(validation={"recall@100": 0.5}, held_out={"recall@100": 0.25, "ndcg@10": 1 / 3}),
        learned=Figures(validation={"recall@100": 0.75}, held_out={"recall@100": 0.5, "ndcg@10": 0.4}),
        intervals={"recall@100": (-0.1, 0.6)},
        lineage=[Step(iteration=1, program_sha256=program.sha256, idea="Adds word forms.", gain=0.25)],
        versions={"python": "3.11.7"},
        isolation=["fresh interpreter"],
    )
    return write_frozen(folder, manifest, program, state, force=force)


@pytest.fixture
def frozen(tmp_path: Path) -> FrozenComponent:
    return freeze(tmp_path / "frozen")


def test_a_component_is_the_same_after_it_was_written_and_loaded(frozen):
    loaded = load_frozen(frozen.path)
    assert loaded == load_frozen(str(frozen.path)) == frozen
    assert (loaded.program.source, loaded.state, loaded.manifest.settings) == (PROGRAM.source, STATE, SETTINGS)
    assert {path.name for path in frozen.path.iterdir()} == FILES
    assert verify_frozen(frozen.path) == (frozen, [])


def test_without_a_state_there_is_no_state_file(tmp_path):
    frozen = freeze(tmp_path / "frozen", state={})
    assert load_frozen(frozen.path).state == {}
    assert {path.name for path in frozen.path.iterdir()} == FILES - {"state.json"}


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=["Cs"])),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text("aéz\n"), inner, max_size=3),
    max_leaves=5,
)


@settings(max_examples=25)
@given(
    source=st.text(st.characters(exclude_categories=["Cs"])), state=st.dictionaries(st.text("aéz\n"), JSON, max_size=3)
)
def test_any_source_and_state_survive(tmp_path_factory, source, state):
    folder = tmp_path_factory.mktemp("any") / "frozen"
    write_frozen(folder, new_manifest(Program(source), state, SETTINGS), Program(source), state)
    loaded = load_frozen(folder)
    assert (loaded.program.source, loaded.state) == (source, state)


def test_the_hash_covers_program_state_and_settings_and_nothing_else(tmp_path):
    def sha256(program=PROGRAM, state=STATE, settings=SETTINGS, **about):
        return new_manifest(program, state, settings, **about).sha256

    others = [
        sha256(program=Program(PROGRAM.source + "\n")),
        sha256(state=STATE | {"x": 1}),
        sha256(state={}),
        sha256(settings=ComponentSettings()),
        sha256(settings=SETTINGS.model_copy(update={"metadata_fields": ()})),
        sha256(settings=SETTINGS.model_copy(update={"bm25": BM25Settings(k1=0.9, b=0.5)})),
    ]
    assert len({sha256(), *others}) == 7
    assert sha256(state=dict(reversed(STATE.items()))) == sha256(versions={"python": "3.13"}) == sha256()


def append(path: Path) -> None:
    path.write_bytes(path.read_bytes() + b" ")


CHANGES = {
    "program.py": (append, "program.py was changed since it was frozen"),
    "state.json": (append, "state.json was changed since it was frozen"),
}


@pytest.mark.parametrize("name", ["program.py", "state.json"])
def test_a_changed_program_or_state_is_noticed_when_it_is_loaded(frozen, name):
    append(frozen.path / name)
    with pytest.raises(FrozenError, match=rf"{name} was changed since it was frozen; restore it or freeze again"):
        load_frozen(frozen.path)


@pytest.mark.parametrize(
    "change",
    [
        lambda m: m["settings"]["bm25"].update(k1=1.2),
        lambda m: m["settings"].update(metadata_fields=["year", "secret"]),
        lambda m: m["settings"].update(allowed_imports=["os"]),
        lambda m: m.update(sha256="0" * 64),
    ],
)
def test_changed_settings_are_noticed_when_it_is_loaded(frozen, change):
    rewrite_manifest(frozen.path, change)
    with pytest.raises(FrozenError, match=r"manifest.json was changed since it was frozen"):
        load_frozen(frozen.path)


def rewrite_manifest(folder: Path, change) -> None:
    manifest = json.loads((folder / "manifest.json").read_text())
    change(manifest)
    (folder / "manifest.json").write_text(json.dumps(manifest))


def test_a_state_that_is_left_out_is_noticed(frozen):
    rewrite_manifest(frozen.path, lambda m: m.update(state_sha256=None))
    with pytest.raises(FrozenError, match=r"manifest\.json was changed"):
        load_frozen(frozen.path)


@pytest.mark.parametrize("name", sorted(FILES - {"program.py", "state.json", "manifest.json"} - set(CLUSTER_PIPELINES)))
def test_a_changed_or_missing_pipeline_or_card_is_noticed_by_verify_and_mended_by_relocate(frozen, name):
    append(frozen.path / name)
    assert verify_frozen(frozen.path)[1] == [
        f"{name} was changed or names another place; write it again with --relocate"
    ]
    (frozen.path / name).unlink()
    assert verify_frozen(frozen.path)[1] == [f"{name} is missing; write it again with --relocate"]
    assert verify_frozen(frozen.path, relocate=True)[1] == []
    assert verify_frozen(frozen.path)[1] == []


@pytest.mark.parametrize("name", CLUSTER_PIPELINES)
def test_a_pipeline_of_a_cluster_is_its_users_but_for_the_component_in_it(frozen, name):
    path = frozen.path / name
    path.write_text(path.read_text().replace("localhost:9200", "search.example:9200"))
    assert verify_frozen(frozen.path)[1] == []
    if name.startswith("indexing"):
        path.write_text(path.read_text().replace(frozen.manifest.sha256, "0" * 64))
        [problem] = verify_frozen(frozen.path)[1]
        assert problem.startswith(f"{name} was changed or names another place")
        assert verify_frozen(frozen.path, relocate=True)[1] == []
        assert "search.example" in path.read_text()
        assert frozen.manifest.sha256 in path.read_text()
    path.unlink()
    assert verify_frozen(frozen.path)[1] == [f"{name} is missing; write it again with --relocate"]
    assert verify_frozen(frozen.path, relocate=True)[1] == []


def test_changed_figures_are_noticed_by_verify(frozen):
    rewrite_manifest(frozen.path, lambda m: m["learned"]["held_out"].update({"recall@100": 0.99}))
    assert verify_frozen(frozen.path)[1] == [
        "README.md was changed or names another place; write it again with --relocate"
    ]


def test_only_the_pinned_component_is_loaded(frozen, tmp_path):
    assert load_frozen(frozen.path, sha256=frozen.manifest.sha256) == frozen
    other = freeze(tmp_path / "other", Program(PROGRAM.source + "# changed\n"))
    assert load_frozen(other.path)
    with pytest.raises(
        FrozenError, match=f"has sha256 {other.manifest.sha256}, but {frozen.manifest.sha256} is pinned"
    ):
        load_frozen(other.path, sha256=frozen.manifest.sha256)


@pytest.mark.parametrize("name", ["manifest.json", "program.py", "state.json"])
def test_a_missing_file_is_named(frozen, name):
    (frozen.path / name).unlink()
    with pytest.raises(FrozenError, match=f"is no frozen component: {name} is missing"):
        load_frozen(frozen.path)


@pytest.mark.parametrize(
    "content", [b"", b"{", b"[]", b"null", b"\xff", b'{"format_version": 1}', b'{"format_version": "x"}']
)
def test_a_manifest_that_is_none_is_refused(frozen, content):
    (frozen.path / "manifest.json").write_bytes(content)
    with pytest.raises(FrozenError, match="cannot be read; restore it from where it was learned"):
        load_frozen(frozen.path)


def test_a_program_that_is_no_utf_8_is_refused(frozen):
    (frozen.path / "program.py").write_bytes(b"\xff")
    with pytest.raises(FrozenError, match="cannot be read"):
        load_frozen(frozen.path)


def test_another_format_is_named_also_when_it_has_other_fields(frozen):
    rewrite_manifest(frozen.path, lambda m: m.update(format_version=2, something="new"))
    with pytest.raises(FrozenError, match="has format 2, this version reads 1"):
        load_frozen(frozen.path)


def test_the_program_s_own_faults_are_told_by_verify(tmp_path):
    frozen = freeze(tmp_path / "frozen", Program("import os\nx = (\n"))
    assert verify_frozen(frozen.path)[1][0].startswith("program.py, line 2: syntax error")


def test_an_import_that_was_allowed_when_it_was_frozen_is_no_fault(tmp_path):
    frozen = freeze(tmp_path / "frozen", Program("import datetime\n" + PROGRAM.source))
    assert verify_frozen(frozen.path)[1] == []


def test_after_a_move_relocate_writes_the_new_place_into_the_pipelines(frozen, tmp_path):
    moved = tmp_path / "moved here"
    frozen.path.rename(moved)
    assert len(verify_frozen(moved)[1]) == 6
    component, problems = verify_frozen(moved, relocate=True)
    assert problems == verify_frozen(moved)[1] == []
    assert component.path == moved
    assert str(frozen.path) + "/" not in "".join((moved / name).read_text() for name in FILES)


@pytest.mark.parametrize("backend", ["bm25s", "lucene"])
def test_the_pipelines_name_absolute_places_the_pinned_hash_and_the_settings(tmp_path, monkeypatch, backend):
    monkeypatch.chdir(tmp_path)
    frozen = freeze(Path("frözen"))
    suffix = ".lucene.yaml" if backend == "lucene" else ".yaml"
    indexing = yaml.safe_load((frozen.path / f"indexing{suffix}").read_text(encoding="utf-8"))
    query = yaml.safe_load((frozen.path / f"query{suffix}").read_text(encoding="utf-8"))
    assert indexing["components"]["preprocessor"]["init_parameters"] == {
        "path": str(tmp_path / "frözen"),
        "sha256": frozen.manifest.sha256,
    }
    stores = [
        indexing["components"]["writer"]["init_parameters"]["document_store"],
        query["components"]["retriever"]["init_parameters"]["document_store"],
    ]
    place = str(tmp_path / "frözen" / f"index-{backend}")
    for store in stores:
        assert store["init_parameters"] == {"path": place, "k1": 0.9, "b": 0.4, "analyzer": "bm25s"}
        assert backend in store["type"]


def test_the_card_says_what_was_learned_where_and_how_to_use_it(frozen):
    card = (frozen.path / "README.md").read_text(encoding="utf-8")
    for part in (
        "Index each document whole",
        "Learned on `small`: 1,234 documents, 3 validation and 6 held-out queries.",
        "1. Adds word forms. (validation recall@100 +0.2500)",
        "# Frozen representation program for `small`",
        "| recall@100 | 0.2500 | 0.5000 | +0.2500 | -0.1000 to +0.6000 |",
        "| ndcg@10 | 0.3333 | 0.4000 | +0.0667 | – |",
        "BM25 with k1 0.9, b 0.4 and the analyzer bm25s",
        "It reads the metadata fields `year`",
        "autoindex optimize COLLECTION --out new_run --k1 0.9 --b 0.4 --analyzer bm25s",
        "--metadata-fields year --allow-import datetime",
        frozen.manifest.sha256,
        "autoindex verify --relocate",
    ):
        assert part in card


def test_a_folder_that_is_taken_is_refused_unless_it_may_be_replaced(frozen):
    (frozen.path / "index-bm25s").mkdir()
    with pytest.raises(RunError, match="exists; choose another place or replace it with --force"):
        freeze(frozen.path)
    assert (frozen.path / "index-bm25s").is_dir()
    freeze(frozen.path, state={}, force=True)
    assert {path.name for path in frozen.path.iterdir()} == FILES - {"state.json"}
    assert [path.name for path in frozen.path.parent.iterdir()] == ["frozen"]


def test_a_failed_write_is_never_visible_and_leaves_what_was_there(frozen, monkeypatch):
    before = {path.name: path.read_bytes() for path in frozen.path.iterdir()}
    monkeypatch.setattr("autoindex_haystack.frozen.component.render_card", lambda *_: 1 / 0)
    for folder, force in ((frozen.path, True), (frozen.path.parent / "new", False)):
        with pytest.raises(ZeroDivisionError):
            freeze(folder, force=force)
    assert {path.name: path.read_bytes() for path in frozen.path.iterdir()} == before
    assert [path.name for path in frozen.path.parent.iterdir()] == ["frozen"]


def test_a_place_that_cannot_be_written_is_refused(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(RunError, match="cannot write to"):
        freeze(tmp_path / "file" / "frozen")


def test_loading_never_runs_the_program(tmp_path):
    canary = tmp_path / "ran"
    program = Program(f"open({str(canary)!r}, 'w')\n" + PROGRAM.source)
    frozen = freeze(tmp_path / "frozen", program)
    load_frozen(frozen.path)
    verify_frozen(frozen.path)
    assert not canary.exists()


def test_loading_changes_nothing(frozen):
    copy = frozen.path.with_name("read-only")
    shutil.copytree(frozen.path, copy)
    before = {path: path.stat().st_mtime_ns for path in (copy, *copy.iterdir())}
    for path in copy.iterdir():
        path.chmod(0o444)
    copy.chmod(0o555)
    try:
        load_frozen(copy)
        verify_frozen(copy)
    finally:
        copy.chmod(0o755)
    assert {path: path.stat().st_mtime_ns for path in before} == before


def test_a_component_is_found_through_a_link(frozen, tmp_path):
    os.symlink(frozen.path, tmp_path / "link")
    assert load_frozen(tmp_path / "link") == frozen


COUNTING = Program(
    "from autoindex_haystack.program import BasePreprocessor, Chunk\n"
    "class Preprocessor(BasePreprocessor):\n"
    "    def calibrate(self, docs): return {'n': sum(1 for _ in docs)}\n"
    "    def preprocess(self, docs): return [Chunk('0', d.doc_id, d.text + SUFFIX) for d in docs]\n"
    "SUFFIX = ''\n"
)


def test_a_program_can_be_frozen_as_it_is_given(tmp_path):
    documents = [Document(str(i), f"text {i}") for i in range(7)]
    frozen = freeze_program(COUNTING, documents, tmp_path / "frozen", settings=SETTINGS, versions={"x": "1"})
    assert frozen.state == {"n": 7}
    assert (frozen.manifest.learned_on, frozen.manifest.versions) == (None, {"x": "1"})
    assert "frozen as given, without a search" in (frozen.path / "README.md").read_text()
    assert verify_frozen(frozen.path)[1] == []


@pytest.mark.parametrize(
    ("program", "message"),
    [
        (Program("x = (\n"), "line 1: syntax error"),
        (Program(COUNTING.source.replace("sum(1 for _ in docs)", "{}['x']")), "raised KeyError"),
        (Program(COUNTING.source.replace("SUFFIX = ''", "SUFFIX = str(hash('x'))")), "changes with ids, batch"),
    ],
)
def test_a_program_that_fails_is_not_frozen(tmp_path, program, message):
    with pytest.raises(ProgramError, match=message):
        freeze_program(program, [Document("1", "x")], tmp_path / "frozen")
    assert list(tmp_path.iterdir()) == []
