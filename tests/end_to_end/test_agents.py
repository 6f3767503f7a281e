"""`optimize --proposer agents` on a scripted endpoint: limits, troubles, record and replay, and no key anywhere."""

import json
import re
import shlex
import shutil
import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest

from autoindex_haystack.llm import openai_chat
from autoindex_haystack.proposers.builtin.embedding import embedded
from autoindex_haystack.runs import read_journal
from tests.agents_script import MORE_STEMS, STEMS, Agents, program
from tests.chat_server import Answer, ChatServer
from tests.optimizer.conftest import folder

__all__ = ["folder"]

KEY = "canary-key-0123456789"

WITHOUT_NETWORK = """
import os, socket, sys

def refuse(event, arguments):
    if event in ("socket.connect", "socket.getaddrinfo", "socket.bind", "socket.sendto", "socket.sendmsg"):
        sys.exit("no network here")

sys.addaudithook(refuse)
if "REACH" in os.environ:
    socket.create_connection(("127.0.0.1", 9))
"""


@pytest.fixture
def ask(here, folder, tmp_path, monkeypatch):
    """Run `optimize` on a server."""
    monkeypatch.setenv("OPENAI_API_KEY", KEY)

    def run(server, *arguments, run=here):
        return run(
            "optimize",
            folder,
            "--out",
            tmp_path / "run",
            "--proposer",
            "agents",
            "--model",
            "a-model",
            "--base-url",
            server.url,
            *("--candidates", 2, "--acceptance", "paper"),
            *arguments,
        )

    return run


def files(folder):
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_a_run_is_repeated_without_a_network_with_the_same_programs_figures_and_decisions(
    ask, autoindex, here, folder, tmp_path
):
    """The endpoint repeats the key where it can; it is in no file, program or line of output."""
    agents = Agents([[STEMS, MORE_STEMS], ["1 / 0", f"doc.text + ' {KEY}'"]])

    def script(request, number):
        answer = agents(request, number)
        answer.text += f"\n(asked with {KEY})"
        return answer

    with ChatServer(script) as server:
        first = ask(server, "--iterations", 2, "--json", run=partial(autoindex, OPENAI_API_KEY=KEY)).succeeded()
        calls = len(server.requests)
        assert all(headers["authorization"] == f"Bearer {KEY}" for headers in server.headers)
    made = json.loads(first.out)
    assert made["adopted"] >= 1
    assert made["llm"]["calls"] == calls
    assert "Expect about" in first.err
    for content in [*files(tmp_path / "run").values(), first.out.encode(), first.err.encode()]:
        assert KEY.encode() not in content
    (tmp_path / "alone").mkdir()
    (tmp_path / "alone" / "sitecustomize.py").write_text(WITHOUT_NETWORK)
    command = ("optimize", folder, "--out", tmp_path / "again", "--replay", tmp_path / "run", "--json")
    again = autoindex(*command, PYTHONPATH=f"{tmp_path / 'alone'}").succeeded()
    assert "no network here" in autoindex("--version", PYTHONPATH=f"{tmp_path / 'alone'}", REACH="yes").err
    assert not [content for content in files(tmp_path).values() if KEY.encode() in content]
    repeated = json.loads(again.out)
    for name in (
        "baseline",
        "learned",
        "differences",
        "adopted",
        "tried",
        "failed",
        "program_sha256",
        "component_sha256",
    ):
        assert repeated[name] == made[name]
    assert repeated["llm"]["tokens"] == made["llm"]["tokens"]
    assert repeated["notes"] == made["notes"]
    programs = [sorted(p.name for p in (tmp_path / run / "programs").iterdir()) for run in ("run", "again")]
    assert programs[0] == programs[1]

    def decisions(run):
        return [record for record in read_journal(tmp_path / run) if record["record"] in ("candidate", "decision")]

    assert decisions("run") == decisions("again")
    # What was repeated can be repeated; what cannot be is refused with a sentence.
    lines = [(tmp_path / run / "exchanges.jsonl").read_text().splitlines() for run in ("run", "again")]
    assert len(lines[0]) == len(lines[1])
    there = ("--out", tmp_path / "x", "--replay", tmp_path / "run")
    here("optimize", folder, *there, "--seed", 1).failed(2, "--seed")
    here("optimize", folder, *there[:3], folder).failed(2, "holds no run")
    here("optimize", Path(__file__).parent / "kitchen", *there).failed(2, "another collection")
    (tmp_path / "run" / "exchanges.jsonl").write_text(f"{lines[0][-1]}\n")
    assert "does not hold" in here("optimize", folder, *there).err
    assert not (tmp_path / "x").exists()


