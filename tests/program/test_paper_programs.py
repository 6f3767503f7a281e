"""The two programs of the paper run unmodified and give the figures of an independent script."""

import re
from pathlib import Path

import pytest

from autoindex_haystack.evaluation import evaluate
from autoindex_haystack.program import read_program

CASES = Path(__file__).resolve().parents[3] / "shared" / "cases"
PROGRAMS = ("stack_exchange", "tip_of_tongue")


@pytest.fixture(scope="module")
def cases() -> Path:
    if not (CASES / "paper_programs").is_dir():
        pytest.skip(f"no programs of the paper at {CASES}")
    return CASES


def figures(cases: Path, collection: str, program: str) -> tuple[int, float, float]:
    """The reference figures in the README of the cases: chunks, Recall@100, nDCG@10."""
    row = rf"^\| {collection} \| {program} \| (\d+) \| ([\d.]+) \| ([\d.]+) \|$"
    found = re.search(row, (cases / "README.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert found
    return int(found[1]), float(found[2]), float(found[3])


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_of_the_paper_passes_the_static_check(cases, name):
    read_program(cases / "paper_programs" / f"{name}.py").check()


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize(
    "collection",
    [
        "cranfield",
        "theoremqa",
        "npl_vaswani",
        pytest.param("mdn_webfeatures", marks=pytest.mark.full),
        pytest.param("medquad_liveqa", marks=pytest.mark.full),
    ],
)
def test_a_program_of_the_paper_gives_its_reference_figures(cases, collection_folder, collection, name):
    evaluation = evaluate(collection_folder(collection), cases / "paper_programs" / f"{name}.py")
    chunks, recall, ndcg = figures(cases, collection, name)
    assert evaluation.chunks == chunks
    assert evaluation.metrics["recall@100"] == pytest.approx(recall, abs=0.001)
    assert evaluation.metrics["ndcg@10"] == pytest.approx(ndcg, abs=0.001)
