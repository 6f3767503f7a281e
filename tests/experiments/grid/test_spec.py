from pathlib import Path

import pytest

from autoindex_haystack.errors import RunError
from autoindex_haystack.experiments.grid import cells_of, read_spec, run_experiment
from autoindex_haystack.retrieval import BM25Settings

GOOD = """
seeds = [0, 1]
split_seeds = [0, 1, 2]
[[collections]]
path = "cranfield"
[[collections]]
path = "deep/npl"
name = "NPL"
split = "npl.json"
[[conditions]]
name = "full document"
program = "builtin:full_document"
[[conditions]]
name = "mine"
program = "mine.py"
[[conditions]]
name = "learned"
search = { iterations = [5, 10], candidates = 4 }
"""


@pytest.fixture
def read(tmp_path):
    def write_and_read(text):
        (tmp_path / "grid.toml").write_text(text)
        (tmp_path / "mine.py").touch()
        return read_spec(tmp_path / "grid.toml")

    return write_and_read


def test_paths_are_relative_to_the_file_and_names_have_defaults(read, tmp_path):
    spec = read(GOOD)
    assert spec.name == "grid"
    assert [(c.label, c.path) for c in spec.collections] == [
        ("cranfield", tmp_path / "cranfield"),
        ("NPL", tmp_path / "deep" / "npl"),
    ]
    assert spec.collections[1].split == tmp_path / "npl.json"
    assert [c.program for c in spec.conditions[:2]] == ["builtin:full_document", str(tmp_path / "mine.py")]


def test_lists_in_a_condition_stand_for_all_their_combinations(read):
    spec = read(GOOD)
    assert [(c.name, c.search) for c in spec.conditions[2:]] == [
        ("learned/5", {"iterations": 5, "candidates": 4}),
        ("learned/10", {"iterations": 10, "candidates": 4}),
    ]


def test_cells_are_all_combinations_and_fixed_programs_have_no_seed(read):
    cells = list(cells_of(read(GOOD)))
    # Two fixed programs and two searches with two seeds, on three splits and on one given split.
    assert len(cells) == (2 + 2 * 2) * 3 + (2 + 2 * 2)
    assert len({cell.key for cell in cells}) == len(cells)
    assert {cell.seed for cell in cells if cell.condition.program} == {None}


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("seeds = [", "is no TOML"),
        ("seeds = [0]", "collections is missing"),
        (GOOD.replace("[0, 1]", "[]", 1), "seeds must name one at least, but is"),
        (GOOD + 'more = "x"', "condition 'learned/5', more is no key here; there are name, program, proposer"),
        (
            GOOD.replace("candidates = 4", "candidate = 4"),
            "'candidate' is no setting of a search; there are iterations",
        ),
        (GOOD + 'proposer = "agents"', "'learned/5' asks a language model; name it with model"),
        (GOOD.replace("candidates = 4", 'candidates = "four"'), "candidates must be a whole number of at least 1"),
        (GOOD.replace("candidates = 4", "candidates = 0"), "candidates must be a whole number of at least 1, but is 0"),
        (GOOD.replace("candidates = 4", 'acceptance = "papper"'), "acceptance must be one of guarded, paper"),
        (GOOD.replace("candidates = 4", 'objective = "mrr"'), "objective must be one of "),
        (GOOD.replace("candidates = 4", "max_growth = -1"), "max_growth must be a number greater than 0"),
        (GOOD.replace("[5, 10]", "[]"), "'learned': the list of iterations is empty"),
        (GOOD + 'model = "m"', "has the built-in proposer, so model"),
        (GOOD.replace("mine.py", "missing.py"), r"missing\.py does not exist"),
        (GOOD.replace("builtin:full_document", "builtin:nope"), "there is no builtin:nope; there are builtin:"),
        (GOOD.replace('name = "learned"', ""), "condition 3, name is missing"),
        (
            GOOD.replace('name = "NPL"', 'nme = "NPL"'),
            "collection 'deep/npl', nme is no key here; there are path, name, ",
        ),
        (GOOD.replace('path = "cranfield"', "path = 3"), "collection 1, path must be a path, but is 3"),
        (GOOD + 'proposer = "agent"', "proposer must be 'builtin', 'agents' or 'both', but is 'agent'"),
        (
            GOOD + 'proposer = "agents"\nmodel = "m"\nagents = { condition = "no" }',
            "'learned/5', agents.condition must be 'full', 'no-history', 'no-analysis' or 'one-shot', but is 'no'",
        ),
        (
            GOOD + 'proposer = "agents"\nmodel = "m"\nagents = { steps = 2 }',
            r"agents\.steps is no key here; there are condition, analysis_steps",
        ),
        (GOOD.replace("{ iterations = [5, 10], candidates = 4 }", "3"), "'learned', search must be a table"),
        ('backend = "solr"' + GOOD, "backend must be one of bm25s, dense, hybrid, lucene, but is 'solr'"),
        ('backend = "hybrid:x"' + GOOD, "'hybrid:x' goes with programs alone, but condition 'learned/5' is a search"),
        ("bm25 = { k = 1 }" + GOOD, r"bm25\.k is no key here; there are k1, b, analyzer"),
        ('bm25 = { analyzer = "x" }' + GOOD, r"bm25\.analyzer: unknown analyzer 'x'; known: bm25s"),
        (GOOD.replace("[0, 1]", "[1.5]", 1), r"seeds\.0 must be a whole number, but is 1\.5"),
        (GOOD.replace("[0, 1]", "[0, 0]", 1), r"a seed stands twice in \[0, 0\]"),
        (GOOD.replace("seeds = [0, 1]", "seed = [0, 1]", 1), "seed is no key here; there are name, collections"),
        (GOOD.replace('"NPL"', '"cranfield"'), "the name 'cranfield' stands twice"),
        (GOOD.replace('program = "mine.py"', 'program = "mine.py"\nmodel = "m"'), "'mine' has a program, so it has no"),
    ],
)
def test_a_wrong_entry_is_named(read, text, named):
    with pytest.raises(RunError, match=named):
        read(text)


def test_a_missing_collection_or_split_is_named_before_any_cell_is_run(read, tmp_path):
    spec = read(GOOD)
    with pytest.raises(RunError, match=r"collection 'cranfield': path .*cranfield is no folder"):
        run_experiment(spec, tmp_path / "out")
    for collection in spec.collections:
        collection.path.mkdir(parents=True)
    with pytest.raises(RunError, match=r"collection 'NPL': split .*npl\.json does not exist"):
        run_experiment(spec, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(RunError, match=r"nowhere\.toml cannot be read"):
        read_spec(tmp_path / "nowhere.toml")


def test_the_table_of_the_readme_is_of_searches_with_the_defaults(monkeypatch):
    checkout = Path(__file__).resolve().parents[3]
    monkeypatch.syspath_prepend(checkout / "benchmarks")
    from commands import COLLECTIONS

    spec = read_spec(checkout / "examples" / "readme_table.toml")
    assert tuple(collection.label for collection in spec.collections) == COLLECTIONS
    [learned] = [condition for condition in spec.conditions if not condition.program]
    assert (learned.proposer, learned.search, spec.backend, spec.bm25) == ("builtin", {}, "bm25s", BM25Settings())


@pytest.mark.parametrize("name", ["readme_table", "paper_grid"])
def test_the_examples_are_experiments(name):
    spec = read_spec(Path(__file__).resolve().parents[3] / "examples" / f"{name}.toml")
    assert len(list(cells_of(spec))) == {"readme_table": 7 * 3 * 3, "paper_grid": 8 * (2 + 3 * 3)}[name]
