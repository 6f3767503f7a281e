"""What a run writes down of its queries agrees with rankings made from scratch."""

import pytest

from autoindex_haystack import optimize
from autoindex_haystack.collection import load_split
from autoindex_haystack.errors import RunError
from autoindex_haystack.evaluation import evaluate
from autoindex_haystack.optimizer import SearchSettings
from autoindex_haystack.runs import read_comparison


@pytest.fixture(scope="module")
def run(collection, tmp_path_factory):
    out = tmp_path_factory.mktemp("compared") / "run"
    optimize(collection, out, settings=SearchSettings(iterations=1, candidates=3))
    return out


@pytest.mark.parametrize("queries", ["validation", "held-out"])
def test_each_query_has_the_ranks_and_figures_of_both_programs(collection, run, queries):
    split = load_split(run, collection)
    how = {"queries": queries, "split": split}
    before = evaluate(collection, "builtin:full_document", **how)
    after = evaluate(collection, str(run / "frozen"), **how)
    name = queries.replace("-", "_")
    compared = getattr(read_comparison(run), name)
    assert [query.query_id for query in compared] == list(getattr(split, name))
    for query in compared:
        assert query.text == collection.queries[query.query_id]
        assert query.relevant == len(collection.qrels[query.query_id])
        assert query.before == pytest.approx(before.scores[query.query_id])
        assert query.after == pytest.approx(after.scores[query.query_id])
        for ranking, side in ((before.rankings, "before"), (after.rankings, "after")):
            found = {doc: rank for rank, (doc, _) in enumerate(ranking[query.query_id], 1)}
            expected = {doc: found[doc] for doc in collection.qrels[query.query_id] if doc in found}
            assert {d.doc_id: getattr(d, side) for d in query.documents if getattr(d, side)} == expected
    moved = [d for query in compared for d in query.documents if (d.before is None) != (d.after is None)]
    assert moved
    texts = {document.doc_id: document.text for document in collection.documents}
    assert all(d.beginning == texts[d.doc_id][:240] for d in moved)


def test_a_run_without_a_comparison_has_none_and_a_damaged_one_is_an_error(run, tmp_path):
    assert read_comparison(tmp_path) is None
    (tmp_path / "comparison.json").write_bytes((run / "comparison.json").read_bytes()[:-20])
    with pytest.raises(RunError, match=r"comparison\.json cannot be read"):
        read_comparison(tmp_path)
