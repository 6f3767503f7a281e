"""A run survives what may happen to it: kill -9 at any moment, Ctrl-C, a full disk, a damaged or moved folder."""

import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from contextlib import ExitStack, suppress
from pathlib import Path

import pytest

from autoindex_haystack import load_frozen
from autoindex_haystack.runs import read_journal, read_result
from tests.agents_script import MORE_STEMS, STEMS, Agents
from tests.chat_server import Answer, ChatServer
from tests.end_to_end.interrupted import COMMAND, HOLD, KITCHEN, MACHINE, SEARCH, lines_of, write_lines
from tests.optimizer.conftest import folder

__all__ = ["folder"]


def essence(run):
    """All that must be equal: records, figures, programs and the frozen component; times and places apart."""
    result = read_result(run).model_dump(mode="json")
    for name in ("seconds", "candidates_per_minute", "frozen", "pareto"):
        del result[name]
    if result["llm"]:
        result["llm"] = {"calls": result["llm"]["calls"], "tokens": result["llm"]["tokens"]}
    records = [{k: v for k, v in record.items() if not k.endswith("seconds")} for record in read_journal(run)]
    programs = {path.name: path.read_bytes() for path in (run / "programs").iterdir()}
    return records, result, programs, load_frozen(run / "frozen").manifest.sha256


class Steady:
    """Answers the same request in the same way, however often it is sent, and counts."""

    def __init__(self, script):
        self._script = script
        self._known = {}
        self.calls = 0

    def __call__(self, request, number):
        self.calls += 1
        key = json.dumps(request["messages"])
        if key not in self._known:
            self._known[key] = self._script(request, number)
        return self._known[key]


def written(run):
    """How much of a run is on disk."""
    size = 0
    for name in ("journal.jsonl", "exchanges.jsonl"):
        with suppress(FileNotFoundError):
            size += (run / name).stat().st_size
    return size


def run_until(arguments, run, size):
    """Run a command; it is killed as soon as so much of its run is on disk."""
    command = list(map(str, [*COMMAND, *arguments]))
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=_environment()) as process:
        while process.poll() is None and (size is None or written(run) < size):
            time.sleep(0.002)
        process.kill()
        return process.wait(), process.stderr.read().decode()


def _environment():
    return {k: v for k, v in os.environ.items() if not k.startswith(("OPENAI_", "AUTOINDEX_"))} | {
        "OPENAI_API_KEY": "k"
    }


def break_and_resume(begin, unbroken, run, moments, seed):
    """Kill a run at random moments; returns how often it was killed."""
    expected, whole = essence(unbroken), written(unbroken)
    chance = random.Random(seed)
    arguments, kills = (*begin, "--out", run), 0
    for size in [*sorted(chance.randrange(1, whole) for _ in range(moments)), None]:
        jobs = chance.choice([1, 2, 3])
        code, err = run_until((*arguments, "--jobs", jobs, "--workers", 2), run, size)
        assert code in (0, -signal.SIGKILL), err
        kills += code != 0
        if (run / "run.json").exists():
            arguments = ("optimize", "--resume", run)
    assert essence(run) == expected, f"seed {seed}"
    return kills


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.full) for seed in range(1, 10))])
def test_a_run_that_is_killed_ends_as_if_it_had_not_been(finished, tmp_path, seed):
    assert break_and_resume(("optimize", KITCHEN, *SEARCH), finished, tmp_path / "run", 3 if seed == 0 else 5, seed)


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.full) for seed in range(1, 10))])
def test_no_call_of_a_model_is_paid_twice_however_often_a_run_is_killed(folder, tmp_path, seed):
    search = (
        "--proposer",
        "both" if seed % 2 else "agents",
        "--model",
        "a-model",
        "--iterations",
        2,
        "--candidates",
        2,
    )
    rounds = [STEMS, MORE_STEMS], ["1 / 0", "doc.text + ' '"]
    with ExitStack() as stack:
        scripts = [Steady(Agents(rounds)) for _ in range(2)]
        servers = [stack.enter_context(ChatServer(script)) for script in scripts]
        begin = [("optimize", folder, "--acceptance", "paper", *search, "--base-url", s.url) for s in servers]
        code, err = run_until((*begin[0], "--out", tmp_path / "unbroken", *MACHINE), tmp_path / "unbroken", None)
        assert code == 0, err
        moments = 2 if seed == 0 else 5
        kills = break_and_resume(begin[1], tmp_path / "unbroken", tmp_path / "run", moments, seed)
    first, second = (script.calls for script in scripts)
    assert first <= second <= first + kills
    labels = [json.loads(line)["label"] for line in (tmp_path / "run" / "exchanges.jsonl").read_text().splitlines()]
    assert len(labels) == len(set(labels))
    assert read_result(tmp_path / "run").llm["calls"] == first


