"""The two agents find, write, mend and join programs, and are told what they need and no more."""

import json
from dataclasses import replace

import pytest

from autoindex_haystack.llm import Recorded
from autoindex_haystack.proposers import Candidate, Dropped, Outcome, SearchEnded
from autoindex_haystack.proposers.agents import AgentSettings, AgentsProposer
from autoindex_haystack.proposers.agents.preview import filled_prompts
from tests.agents_script import BOTH, MORE_STEMS, STEMS, SUMMARY, Agents, program
from tests.chat_server import Answer, ChatServer
from tests.proposers.agents.conftest import client


def text(request):
    return "\n".join(str(message["content"]) for message in request["messages"])


@pytest.fixture
def history(at_first):
    """A program that helped some queries, one that hurt some, and one that failed."""
    better, worse = list(at_first.collection.queries)[:4], list(at_first.collection.queries)[4:5]
    parents = (at_first.incumbent.sha256,)
    evaluation = replace(at_first.evaluation, metrics={**at_first.evaluation.metrics, "recall@100": 0.75})
    return (
        Outcome(
            1, Candidate(program(STEMS), "stems", "", parents), evaluation, "", 0.05, tuple(better), (), adopted=True
        ),
        Outcome(1, Candidate(program("'nothing'"), "no text", "", parents), evaluation, "", -0.4, (), tuple(worse)),
        Outcome(1, Candidate(program("1 / 0"), "division", "", parents), error="ZeroDivisionError: division by zero"),
    )


def test_a_search_adopts_what_the_agents_join_and_goes_on_from_there(search):
    found = search(Agents([[STEMS, MORE_STEMS], ["1 / 0"]], repaired="doc.text[10**9]"), iterations=2)
    assert found.result.adopted == 1
    assert (found.result.evaluated, found.result.failed) == (4, 1)
    assert (found.out / "frozen" / "program.py").read_text() == program(BOTH)
    journal = [json.loads(line) for line in (found.out / "journal.jsonl").read_text().splitlines()]
    ideas = [record["idea"] for record in journal if record["record"] == "candidate"]
    assert ideas[0] == "idea 0.0"
    assert ideas[2].startswith("together: idea 0.")
    # What failed was tried in the sandbox, and mended once with its traceback.
    assert "ZeroDivisionError: division by zero" in text(found.having("This does not work")[-1])
    assert any("failed its checks also after repair" in note for note in found.notes)
    second = text(found.having("ideas for the next programs")[1])
    assert "combination: together" in second
    assert BOTH in second
    # A query that was held out is in no request.
    split = json.loads((found.out / "split.json").read_text())
    sent = "\n".join(map(text, found.server.requests))
    assert [q for q in split["held_out"] if f"how filler{q[1:]} " in sent or f"- {q}:" in sent] == []
    assert found.result.llm["by_role"].keys() == {"analysis", "code"}
    assert found.result.llm["calls"] == len(found.server.requests)


def test_the_analysis_looks_with_tools_and_its_report_reaches_the_code_agent(propose):
    found = propose(Agents())
    results = [m["content"] for m in found.having("Report now")[0]["messages"] if m["role"] == "tool"]
    retrieved, matched, explained, read = results
    assert retrieved.startswith("1. ")
    assert "documents match" in matched
    assert "painting" in explained
    assert read.startswith("Characters 0 to ")
    for request in [*found.having("Give 2 ideas"), *found.having("Write the program")]:
        assert SUMMARY["patterns"][0]["pattern"] in text(request)
    schemas = [r["response_format"]["json_schema"]["name"] for r in found.server.requests if "response_format" in r]
    assert schemas == ["summary", "ideas"]
    assert [candidate.source for candidate in found.candidates] == [program(STEMS), program(MORE_STEMS)]


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        (f"```python\n{program('doc.text +')}```", "line 5: syntax error"),
        (f"```python\nimport os\n{program(STEMS)}```", "line 1: import of 'os' is not allowed"),
        ("I would rather not say.", "holds no program"),
        ("", "holds no program"),
        (Answer(f"```python\n{program(STEMS)[:200]}", finish="length"), "cut off"),
        (Answer(refusal="I will not."), "holds no program"),
    ],
)
def test_what_is_no_program_is_mended_with_the_exact_error(propose, answer, told):
    agents = Agents([[STEMS]], repaired=MORE_STEMS)

    def script(request, number):
        answered = agents(request, number)
        if "Write the program" in request["messages"][-1]["content"]:
            return answer if isinstance(answer, Answer) else Answer(answer)
        return answered

    found = propose(script)
    [mending] = found.having("This does not work")
    assert told in mending["messages"][-1]["content"]
    assert [candidate.source for candidate in found.candidates] == [program(MORE_STEMS)]


def test_the_error_of_a_trial_run_is_told_in_full(propose, later):
    trial = {program("1 / 0"): "Traceback: line 6, division by zero"}
    found = propose(Agents([["1 / 0"]]), later(trial=lambda source: trial.get(source, ""), iteration=1))
    assert "line 6, division by zero" in found.having("This does not work")[0]["messages"][-1]["content"]
    assert found.candidates[0].source == program(STEMS)