@pytest.mark.parametrize(
    "nonsense",
    [
        Answer("As I was going to St Ives, I met a man with seven wives."),
        Answer(""),
        Answer(refusal="I cannot help with documents."),
        Answer("[[[{{{", calls=[("", "{"), ("rm -rf", "/")]),
        Answer('{"ideas": [{"idea": {"idea": []}}], "patterns": 7}'),
        Answer(raw="<html>Welcome!</html>"),
    ],
    ids=["prose", "nothing", "refusals", "broken calls", "broken json", "no completions"],
)
def test_nonsense_for_a_whole_run_ends_with_the_baseline_and_a_clear_report(ask, nonsense, tmp_path, monkeypatch):
    monkeypatch.setattr(openai_chat, "LONGEST_WAIT", 0.01)
    with ChatServer([nonsense]) as server:
        done = ask(server, "--iterations", 4, "--json").succeeded()
        assert len(server.requests) < 60
    result = json.loads(done.out)
    assert result["adopted"] == 0
    assert result["learned"] == result["baseline"]
    reason = "is no chat completion (6 tries)" if nonsense.raw else "gave no new program in 2 iterations"
    assert reason in " ".join(result["notes"])
    assert (tmp_path / "run" / "frozen" / "program.py").is_file()


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["--max-tokens-total", 9_000], "--max-tokens-total 9,000"),
        (["--max-usd", "0.009", "--prices", "prices.yaml"], "--max-usd 0.009"),
        (["--max-minutes", "0.0001"], "--max-minutes 0.0001"),
    ],
)
def test_a_limit_ends_the_run_with_the_best_program_so_far(ask, tmp_path, monkeypatch, arguments, reason):
    (tmp_path / "prices.yaml").write_text("a-model: {input: 1, output: 1}\n")
    arguments = [tmp_path / "prices.yaml" if a == "prices.yaml" else a for a in arguments]
    with ChatServer(Agents([[STEMS], [MORE_STEMS]])) as server:
        done = ask(server, "--iterations", 9, *arguments, "--json").succeeded()
    result = json.loads(done.out)
    assert any(reason in note and "ended in iteration" in note for note in result["notes"])
    assert result["llm"]["tokens"] <= 9_000


def test_an_endpoint_that_breaks_down_keeps_what_was_learned(ask):
    agents = Agents([[STEMS]])

    def script(request, number):
        return agents(request, number) if number < 7 else Answer("gone for good", status=403)

    with ChatServer(script) as server:
        result = json.loads(ask(server, "--iterations", 3, "--candidates", 1, "--json").succeeded().out)
    assert result["adopted"] == 1
    assert any("gone for good" in note for note in result["notes"])


@pytest.mark.parametrize(
    ("answer", "code", "reason"),
    [
        (None, 1, "cannot be reached ([Errno 111] Connection refused); check --base-url"),
        (Answer("out of order", status=500), 1, "answered 500 (out of order) 6 times; try again later"),
        (Answer("no such key", status=401), 2, "401 (no such key); check the key in the environment variable that"),
        (Answer("no such model", status=404), 2, "404 (no such model); check --model and --base-url"),
        (Answer("Hello.", cut=9), 1, "breaks connections off (peer closed connection"),
    ],
    ids=["nobody there", "broken", "key refused", "model unknown", "always cut off"],
)
def test_an_endpoint_that_was_never_of_use_is_an_error_and_leaves_nothing(
    ask, tmp_path, monkeypatch, answer, code, reason
):
    monkeypatch.setattr(openai_chat, "LONGEST_WAIT", 0.01)
    with ChatServer([answer or Answer()]) as server:
        if answer:
            done = ask(server, "--proposer", "both")
    if not answer:
        done = ask(server, "--json")
    assert done.code == code
    last = done.err.splitlines()[-1]
    assert last.startswith(f"Error: {server.url} ")
    assert reason in last
    assert list(tmp_path.glob("run*")) == []


def test_a_run_in_place_of_another_is_kept_when_the_endpoint_is_dead(ask, tmp_path, monkeypatch):
    monkeypatch.setattr(openai_chat, "LONGEST_WAIT", 0.01)
    with ChatServer(Agents([[STEMS]])) as server:
        ask(server, "--iterations", 1, "--candidates", 1).succeeded()
    before = files(tmp_path / "run")
    assert ask(server, "--force").code == 1
    assert files(tmp_path / "run") == before