def test_a_run_that_repeats_another_one_goes_on_when_it_was_killed(folder, tmp_path):
    """The recording of the one answers as before, and nobody else is asked."""
    search = ("--proposer", "both", "--model", "a-model", "--iterations", 2, "--candidates", 2)
    run, again = tmp_path / "run", tmp_path / "again"
    with ChatServer(Agents([[STEMS, MORE_STEMS]])) as server:
        how = ("--out", run, *search, "--base-url", server.url, "--acceptance", "paper", *MACHINE)
        code, err = run_until(("optimize", folder, *how), run, None)
        assert code == 0, err
    begin = ("optimize", folder, "--replay", run)
    assert break_and_resume(begin, run, again, 2, 0)
    exchanges = [(place / "exchanges.jsonl").read_text().splitlines() for place in (run, again)]
    assert len(exchanges[0]) == len(exchanges[1])


@pytest.mark.parametrize("damage", ["torn", "changed", "zeros"])
def test_a_last_record_that_is_not_whole_is_cut_off_with_a_note(broken, finished, here, damage):
    lines = lines_of(broken)
    if damage == "torn":
        lines[-1] = lines[-1][: len(lines[-1]) // 2]
    elif damage == "changed":
        lines[-1] = lines[-1].replace(b'"', b"'", 1)
    else:
        lines[-1] = bytes(len(lines[-1]))
    write_lines(broken, lines)
    done = here("optimize", "--resume", broken, *MACHINE).succeeded()
    assert f"1 record was cut off after record {len(lines) - 1}." in done.err
    assert essence(broken) == essence(finished)


def test_a_record_that_is_damaged_in_the_middle_is_named_and_nothing_is_touched(broken, here):
    lines = lines_of(broken)
    lines[2] = lines[2].replace(b'"iteration": 1', b'"iteration": 2')
    write_lines(broken, lines)
    before = {path: path.read_bytes() for path in broken.rglob("*") if path.is_file()}
    here("optimize", "--resume", broken).failed(2, "record 3 of", "journal.jsonl is damaged", "first 2 lines")
    assert {path: path.read_bytes() for path in broken.rglob("*") if path.is_file()} == before


def test_a_damaged_evaluation_is_made_again(broken, finished, here):
    for path in (broken / "evaluations").rglob("*.zst"):
        path.write_bytes(path.read_bytes()[:-9] + b"\0" * 9)
    here("optimize", "--resume", broken, *MACHINE).succeeded()
    assert essence(broken) == essence(finished)


def test_a_program_that_was_changed_is_refused(broken, here):
    [tried] = [record for record in read_journal(broken) if record["record"] == "candidate"][:1]
    (broken / "programs" / f"{tried['program']}.py").write_text("print('mine')")
    here("optimize", "--resume", broken, "--json").failed(2, tried["program"], "is missing or was changed")


def test_a_journal_that_goes_another_way_is_refused(broken, here, monkeypatch):
    """As with another version of a library: the run is not continued with figures that do not fit together."""
    from autoindex_haystack.optimizer import rounds

    compare = rounds.compare
    monkeypatch.setattr(rounds, "compare", lambda outcome, *how: compare(outcome, how[1], *how[1:]))
    before = lines_of(broken)
    here("optimize", "--resume", broken, *MACHINE, "--json").failed(2, "cannot be resumed", "`decision`")
    assert lines_of(broken) == before


def test_a_moved_collection_must_be_named_and_be_the_same(broken, finished, here, tmp_path):
    info = json.loads((broken / "run.json").read_text())
    (broken / "run.json").write_text(json.dumps(info | {"collection_path": str(tmp_path / "gone")}))
    here("optimize", "--resume", broken).failed(2, "is no longer at", "gone", "autoindex optimize COLLECTION --resume")
    other = Path(shutil.copytree(KITCHEN, tmp_path / "other"))
    with (other / "queries.jsonl").open("a") as file:
        file.write('{"_id": "q99", "text": "bread"}\n')
    with (other / "qrels.tsv").open("a") as file:
        file.write("q99\t0001\t1\n")
    here("optimize", other, "--resume", broken).failed(2, "is not the collection")
    here("optimize", KITCHEN, "--resume", broken, *MACHINE).succeeded()
    assert essence(broken) == essence(finished)


def test_an_unfinished_run_has_differences_and_no_report(broken, here):
    """What was tried can be looked at before the end; the page is of a result, and nothing half-written is left."""
    tried = next(record["program"] for record in read_journal(broken) if record["record"] == "candidate")
    before = {path: path.read_bytes() for path in broken.rglob("*") if path.is_file()}
    for arguments in ((), ("--best",), (tried[:12],)):
        found = json.loads(here("diff", broken, *arguments, "--json").succeeded().out)
        assert {"program", "against", "diff"} == found.keys()
    assert found["program"]["sha256"] == tried
    assert found["diff"]
    done = here("report", broken).failed(2, f"{broken} holds no finished run: the search has not come to its end")
    assert f"`autoindex optimize --resume {broken}`" in done.err
    assert len(done.err.strip().splitlines()) == 1
    assert {path: path.read_bytes() for path in broken.rglob("*") if path.is_file()} == before


def test_a_finished_run_is_told_again(finished, here):
    before = {path: path.stat().st_mtime_ns for path in finished.rglob("*")}
    done = here("optimize", "--resume", finished, "--json").succeeded()
    assert json.loads(done.out)["program_sha256"] == read_result(finished).program_sha256
    assert "is finished" in done.err
    assert {path: path.stat().st_mtime_ns for path in finished.rglob("*")} == before


@pytest.mark.parametrize(
    ("options", "named"),
    [
        (("--seed", 1), "--seed"),
        (("--out", "x"), "--out"),
        (("--iterations", 5, "--model", "m"), "--iterations, --model"),
        (("--force",), "--force"),
        (("--replay", "."), "--replay"),
    ],
)
def test_options_that_the_run_has_itself_are_refused(finished, here, options, named):
    here("optimize", "--resume", finished, *options).failed(2, "its own settings", named)


def test_what_is_no_run_is_refused(here, tmp_path):
    here("optimize", "--resume", tmp_path).failed(2, "holds no run")
    here("optimize").failed(2, "Missing option '--out'")
    here("optimize", "--out", tmp_path / "x").failed(2, "Missing argument 'COLLECTION'")


def test_two_processes_never_work_on_one_run_and_a_dead_one_does_not_count(broken, here, finished):
    with subprocess.Popen([sys.executable, "-c", HOLD, broken], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as other:
        other.stdout.readline()
        here("optimize", "--resume", broken).failed(2, f"process {other.pid} is at work on {broken}")
        here("optimize", KITCHEN, "--out", broken, "--force").failed(2, f"process {other.pid} is at work on")
        other.kill()
    assert (broken / ".lock").exists()
    here("optimize", "--resume", broken, *MACHINE).succeeded()
    assert essence(broken) == essence(finished)
    assert not (broken / ".lock").exists()


def test_a_clock_that_jumps_changes_nothing(broken, finished, here, monkeypatch):
    monkeypatch.setattr(time, "time", lambda: random.uniform(-1e9, 1e10))
    here("optimize", "--resume", broken, *MACHINE).succeeded()
    assert essence(broken) == essence(finished)
    assert 0 < read_result(broken).seconds["total"] < 1000


def test_ctrl_c_finishes_the_step_and_says_how_to_go_on(folder, tmp_path):
    run = tmp_path / "run"
    command = list(map(str, [*COMMAND, "optimize", folder, "--out", run, "--iterations", 50, *MACHINE]))
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as process:
        while b'"candidate"' not in (lines := (run / "journal.jsonl").read_bytes() if written(run) else b""):
            assert process.poll() is None, process.stderr.read()
            time.sleep(0.01)
        process.send_signal(signal.SIGINT)
        err = process.communicate(timeout=120)[1]
    assert process.returncode == 130, err
    assert "press Ctrl-C again to stop at once" in err
    assert f"interrupted; go on with `autoindex optimize --resume {run}`" in err
    assert "Traceback" not in err
    assert len(read_journal(run)) >= lines.count(b"\n")
    assert not (run / "result.json").exists()
    assert not (run / ".lock").exists()


def test_a_second_ctrl_c_waits_for_nothing(folder, tmp_path):
    """A model that takes its time is not waited for."""
    run, asked = tmp_path / "run", threading.Event()

    def script(request, number):
        asked.set()
        return Answer("Late.", wait=100)

    with ChatServer(script) as server:
        model = ("--proposer", "agents", "--model", "a-model", "--base-url", server.url)
        command = list(map(str, [*COMMAND, "optimize", folder, "--out", run, *model, *MACHINE]))
        with subprocess.Popen(
            command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, env=_environment()
        ) as process:
            assert asked.wait(60)
            process.send_signal(signal.SIGINT)
            while b"again to stop" not in process.stderr.readline():
                pass
            process.send_signal(signal.SIGINT)
            err = process.communicate(timeout=60)[1].decode()
    assert process.returncode == 130, err
    assert f"interrupted; go on with `autoindex optimize --resume {run}`" in err
    assert not (run / "exchanges.jsonl").exists()


@pytest.fixture
def small_disk(tmp_path):
    """A disk of 400 KB, where it can be had, else what limits a command to small files."""
    place = tmp_path / "disk"
    place.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=400k", "tmpfs", place], capture_output=True, check=False
    )
    if mounted.returncode == 0:
        yield place, []
        subprocess.run(["umount", place], check=True)
    else:
        yield place, ["prlimit", "--fsize=60000", "--"]


def test_a_full_disk_ends_a_run_with_a_sentence_and_room_lets_it_go_on(finished, small_disk, tmp_path, here):
    place, limit = small_disk
    run, filler = place / "run", place / "filler"
    command = list(map(str, [*limit, *COMMAND, "optimize", KITCHEN, "--out", run, *SEARCH, *MACHINE]))
    room = written(finished) // 2
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        while process.poll() is None and written(run) < room:
            time.sleep(0.002)
        if not limit:
            with suppress(OSError), filler.open("wb") as file:
                file.write(bytes(1 << 20))
        err = process.communicate(timeout=120)[1].decode()
    assert process.returncode == 2, err
    assert re.search(r"No space left|File too large", err)
    assert f"mend that and go on with `autoindex optimize --resume {run}`" in err
    if not limit:
        filler.unlink(missing_ok=True)
    moved = Path(shutil.copytree(run, tmp_path / "moved"))
    here("optimize", "--resume", moved, *MACHINE).succeeded()
    assert essence(moved) == essence(finished)


def test_a_read_only_folder_is_refused(broken, here, tmp_path):
    if os.geteuid() == 0:
        mounted = subprocess.run(["mount", "--bind", broken, broken], capture_output=True, check=False)
        if mounted.returncode:
            pytest.skip("root may write everywhere, and nothing can be mounted")
        subprocess.run(["mount", "-o", "remount,ro,bind", broken], check=True)
    else:
        broken.chmod(0o555)
    try:
        here("optimize", "--resume", broken).failed(2, str(broken), "cannot be written", "make it writable")
        assert "interrupted" in here("runs", broken.parent).succeeded().out
    finally:
        if os.geteuid() == 0:
            subprocess.run(["umount", broken], check=True)
        else:
            broken.chmod(0o755)


def test_an_interrupted_run_is_gone_on_with_rather_than_replaced(broken, finished, here):
    again = here("optimize", KITCHEN, "--out", broken, *SEARCH)
    again.failed(2, f"go on with `autoindex optimize --resume {broken}`", "--force")
    done = here("optimize", KITCHEN, "--out", finished, *SEARCH).failed(2, f"{finished} exists", "--force")
    assert "--resume" not in done.err
