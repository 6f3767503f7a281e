"""Fingerprints: the same documents do not drift, other ones do, and every property is counted as it says."""

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from autoindex_haystack.cli.main import main
from autoindex_haystack.errors import FrozenError
from autoindex_haystack.frozen.fingerprint import compare_fingerprints, read_fingerprint, take_fingerprint
from autoindex_haystack.frozen.freeze import freeze_program
from autoindex_haystack.program import Document, Program
from autoindex_haystack.proposers.builtin.recipe import Recipe, Step
from autoindex_haystack.proposers.builtin.render import render
from autoindex_haystack.proposers.builtin.variants import without_each_step

TWICE = Program("""
from autoindex_haystack.program import BasePreprocessor, Chunk

class Preprocessor(BasePreprocessor):
    def preprocess(self, docs):
        chunks = []
        for doc in docs:
            texts = [doc.text, "again " + doc.text] if "wing" in doc.text else ["" if "lost" in doc.text else doc.text]
            chunks += [Chunk(str(n), doc.doc_id, text) for n, text in enumerate(texts)]
        return chunks
""")


def documents(count, words, length, seed=0, **metadata):
    random = np.random.default_rng(seed)
    texts = [" ".join(random.choice(words, length)) for _ in range(count)]
    return [Document(f"d{i}", text, metadata) for i, text in enumerate(texts)]


def by_name(drifts):
    return {drift.name: drift for drift in drifts}


def test_every_share_is_counted():
    corpus = [Document("a", "wing one"), Document("b", "one two"), Document("c", "one lost"), Document("d", "one of")]
    found = take_fingerprint(TWICE, {}, corpus)
    assert found.documents == 4
    assert found.shares["documents that the program changes"] == 0.5
    assert found.shares["documents that cannot be found"] == 0.25
    # Only "one" is in two other documents, so that it is known in each; three of the seven words are not.
    assert found.shares["unknown words"] == pytest.approx(3 / 7)
    assert found.distributions["chunks of a document"][:3] == [0, 3, 1]
    assert found.distributions["words in a chunk"][:3] == [1, 1, 3]
    now = take_fingerprint(TWICE, {}, [Document("x", "one new word here")], known=found)
    assert now.shares["unknown words"] == 0.75


def test_each_step_is_counted_by_the_documents_that_it_changes():
    program = Program(render(Recipe((Step.of("title", times=2),))))
    variants = without_each_step(program)
    assert len(variants) == 1
    corpus = [Document("a", "text", {"title": "Titled"}), Document("b", "text"), Document("c", "more text")]
    found = take_fingerprint(program, {}, corpus, variants=variants)
    assert list(found.steps.values()) == [pytest.approx(1 / 3)]
    [(name, _)] = found.steps.items()
    titled = [Document(f"t{i}", "text", {"title": "T"}) for i in range(300)]
    many = take_fingerprint(program, {}, [Document(f"n{i}", "text") for i in range(300)], variants=variants)
    drift = by_name(compare_fingerprints(many, take_fingerprint(program, {}, titled, known=many), 0.15))
    assert drift[f"step: {name}"].drifted
    assert drift[f"step: {name}"].difference == 1.0


def test_a_program_that_nobody_composed_has_no_steps():
    assert without_each_step(TWICE) == {}


def test_documents_of_the_same_kind_do_not_drift_and_others_do():
    words = [f"word{i}" for i in range(300)]
    learned = take_fingerprint(TWICE, {}, documents(800, words, 20))
    same = take_fingerprint(TWICE, {}, documents(300, words, 20, seed=1), known=learned)
    assert not any(drift.drifted for drift in compare_fingerprints(learned, same, 0.0))
    other = take_fingerprint(TWICE, {}, documents(300, ["wing", *(f"new{i}" for i in range(200))], 80), known=learned)
    drifted = {drift.name for drift in compare_fingerprints(learned, other, 0.15) if drift.drifted}
    assert drifted == {
        "documents that the program changes",
        "unknown words",
        "words in a document",
        "words in a chunk",
        "chunks of a document",
    }