def test_both_proposers_alternate_and_see_each_others_history(here, folder, tmp_path, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    shutil.copytree(folder, tmp_path / "hard")
    with (
        (tmp_path / "hard" / "queries.jsonl").open("a") as queries,
        (tmp_path / "hard" / "qrels.tsv").open("a") as qrels,
    ):
        for i in range(9):  # Nothing finds these, so the first iteration is not the last.
            queries.write(json.dumps({"_id": f"h{i}", "text": f"unheard{i}"}) + "\n")
            qrels.write(f"h{i}\tx{i}\t1\n")
    with ChatServer(Agents([[STEMS]])) as server:
        command = ("optimize", tmp_path / "hard", "--out", tmp_path / "run", "--iterations", 3, "--candidates", 1)
        model = ("--proposer", "both", "--model", "a-model", "--base-url", server.url)
        here(*command, "--acceptance", "paper", *model).succeeded()
        asked = [r for r in server.requests if "ideas for the next programs" in r["messages"][-1]["content"]]
    assert len(asked) == 2
    journal = [json.loads(line) for line in (tmp_path / "run" / "journal.jsonl").read_text().splitlines()]
    tried = [record for record in journal if record["record"] == "candidate"]
    turns = [(record["iteration"], record["proposer"]) for record in tried]
    assert turns == [(1, "agents"), (2, "builtin"), (3, "agents")]
    assert "What was tried" not in asked[0]["messages"][1]["content"]
    first, second = ((tmp_path / "run" / "programs" / f"{r['program']}.py").read_text() for r in tried[:2])
    assert first == program(STEMS)
    assert embedded(second) == first  # The built-in proposer adds to what the agents wrote.
    for record in tried[:2]:
        assert record["idea"] in asked[1]["messages"][1]["content"]


def test_one_shot_and_a_generator_of_haystack(here, folder, tmp_path, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    (tmp_path / "about.txt").write_text("Verbs in many forms.")
    with ChatServer([Answer(f"```python\n{program(STEMS)}```")]) as server:
        (tmp_path / "generator.yaml").write_text(
            "type: haystack.components.generators.chat.openai.OpenAIChatGenerator\n"
            f"init_parameters: {{model: a-model, api_base_url: '{server.url}'}}\n"
        )
        command = ("optimize", folder, "--out", tmp_path / "run", "--proposer", "agents", "--condition", "one-shot")
        given = (
            "--acceptance",
            "paper",
            "--generator",
            tmp_path / "generator.yaml",
            "--describe",
            tmp_path / "about.txt",
        )
        done = here(*command, *given).succeeded()
        assert len(server.requests) == 1
    assert "Verbs in many forms." in server.requests[0]["messages"][-1]["content"]
    assert "1 program adopted of 1 tried" in done.out
    assert "language model: 1 calls" in done.out
    assert all(KEY.encode() not in content for content in files(tmp_path / "run").values())


def test_what_cannot_work_is_one_sentence_and_leaves_nothing(here, folder, tmp_path, monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    common = ("optimize", folder, "--out", tmp_path / "run", "--candidates", 1)
    here(*common, "--proposer", "agents").failed(2, "--model")
    here(*common, "--proposer", "agents", "--model", "m").failed(2, "OPENAI_API_KEY", "--api-key-env")
    here(*common, "--model", "m").failed(2, "--model", "--proposer agents")
    agents = (*common, "--proposer", "agents", "--model", "m", "--base-url", "http://127.0.0.1:9/v1")
    here(*agents, "--max-usd", 1).failed(2, "--max-usd", "--prices")
    here(*agents, "--condition", "one-shot").failed(2, "--condition one-shot", "--candidates")
    here(*agents, "--generator", __file__).failed(2, "--generator", "--model")
    assert not (tmp_path / "run").exists()


def test_prompts_are_listed_and_shown_filled_for_a_collection(here, folder):
    listed = json.loads(here("prompts", "--json").succeeded().out)
    assert all("illed " in said for said in listed.values())
    shown = json.loads(here("prompts", folder, "--show", "--json").succeeded().out)
    assert shown.keys() == listed.keys()
    assert "{" not in shown["analysis_system"]
    assert "Recall@100 0." in shown["analysis_task"]
    assert "not adopted: gain" in shown["ideas"]
    assert "1,000" not in shown["description"]
    assert all(len(text) < 14_000 for text in shown.values())
    one = here("prompts", folder, "--show", "--name", "repair").succeeded().out
    assert one.startswith("===== repair =====\nThis does not work:")
    here("prompts", "--show").failed(2, "COLLECTION")
    here("prompts", "--name", "poem").failed(2, "poem", "repair")


def test_every_command_of_the_page_on_agents_works(here, folder, tmp_path, monkeypatch):
    page = (Path(__file__).resolve().parents[2] / "docs" / "agents.md").read_text(encoding="utf-8")
    [block] = re.findall(r"```bash\n(.*?)```", page, re.DOTALL)
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.chdir(tmp_path)
    shutil.copytree(folder, "my_collection")
    # A short search: the script has one program, and then no new one.
    with ChatServer(lambda *_: Answer(f"1. stems\n```python\n{program(STEMS)}```")) as server:
        for command in block.splitlines():
            words = shlex.split(command.replace("http://localhost:8000/v1", server.url))
            assert words[0] == "autoindex"
            here(*words[1:]).succeeded()
    assert json.loads((tmp_path / "again" / "result.json").read_text())["llm"]["calls"] > 0


@pytest.mark.full
def test_a_run_of_the_papers_size_takes_no_more_tokens_than_the_papers(collection_folder):
    command = [sys.executable, "-m", "benchmarks.agents", "--json", "--collection", collection_folder("cranfield")]
    checkout = Path(__file__).resolve().parents[2]
    done = subprocess.run(command, cwd=checkout, capture_output=True, check=True, timeout=900)
    accounts = json.loads(done.stdout)
    assert accounts["calls"] >= 5 * (5 + 1 + 1 + 4)
    assert accounts["tokens"] <= accounts["paper"] == 344_081
