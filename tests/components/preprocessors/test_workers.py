"""The workers of the preprocessor: shared by threads, tasks and runs, and none that stays."""

import asyncio
import gc
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from haystack import Document, Pipeline

from haystack_integrations.components.preprocessors.autoindex import RepresentationPreprocessor


def children() -> set[int]:
    """The processes that this one has started and that are still there."""
    tasks = Path("/proc/self/task").glob("*/children")
    return {int(pid) for task in tasks for pid in task.read_text().split()}


def test_workers_stay_warm_and_end_on_close(make) -> None:
    before, preprocessor = children(), make(workers=2)
    preprocessor.warm_up()
    warm = children() - before
    assert len(warm) == 2
    preprocessor.warm_up()
    preprocessor.run([Document(content="A.")])
    preprocessor.run([Document(content="A.")])
    assert children() - before == warm
    preprocessor.close()
    preprocessor.close()
    assert children() == before
    assert preprocessor.run([Document(content="A.")])["documents"]


def test_workers_end_with_the_component(freeze) -> None:
    before = children()
    preprocessor = RepresentationPreprocessor(str(freeze().path))
    preprocessor.run([Document(content="A.")])
    assert len(children() - before) == 1
    del preprocessor
    gc.collect()
    assert children() == before


def test_workers_end_with_the_pipeline(freeze) -> None:
    before = children()
    pipeline = Pipeline()
    pipeline.add_component("preprocessor", RepresentationPreprocessor(str(freeze().path)))
    pipeline.warm_up()
    warm = children() - before
    assert (
        len(pipeline.run({"preprocessor": {"documents": [Document(content="A. B.")]}})["preprocessor"]["documents"])
        == 2
    )
    assert children() - before == warm
    assert len(warm) == 1
    pipeline.close()
    assert children() == before


def test_workers_end_with_the_process(freeze, tmp_path: Path) -> None:
    script = """
import pathlib, sys
from haystack import Document
from haystack_integrations.components.preprocessors.autoindex import RepresentationPreprocessor
preprocessor = RepresentationPreprocessor(sys.argv[1], workers=2)
preprocessor.run([Document(content="A.")])
print(pathlib.Path("/proc/self/task").joinpath(str(__import__("os").getpid()), "children").read_text())
"""
    command = [sys.executable, "-c", script, str(freeze().path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True, cwd=tmp_path)
    workers = [int(pid) for pid in done.stdout.split()]
    assert len(workers) == 2
    assert done.stderr == ""
    deadline = time.monotonic() + 10
    while any(Path(f"/proc/{pid}").exists() for pid in workers) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not any(Path(f"/proc/{pid}").exists() for pid in workers)


def test_eight_threads_use_one_component(make) -> None:
    preprocessor = make(workers=2)

    def run(number: int) -> list[tuple[str, str | None]]:
        documents = [Document(id=f"{number}-{i}", content=f"Wing {number}. Part {i}.") for i in range(20)]
        return [(chunk.id, chunk.content) for chunk in preprocessor.run(documents)["documents"]]

    before = children()
    with ThreadPoolExecutor(8) as pool:
        results = list(pool.map(run, range(24)))
    for number, result in enumerate(results):
        expected = [
            (f"{number}-{i}#{n}", text) for i in range(20) for n, text in enumerate((f"Wing {number}", f"Part {i}"))
        ]
        assert result == expected
    assert len(children() - before) == 2


def test_threads_that_come_at_once_start_one_set_of_workers(make, monkeypatch) -> None:
    module = sys.modules[RepresentationPreprocessor.__module__]
    load = module.load_frozen
    monkeypatch.setattr(module, "load_frozen", lambda *args, **more: time.sleep(0.1) or load(*args, **more))
    preprocessor, before = make(), children()
    with ThreadPoolExecutor(8) as pool:
        results = list(pool.map(preprocessor.run, [[Document(id="a", content="A.")]] * 8))
    assert all(result == results[0] for result in results)
    assert len(children() - before) == 1


async def test_sixteen_tasks_use_two_components(make) -> None:
    both = [make(), make()]
    documents = [Document(id="a", content="A. B.")]
    results = await asyncio.gather(*(both[i % 2].run_async(documents) for i in range(16)))
    assert all(result == results[0] for result in results)


def test_many_batches_come_back_in_order(make, monkeypatch) -> None:
    module = "haystack_integrations.components.preprocessors.autoindex.program_workers"
    monkeypatch.setattr(sys.modules[module], "_BATCH_DOCUMENTS", 7)
    documents = [Document(id=f"{i}", content=f"Wing {i}.") for i in range(50)]
    assert [chunk.content for chunk in make(workers=2).run(documents)["documents"]] == [f"Wing {i}" for i in range(50)]
    monkeypatch.setattr(sys.modules[module], "_BATCH_DOCUMENTS", 4_096)
    monkeypatch.setattr(sys.modules[module], "_BATCH_CHARACTERS", 20)
    assert [chunk.content for chunk in make().run(documents)["documents"]] == [f"Wing {i}" for i in range(50)]
