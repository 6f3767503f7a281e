"""J(θ): a program run over a corpus, indexed, ranked and scored; documents that it makes unreachable."""

import re

import numpy as np
import pytest

from autoindex_haystack.errors import CollectionError, FrozenError, ProgramError
from autoindex_haystack.evaluation import Evaluator, choose_queries, evaluate, resolve_program
from autoindex_haystack.evaluation.reachable import check_reachable, chunks_with_token, documents_with_token
from autoindex_haystack.frozen import ComponentSettings, new_manifest, write_frozen
from autoindex_haystack.program import Document, builtin_program
from autoindex_haystack.retrieval import BM25Settings, ChunkTable
from autoindex_haystack.sandbox import Limits

from .conftest import indexing

FULL = builtin_program("full_document")


def test_an_evaluation_has_figures_rankings_and_sizes(small):
    with Evaluator(small) as evaluator:
        found = evaluator.evaluate(FULL, small.queries)
    assert found.scores["q1"]["recall@100"] == 0.5, "the document that is not in the corpus counts"
    assert found.scores["q2"]["mrr@10"] == 1.0
    assert set(found.scores["q3"].values()) == {0.0}
    assert found.objective == found.metrics["recall@100"] == pytest.approx((0.5 + 1 + 0) / 3)
    assert [document for document, _ in found.rankings["q2"]] == ["b", "d"]
    assert found.rankings["q3"] == []
    assert found.scores["q2"]["smooth_recall"] == pytest.approx(1.0)
    assert 0.4 < found.scores["q1"]["smooth_recall"] <= 0.5, "near the top, or not in the corpus"
    assert found.program_sha256 == FULL.sha256
    assert (found.chunks, found.unreachable, found.state) == (6, (), {})
    texts = ["Ice\nheated wing sheds ice", "cold engine", "ailerons steer the roll", "cold wing", "", "of the"]
    assert found.chunk_bytes == len("".join(texts))
    assert found.growth == pytest.approx(found.chunk_bytes / (found.chunk_bytes - 1)), "the line end is what was added"
    assert set(found.seconds) == {"calibrate", "program", "scan", "score"}


def test_only_the_queries_asked_for_are_scored(small):
    with Evaluator(small) as evaluator:
        assert list(evaluator.evaluate(FULL, ["q2"]).scores) == ["q2"]


def test_the_same_program_has_the_same_figures_again_also_with_more_workers(small):
    evaluations = []
    for workers in (1, 2):
        with Evaluator(small, workers=workers) as evaluator:
            evaluations += [evaluator.evaluate(FULL, small.queries) for _ in range(2)]
    assert len({repr((e.scores, e.rankings)) for e in evaluations}) == 1


def test_settings_reach_the_index(small):
    with Evaluator(small) as paper, Evaluator(small, BM25Settings(k1=0.9, b=0.4)) as other:
        assert paper.evaluate(FULL, ["q1"]).rankings != other.evaluate(FULL, ["q1"]).rankings


def test_a_program_calibrates_on_the_corpus_unless_a_state_is_given(small):
    program = indexing(
        "doc.text + ' ' + str(self.state['n'])", "def calibrate(self, docs): return {'n': len(list(docs))}"
    )
    with Evaluator(small) as evaluator:
        assert evaluator.evaluate(program, ["q1"]).state == {"n": 6}
        assert evaluator.run(program)[0].texts[1] == "cold engine 6"
        assert evaluator.evaluate(program, ["q1"], state={"n": 7}).state == {"n": 7}
        assert evaluator.run(program, state={"n": 7})[0].texts[1] == "cold engine 7"


def test_a_program_that_is_invalid_fails_or_is_not_stable_is_refused(small):
    with Evaluator(small) as evaluator:
        with pytest.raises(ProgramError, match="line 1: import of 'os' is not allowed"):
            evaluator.evaluate(type(FULL)("import os\n" + FULL.source), ["q1"])
        with pytest.raises(ProgramError, match="raised ZeroDivisionError at document a"):
            evaluator.evaluate(indexing("str(1 / 0)"), ["q1"])
        with pytest.raises(ProgramError, match="changes with ids, batch"):
            evaluator.evaluate(indexing("doc.text + str(hash(doc.text))"), ["q1"])