def test_the_documents_that_were_learned_from_do_not_drift():
    corpus = [Document(f"d{i}", f"wing word{i} other{i // 2} third{i // 3}") for i in range(60)]
    learned = take_fingerprint(TWICE, {}, corpus)
    found = compare_fingerprints(learned, take_fingerprint(TWICE, {}, corpus, known=learned), 0.0)
    assert learned.shares["unknown words"] == 0.5
    assert [drift.name for drift in found if drift.difference] == []


def test_few_documents_cannot_show_a_drift_that_chance_explains():
    learned = take_fingerprint(TWICE, {}, documents(800, ["wing", "a1", "a2", "a3"], 2))
    now = take_fingerprint(TWICE, {}, [Document("x", "a1 a2")], known=learned)
    found = by_name(compare_fingerprints(learned, now, 0.1))["documents that the program changes"]
    assert found.difference > 0.1
    assert not found.drifted


@settings(max_examples=30, deadline=None)
@given(st.lists(st.integers(0, 40), min_size=1, max_size=60), st.lists(st.integers(0, 40), min_size=1, max_size=60))
def test_differences_of_distributions_are_between_0_and_1_and_symmetric(one, other):
    def fingerprint(lengths):
        empty = {"program_sha256": "p", "documents": len(lengths), "shares": {}}
        classes = np.bincount(np.ceil(np.log2(np.array(lengths) + 1)).astype(int), minlength=24)
        return learned.model_copy(update=empty | {"distributions": {"lengths": classes.tolist()}})

    learned = take_fingerprint(TWICE, {}, [])
    [there] = compare_fingerprints(fingerprint(one), fingerprint(other), 0.1)
    [back] = compare_fingerprints(fingerprint(other), fingerprint(one), 0.1)
    assert 0 <= there.difference <= 1
    assert there.difference == pytest.approx(back.difference)
    [none] = compare_fingerprints(fingerprint(one), fingerprint(one), 0.0)
    assert none.difference == 0
    assert not none.drifted


@pytest.fixture(scope="module")
def frozen(tmp_path_factory):
    folder = tmp_path_factory.mktemp("learned") / "frozen"
    freeze_program(TWICE, documents(400, [f"word{i}" for i in range(100)], 20), folder)
    return folder


def corpus(path, docs):
    path.write_text("".join(json.dumps({"_id": d.doc_id, "title": "", "text": d.text}) + "\n" for d in docs))
    return path


def test_the_command_tells_what_drifted_by_its_exit_code(frozen, tmp_path, capsys):
    same = corpus(tmp_path / "same.jsonl", documents(300, [f"word{i}" for i in range(100)], 20, seed=2))
    other = corpus(tmp_path / "other.jsonl", documents(300, ["wing", "new"], 20))
    assert main(["drift", str(frozen), str(same), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["drifted"] == []
    assert told["documents"] == {"learned": 400, "now": 300}
    assert main(["drift", str(frozen), str(other)]) == 1
    assert "drifted: " in (printed := capsys.readouterr()).out
    assert printed.err == ""
    assert main(["drift", str(frozen), str(other), "--threshold", "1"]) == 0
    assert capsys.readouterr().out.splitlines()[-1] == "nothing has drifted"
    few = corpus(tmp_path / "few.jsonl", documents(3, [f"word{i}" for i in range(100)], 20, seed=3))
    assert main(["drift", str(frozen), str(few)]) == 0
    assert "nothing has drifted; in so few documents differences up to " in capsys.readouterr().out


def test_a_component_without_a_fingerprint_says_what_to_do(frozen, tmp_path, capsys):
    (frozen / "fingerprint.json").rename(tmp_path / "aside.json")
    try:
        assert main(["drift", str(frozen), str(tmp_path)]) == 1
        assert "has no fingerprint.json" in capsys.readouterr().err
        (frozen / "fingerprint.json").write_text("{}")
        with pytest.raises(FrozenError, match="cannot be read"):
            read_fingerprint(frozen)
    finally:
        (tmp_path / "aside.json").rename(frozen / "fingerprint.json")


def test_the_fingerprint_is_no_part_of_the_components_hash(frozen, capsys):
    kept = (frozen / "fingerprint.json").read_bytes()
    try:
        (frozen / "fingerprint.json").unlink()
        assert main(["verify", str(frozen)]) == 0
    finally:
        (frozen / "fingerprint.json").write_bytes(kept)
