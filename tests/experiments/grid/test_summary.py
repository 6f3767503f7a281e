import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from autoindex_haystack.experiments.grid import CellResult, Condition, ExperimentSpec, summarize
from autoindex_haystack.experiments.grid.spec import CollectionSpec
from autoindex_haystack.experiments.grid.summary import holm
from autoindex_haystack.report import as_csv, as_latex, as_markdown

SPEC = ExperimentSpec(
    name="Made up",
    collections=(CollectionSpec(path="a_1"), CollectionSpec(path="b")),
    conditions=(
        Condition(name="whole", program="builtin:full_document"),
        Condition(name="parts", program="builtin:passages"),
        Condition(name="learned"),
    ),
    seeds=(0, 1),
)


def cell(collection, condition, values, seed=None, split_seed=0):
    scores = {f"q{i}": {"recall@100": value, "ndcg@10": value / 2} for i, value in enumerate(values)}
    return CellResult(
        collection=collection,
        condition=condition,
        split_seed=split_seed,
        seed=seed,
        settings={},
        validation={},
        scores=scores,
        seconds=10.0 if seed is None else 20.0 + seed,
        tokens=0 if seed is None else 1000,
        program_sha256="0" * 64,
    )


RESULTS = [
    cell("a_1", "whole", [0.2, 0.4, 0.6, 0.4]),
    cell("a_1", "parts", [0.2, 0.2, 0.2, 0.2]),
    cell("a_1", "learned", [0.4, 0.6, 0.8, 0.6], seed=0),
    cell("a_1", "learned", [0.3, 0.5, 0.8, 0.4], seed=1),
    cell("b", "whole", [0.5, 0.5, 0.5, 0.5]),
    cell("b", "parts", [0.5, 0.5, 0.5, 0.5]),
    cell("b", "learned", [0.5, 0.5, 0.5, 0.5], seed=0),
    cell("b", "learned", [0.5, 0.5, 0.5, 0.5], seed=1),
]


def test_means_spreads_and_gains_are_those_of_the_runs():
    summary = summarize(SPEC, RESULTS)
    learned = summary.tables["recall@100"][2]
    figure = learned.figures["a_1"]
    assert figure.mean == pytest.approx(0.55)
    assert figure.std == pytest.approx(0.1 / math.sqrt(2))
    assert figure.gains == {"full_document": pytest.approx(0.55 / 0.4 - 1), "passages": pytest.approx(0.55 / 0.2 - 1)}
    assert learned.macro == pytest.approx((0.55 + 0.5) / 2)
    assert learned.gains["full_document"] == pytest.approx((0.55 / 0.4 - 1) / 2)
    assert (learned.runs, learned.tokens, learned.seconds) == (4, 1000, 20.5)


def test_a_gain_is_told_against_the_same_splits():
    results = [
        *RESULTS,
        *(
            r.model_copy(update={"split_seed": 1, "scores": cell("a_1", "x", [0.8] * 4).scores})
            for r in RESULTS
            if r.collection == "a_1" and r.condition != "learned"
        ),
    ]
    figure = summarize(SPEC, results).tables["recall@100"][2].figures["a_1"]
    assert figure.gains["full_document"] == pytest.approx(0.55 / 0.4 - 1)


def test_tests_are_paired_over_queries_and_corrected():
    figures = summarize(SPEC, RESULTS).tables["recall@100"][2].figures
    plain = stats.ttest_rel([0.35, 0.55, 0.8, 0.5], [0.2, 0.4, 0.6, 0.4]).pvalue
    # Of the four tests this one has the smallest p-value.
    assert figures["a_1"].p_value == pytest.approx(min(1.0, 4 * plain))
    assert figures["b"].p_value == 1.0
    assert summarize(SPEC, RESULTS).tables["recall@100"][0].figures["a_1"].p_value is None


@given(st.dictionaries(st.integers(), st.floats(0, 1), max_size=20))
def test_corrected_p_values_keep_the_order_and_are_never_smaller(p_values):
    corrected = holm(p_values)
    ordered = sorted(p_values, key=lambda key: (p_values[key], corrected[key]))
    assert all(p_values[key] <= corrected[key] <= 1 for key in p_values)
    assert sorted(corrected.values()) == [corrected[key] for key in ordered]


def test_holms_method_rejects_what_his_procedure_rejects():
    assert holm({"a": 0.01, "b": 0.04, "c": 0.03}) == {
        "a": pytest.approx(0.03),
        "c": pytest.approx(0.06),
        "b": pytest.approx(0.06),
    }


def test_tables_hold_every_figure():
    summary = summarize(SPEC, RESULTS)
    markdown = as_markdown(summary)
    assert "| learned | 0.5500 ± 0.0707* | 0.5000 ± 0.0000 | 0.5250 | 4 | 1,000 | 20 |" in markdown
    assert "| Δ full_document | +37.5% | +0.0% | +18.8% |  |  |  |" in markdown
    latex = as_latex(summary)
    assert r"learned & 0.5500 $\pm$ 0.0707$^*$ & 0.5000 $\pm$ 0.0000 & 0.5250" in latex
    assert r"a\_1" in latex
    assert r"$\Delta$ full\_document & +37.5\% & +0.0\%" in latex
    lines = as_csv(summary).splitlines()
    assert len(lines) == 1 + 2 * 3 * 2
    assert lines[0].startswith("metric,condition,collection,mean,std,gain_full_document,gain_passages,p_value")