def test_nothing_is_tried_twice(propose, later, history):
    found = propose(Agents([[STEMS, "1 / 0"], [STEMS, "1 / 0"]]), later(*history))
    assert found.candidates == []
    assert "The model gave 2 programs that had been tried before." in found.notes


def test_the_history_tells_outcomes_queries_and_differences(propose, later, history):
    found = propose(Agents([[MORE_STEMS]]), later(*history))
    told = text(found.having("Give 2 ideas")[0])
    assert "adopted: gain +0.0500, Recall@100 0.7500" in told
    assert "not adopted: gain -0.4000" in told
    assert "failed: ZeroDivisionError: division by zero" in told
    assert "better: 4 queries: q" in told
    assert "“how filler" in told
    assert "+        return [Chunk" in told


def test_the_history_tells_why_what_gained_was_not_adopted_and_who_wrote_it(propose, later, history):
    dropped = Dropped(4_000, -0.0123, 0.001, 0.0, certain=False)
    tried = [
        replace(history[0], adopted=False, refused="it may be luck (p 0.2)"),
        replace(history[1], evaluation=None, gain=-0.0123, dropped=dropped),
        replace(history[2], candidate=replace(history[2].candidate, proposer="builtin")),
    ]
    told = text(propose(Agents([[MORE_STEMS]]), later(*tried)).having("Give 2 ideas")[0])
    assert "not adopted: gain +0.0500" in told
    assert "0 worse; refused, since it may be luck (p 0.2)" in told
    assert "not adopted: dropped after 4,000 documents, where its gain was estimated at -0.0123" in told
    assert "program by a proposer without a language model: division\n  failed: Zero" in told


@pytest.mark.parametrize(
    ("analyzer", "reads", "objective", "counts"),
    [
        ("bm25s", "there is no stemming", "recall@100", "Recall@100, then nDCG@10"),
        ("lucene-standard", "nothing is dropped", "ndcg@10", "nDCG@10, then Recall@100"),
        ("lucene-english", "Porter's rules", "weighted", "the mean of Recall@100 and nDCG@10"),
    ],
)
def test_both_agents_know_the_engine_what_counts_and_the_limits(at_first, analyzer, reads, objective, counts):
    view = replace(at_first.collection, analyzer=analyzer)
    state = replace(at_first, collection=view, objective=objective, max_growth=2.5, number=1)
    guarded = filled_prompts(state, AgentSettings(description="Verbs."))
    free = filled_prompts(replace(state, max_growth=None), AgentSettings(description="Verbs."))
    for name in ("analysis_system", "code_system"):
        assert reads in guarded[name]
        assert f"What counts is {counts}, in the end" in guarded[name]
        assert f"The {len(view.queries)} validation queries" in guarded[name]
        assert "at most 2.5 times the corpus" in guarded[name]
        assert "times the corpus" not in free[name]
    for limit in ("10,000 chunks and 50 times", "sample of 200,000", "at most 16 MB", "above 1 %", "unicodedata"):
        assert limit in guarded["code_system"]


def test_a_long_history_keeps_its_room_and_its_latest_programs(propose, later, history):
    long = [
        replace(history[0], iteration=i, candidate=replace(history[0].candidate, idea=f"idea {i} " * 20))
        for i in range(80)
    ]
    told = text(propose(Agents([[MORE_STEMS]]), later(*long, iteration=81)).having("Give 2 ideas")[0])
    tried = told.partition("# What was tried")[2].partition("# Your task")[0]
    assert len(tried) < 6_200
    assert "idea 79" in tried
    assert "earlier ones)" in tried


def test_cases_are_sampled_anew_each_iteration_and_the_same_for_a_seed(propose, later):
    def cases(**changes):
        found = propose(Agents([[STEMS]]), later(**changes))
        return found.server.requests[0]["messages"][1]["content"].partition("# Queries to look at")[2]

    assert cases(iteration=1) == cases(iteration=1)
    assert len({cases(iteration=1), cases(iteration=2), cases(iteration=1, seed=1)}) == 3


@pytest.mark.parametrize(
    ("condition", "analysis", "tried"),
    [("full", True, True), ("no-history", True, False), ("no-analysis", False, True)],
)
def test_conditions_withhold_what_the_paper_withholds(propose, later, history, condition, analysis, tried):
    found = propose(Agents([[MORE_STEMS]]), later(*history), condition=condition)
    told = text(found.having("Give 2 ideas")[0])
    assert any(request.get("tools") for request in found.server.requests) is analysis
    assert ("What an analyst found" in told) is analysis
    assert ("What was tried" in told) is tried
    assert "Validation: Recall@100" in told
    # Without an analysis there is aggregate feedback alone: no query that got better or worse.
    assert ("better: 4 queries" in told) is (analysis and tried)


