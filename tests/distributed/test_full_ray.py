"""On Ray a job makes the index of one machine, and a node that is lost costs its blocks alone."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from autoindex_haystack.distributed import LocalEngine, index_corpus
from autoindex_haystack.frozen import ComponentSettings, new_manifest, write_frozen
from autoindex_haystack.program import Program, builtin_program
from autoindex_haystack.retrieval import get_backend
from haystack_integrations.document_stores.autoindex import LuceneDocumentStore
from tests.conftest import CHECKOUT
from tests.distributed.conftest import QUERIES, SENTENCES, record, write_lines
from tests.distributed.test_jobs import rows, stamps

pytestmark = pytest.mark.full

LOST_NODE = """
import json, os, sys, threading, time
from pathlib import Path

import ray
from ray.cluster_utils import Cluster

from autoindex_haystack import load_frozen
from autoindex_haystack.distributed import RayEngine, index_corpus

corpus, frozen, out = sys.argv[1:]
os.environ["RAY_worker_niceness"] = "0"
small = {"num_cpus": 1, "object_store_memory": 80 << 20}
cluster = Cluster(initialize_head=True, head_node_args=small | {"include_dashboard": False})
nodes = [cluster.add_node(**small) for _ in range(2)]
cluster.wait_for_nodes()
ray.init(cluster.address, log_to_driver=False, logging_level="ERROR")
seen = {}

def lose():
    blocks = Path(out, "blocks")
    while not blocks.is_dir() or len(list(blocks.glob("*.json"))) < 3:
        time.sleep(0.05)
    seen["before"] = {path.name: path.stat().st_mtime_ns for path in blocks.glob("*.json")}
    # Not the node through which this process itself is connected.
    mine = ray._private.worker.global_worker.node._raylet_socket_name
    lost = next(node for node in nodes if node._raylet_socket_name != mine)
    cluster.remove_node(lost, allow_graceful=False)
    seen["nodes"] = len(cluster.list_all_nodes())

thread = threading.Thread(target=lose)
thread.start()
made = index_corpus([corpus], load_frozen(frozen), out, engine=RayEngine(3), backend=None, block_bytes=1_000)
thread.join()
print(json.dumps({"made": made.model_dump(), **seen}))
ray.shutdown()
cluster.shutdown()
"""

NICE = """
import json, os

from autoindex_haystack.distributed import RayEngine

class Nice:
    waits = False
    def start(self): pass
    def __call__(self, item): return {"nice": os.nice(0)}
    def close(self): pass

engine = RayEngine(1)
print(json.dumps({"here": os.nice(0), "there": [found["nice"] for found in engine.each(Nice(), [1])]}))
engine.close()
"""

SLOW = SENTENCES.replace('            if "poison"', '            sum(range(3_000_000))\n            if "poison"')


def run(*arguments, timeout=250):
    done = subprocess.run(
        list(map(str, arguments)), cwd=CHECKOUT, capture_output=True, text=True, check=False, timeout=timeout
    )
    assert done.returncode == 0, done.stderr[-3000:]
    # Ray's own code may say something on stdout before and after, of a node that is gone for instance.
    return json.JSONDecoder().raw_decode(done.stdout[done.stdout.index("{") :])[0]


def test_a_node_that_is_lost_costs_its_blocks_alone(tmp_path):
    records = [record(n) for n in range(1, 160)]
    path, program = write_lines(tmp_path / "c.jsonl", records), Program(SLOW)
    frozen = write_frozen(tmp_path / "frozen", new_manifest(program, {}, ComponentSettings()), program, {})
    found = run(sys.executable, "-c", LOST_NODE, path, frozen.path, tmp_path / "out")
    assert found["made"]["documents"] == 159
    assert found["nodes"] == 2
    assert 3 <= len(found["before"]) < found["made"]["blocks"]
    after = stamps(tmp_path / "out" / "blocks")
    assert {name: after[name] for name in found["before"]} == found["before"]
    index_corpus([str(path)], frozen, str(tmp_path / "one"), engine=LocalEngine(1), backend=None, block_bytes=1_000)
    assert rows(tmp_path / "out") == rows(tmp_path / "one")


def test_the_rankings_are_those_of_one_machine(corpus, frozen, tmp_path):
    command = [sys.executable, "-m", "autoindex_haystack.cli", "index", "--component", frozen.path, "--json"]
    common = ["--backend", "lucene", "--workers", "2"]
    whole = write_lines(tmp_path / "whole.jsonl", [record(n) for n in range(200)])
    store = run(*command, *common, whole, "--out", tmp_path / "one")
    made = run(*command, *common, corpus, "--engine", "ray", "--block-size", "1", "--out", tmp_path / "many")
    assert (made["engine"], made["chunks"], made["documents"]) == ("ray", store["chunks"], store["documents"])
    one = LuceneDocumentStore(str(tmp_path / "one"))
    with get_backend("lucene").load(tmp_path / "many" / "index") as index:
        for query, ranking in zip(QUERIES, index.search_documents(QUERIES, 200), strict=True):
            expected = [(document.id, document.score) for document in one.search_documents(query, top_k=200)]
            ids = [index.document_ids[i] for i in ranking.ordinals.tolist()]
            assert list(zip(ids, ranking.scores.tolist(), strict=True)) == expected
    one.close()
    again = run(*command, *common, corpus, "--engine", "ray", "--block-size", "1", "--out", tmp_path / "many")
    assert (again["resumed"], again["blocks"]) == (made["blocks"], made["blocks"])


def test_a_worker_has_the_priority_of_the_command_that_started_it():
    found = run(sys.executable, "-c", NICE)
    assert found["there"] == [found["here"]]


def test_the_commands_of_the_page_work(tmp_path):
    page = (CHECKOUT / "docs" / "scale.md").read_text(encoding="utf-8")
    commands = [line for block in re.findall(r"```bash\n(.*?)```", page, re.DOTALL) for line in block.splitlines()]
    shutil.copytree(CHECKOUT / "tests" / "end_to_end" / "kitchen", tmp_path / "my_collection")
    program, settings = builtin_program("full_document"), ComponentSettings()
    write_frozen(tmp_path / "my_run" / "frozen", new_manifest(program, {}, settings), program, {})
    environment = {**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    for command in commands:
        done = subprocess.run(command, shell=True, cwd=tmp_path, env=environment, capture_output=True, check=False)
        assert done.returncode == 0, done.stderr
    assert [(path.parent.name, path.name) for path in sorted(tmp_path.glob("*/index"))] == [
        ("my_blocks", "index"),
        ("my_ray_blocks", "index"),
    ]