@pytest.mark.parametrize("exact", [False, True])
@pytest.mark.parametrize("part", [[], [0], [5, 2, 1], [0, 1, 2, 3, 4, 5]])
def test_an_evaluation_that_begins_with_a_part_of_the_corpus_ends_as_any_other(small, part, exact):
    program = indexing(
        "doc.text + ' ' + str(self.state['n'])",
        "def calibrate(self, docs): return {'n': len(list(docs))}",
    )
    with Evaluator(small, exact=exact) as evaluator:
        whole = evaluator.evaluate(program, small.queries)
        begun = evaluator.begin(program, small.queries, np.array(part, np.int64))
        assert np.flatnonzero(begun.done).tolist() == sorted(part)
        assert not begun.reading.finish(lambda _: None)[~begun.done].any()
        told = []
        parts = evaluator.evaluate(program, small.queries, begun=begun, progress=lambda *step: told.append(step))
    assert (parts.scores, parts.rankings, parts.chunks, parts.state) == (
        whole.scores,
        whole.rankings,
        whole.chunks,
        whole.state,
    )
    assert parts.digests.tolist() == whole.digests.tolist()
    assert [step[1:] for step in told if step[0] == "documents"] == [(6, 6)] * (len(part) < 6)


def test_progress_is_told_phase_by_phase(small):
    told = []
    with Evaluator(small) as evaluator:
        evaluator.evaluate(FULL, ["q1"], progress=lambda *step: told.append(step))
    assert ("documents", 6, 6) in told


@pytest.mark.parametrize("text", ["''", "'of the'", "doc.metadata.get('title', '')", "'?!'"])
def test_documents_whose_tokens_are_all_gone_are_unreachable(small, text):
    with Evaluator(small, limits=Limits(unreachable=1.0)) as evaluator:
        lost = evaluator.evaluate(indexing(text), ["q1"]).unreachable
    assert lost == (("b", "c", "d") if "title" in text else ("a", "b", "c", "d")), "e and f never had a token"


def test_more_unreachable_documents_than_allowed_are_an_error_that_names_the_first(small):
    with Evaluator(small, limits=Limits(unreachable=0.5)) as evaluator:
        assert len(evaluator.evaluate(indexing("doc.metadata.get('title', '')"), ["q1"]).unreachable) == 3
        with pytest.raises(
            ProgramError, match=r"leaves 4 of 6 documents without any token, the first is a; .*--max-unre"
        ):
            evaluator.evaluate(indexing("''"), ["q1"])


@pytest.mark.parametrize(("lost", "refused"), [(0, False), (1, False), (2, True)])
def test_one_percent_may_be_unreachable(lost, refused):
    documents = [Document(str(i), "word") for i in range(100)]
    reachable = documents_with_token(documents, "bm25s")
    chunks = ChunkTable(["word"] * (100 - lost), np.arange(lost, 100), [str(i) for i in range(100)])
    if refused:
        with pytest.raises(ProgramError, match="leaves 2 of 100"):
            check_reachable(reachable, chunks_with_token(chunks, "bm25s"), chunks.document_ids, Limits().unreachable)
    else:
        assert check_reachable(
            reachable, chunks_with_token(chunks, "bm25s"), chunks.document_ids, Limits().unreachable
        ) == tuple(map(str, range(lost)))


def test_a_title_counts_as_a_token_of_its_document():
    documents = [
        Document("a", "", {"title": "Wing"}),
        Document("b", "wing"),
        Document("c", "", {"title": None}),
        Document("d", ""),
    ]
    assert documents_with_token(documents, "bm25s").tolist() == [True, True, False, False]


def test_programs_are_found_by_name_file_and_frozen_folder(tmp_path):
    assert resolve_program("builtin:passages").program == builtin_program("passages")
    path = tmp_path / "mine.py"
    path.write_text(FULL.source)
    assert resolve_program(path).program.sha256 == resolve_program(str(path)).program.sha256 == FULL.sha256
    assert resolve_program(FULL).state is None
    settings = ComponentSettings(bm25=BM25Settings(k1=0.9), metadata_fields=("year",))
    frozen = write_frozen(tmp_path / "frozen", new_manifest(FULL, {"x": 1}, settings), FULL, {"x": 1})
    for given in (frozen, frozen.path, str(frozen.path)):
        found = resolve_program(given)
        assert (found.program.source, found.state, found.settings) == (FULL.source, {"x": 1}, settings)
    with pytest.raises(ProgramError, match="no built-in program"):
        resolve_program("builtin:nothing")
    with pytest.raises(ProgramError, match="cannot be read as a program"):
        resolve_program("nowhere.py")
    with pytest.raises(FrozenError, match="is no frozen component"):
        resolve_program(tmp_path)