def test_one_shot_is_one_program_from_the_description_alone(propose, later):
    def script(_request, _number):
        return Answer(f"```python\n{program(STEMS)}```")

    found = propose(script, condition="one-shot", description="Verbs, and fillers.")
    [request] = found.server.requests
    assert "Verbs, and fillers." in text(request)
    for withheld in ("Validation: Recall@100", "What was tried", "What an analyst found"):
        assert withheld not in text(request)
    assert len(found.candidates) == 1
    assert propose(script, later(iteration=2), condition="one-shot").server.requests == []


def test_an_analysis_without_looking_is_sent_back(propose):
    found = propose(Agents(looks=[[]]))
    assert len(found.having("You have made 0 tool calls")) == 2
    assert len(found.candidates) == 2


def test_the_analysis_has_no_more_turns_than_allowed_and_keeps_its_room(propose):
    looks = [[("read_document", {"doc_id": "paint-0"}), ("bm25_retrieve", {"query": f"paint {i}"})] for i in range(50)]
    found = propose(Agents(looks=looks), analysis_steps=9, context_tokens=2_000)
    turns = [request for request in found.server.requests if request.get("tools") and "tool_choice" not in request]
    assert len(turns) == 9
    last = found.having("Report now")[0]
    assert "(cut to save room" in text(last)
    assert len(text(last)) / 4 < 2_200
    # The latest result is whole.
    assert last["messages"][-2]["content"].startswith("1. ")


def test_a_model_that_talks_a_lot_keeps_its_room(propose):
    agents = Agents(looks=[[("bm25_retrieve", {"query": f"paint {i}"})] for i in range(8)])

    def script(request, number):
        answered = agents(request, number)
        if request.get("tools"):
            answered.text = "I wonder. " * 300
        return answered

    found = propose(script, analysis_steps=8, context_tokens=4_000)
    assert len(text(found.having("Report now")[0])) / 4 < 4_200


def test_a_model_that_gives_nothing_is_given_up_also_while_another_proposer_goes_on(at_first, history, tmp_path):
    """The outcomes of the others do not count for it."""
    others = [
        replace(outcome, iteration=i, candidate=replace(outcome.candidate, proposer="builtin"))
        for i in range(1, 5)
        for outcome in history
    ]
    with ChatServer([Answer("A fine day.")]) as server:
        proposer = AgentsProposer(Recorded(client(server), tmp_path / "exchanges.jsonl"))
        for iteration in (1, 3):
            known = tuple(outcome for outcome in others if outcome.iteration < iteration)
            assert proposer.propose(replace(at_first, iteration=iteration, history=known)) == []
        with pytest.raises(SearchEnded, match="no new program in 2 iterations"):
            proposer.propose(replace(at_first, iteration=5, history=tuple(others)))


def test_messages_are_shortened_for_a_model_with_a_small_context(propose, later, history):
    agents = Agents([[MORE_STEMS]])

    def script(request, number):
        if len(text(request)) > 9_500:
            return Answer(
                "This model's maximum context length is 2300 tokens", status=400, code="context_length_exceeded"
            )
        return agents(request, number)

    found = propose(script, later(*history * 9))
    assert len(found.candidates) == 1


@pytest.mark.parametrize(
    ("call", "told"),
    [
        (("no_such_tool", {}), "there is no tool"),
        (("bm25_retrieve", "not JSON"), "Error:"),
        (("bm25_retrieve", {"query": "paint", "top_k": 99}), "top_k"),
        (("bm25_retrieve", {"query": "zzzz"}), "Nothing is found"),
        (("bm25_retrieve", '{"query": "paint", "top_k": "2",}'), "1. "),
        (("read_document", {"doc_id": "missing"}), "holds no document"),
        (("read_document", {"doc_id": "paint-0", "offset": 10**9}), "Characters"),
        (("grep_corpus", {"pattern": "("}), "no regular expression"),
        (("grep_corpus", {"pattern": "paint", "max_results": 1}), "documents match"),
        (("grep_corpus", {"pattern": r"(?:(?:\w| )+)+[Q!]$"}), "takes too long"),
        (("explain_miss", {"query_id": "missing", "doc_id": "paint-0"}), "no validation query"),
        (("explain_miss", {"query_id": "q1"}), "doc_id"),
    ],
)
def test_a_tool_answers_whatever_it_is_asked(propose, monkeypatch, call, told):
    monkeypatch.setattr("autoindex_haystack.proposers.agents.tools.SEARCH_SECONDS", 0.3)
    found = propose(Agents([[STEMS]], looks=[[call] * 4]))
    result = next(m for r in found.server.requests for m in r["messages"] if m["role"] == "tool")["content"]
    assert told in result
    assert len(result) < 4_000


def test_the_analysis_goes_on_with_less_when_the_model_has_a_small_context(propose):
    agents = Agents(looks=[[("grep_corpus", {"pattern": f"filler{i} ", "max_results": 20})] for i in range(5)])

    def script(request, number):
        if request.get("tools") and len(text(request)) > 9_000:
            return Answer("the request exceeds the available context size", status=400)
        return agents(request, number)

    found = propose(script)
    assert any(request.get("tools") and len(text(request)) > 9_000 for request in found.server.requests)
    assert found.having("Report now")
    assert found.notes == []