def test_a_frozen_component_is_evaluated_with_its_own_state_and_settings(small, tmp_path):
    program = indexing("doc.text + ' ' + self.state['word']", "def calibrate(self, docs): return {'word': 'other'}")
    settings = ComponentSettings(bm25=BM25Settings(b=0.1))
    frozen = write_frozen(
        tmp_path / "frozen", new_manifest(program, {"word": "mine"}, settings), program, {"word": "mine"}
    )
    found = evaluate(small, frozen.path)
    assert found.state == {"word": "mine"}
    assert found.rankings == evaluate(small, frozen, bm25=BM25Settings(b=0.1)).rankings
    assert found.rankings != evaluate(small, frozen, bm25=BM25Settings()).rankings


def test_queries_are_chosen_by_the_split(small, tmp_path):
    everything = set(small.queries)
    validation, held_out = (set(choose_queries(small, part)) for part in ("validation", "held-out"))
    assert choose_queries(small, "all") == list(small.queries)
    assert (len(validation), len(held_out)) == (1, 2)
    assert validation | held_out == everything
    (tmp_path / "split.json").write_text('{"collection": "small", "validation": ["q3"], "held_out": ["q1"]}')
    for split in (tmp_path / "split.json", str(tmp_path)):
        assert choose_queries(small, "validation", split) == ("q3",)
    assert evaluate(small, queries="held-out", split=tmp_path / "split.json").scores.keys() == {"q1"}
    with pytest.raises(CollectionError, match="does not exist"):
        choose_queries(small, "validation", tmp_path / "nothing.json")


def test_metadata_fields_must_be_named_to_be_seen(tmp_path):
    (tmp_path / "corpus.jsonl").write_text('{"_id": "a", "text": "x", "metadata": {"place": "Paris"}}\n')
    (tmp_path / "queries.jsonl").write_text('{"_id": "q", "text": "paris"}\n')
    (tmp_path / "qrels.tsv").write_text("q\ta\t1\n")
    program = indexing("doc.text + ' ' + doc.metadata.get('place', 'nowhere')")
    assert evaluate(tmp_path, program).objective == 0.0
    assert evaluate(tmp_path, program, metadata_fields=["place"]).objective == 1.0


def readme_figures(folder) -> tuple[float, float]:
    """The baseline figures that the README of a collection states."""
    text = (folder / "README.md").read_text(encoding="utf-8")
    found = re.search(r"Recall@100 (\d\.\d+), nDCG@10 (\d\.\d+)", text)
    assert found
    return float(found[1]), float(found[2])


@pytest.mark.parametrize(
    "name",
    [
        "cranfield",
        "theoremqa",
        "npl_vaswani",
        *(
            pytest.param(name, marks=pytest.mark.full)
            for name in ("medquad_liveqa", "debian_blends", "mdn_webfeatures", "gcide_reverse_full")
        ),
    ],
)
def test_the_baseline_gives_the_figures_of_the_collection_s_readme(collection_folder, name):
    folder = collection_folder(name)
    recall, ndcg = readme_figures(folder)
    metrics = evaluate(folder).metrics
    assert metrics["recall@100"] == pytest.approx(recall, abs=0.002)
    assert metrics["ndcg@10"] == pytest.approx(ndcg, abs=0.002)


def test_a_diagnosis_uses_what_the_evaluation_read_and_says_the_same_as_one_anew(small):
    misses = []
    for exact in (False, True):
        with Evaluator(small, exact=exact) as evaluator:
            before = evaluator.evaluate(FULL, small.queries)
            for known in (None, before):
                diagnosis = evaluator.diagnose(FULL, small.queries, before=known)
                misses.append((diagnosis.misses(), {q: diagnosis.ranking(q).ordinals.tolist() for q in small.queries}))
            if exact:
                # It needs no program any more: this one would fail.
                broken = indexing("1 / 0")
                assert evaluator.diagnose(broken, small.queries, before=before).misses() == misses[0][0]
    assert misses[0][0]
    assert all(found == misses[0] for found in misses)
