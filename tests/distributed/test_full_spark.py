"""The example for Spark gives the chunks of any other engine, with real PySpark in local mode."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from pyarrow import parquet

from autoindex_haystack.distributed import map_partitions
from tests.conftest import CHECKOUT
from tests.distributed.conftest import record, write_lines

JAVA = next((path for path in Path("/usr/lib/jvm").glob("java-17-*") if (path / "bin" / "java").is_file()), None)

pytestmark = [
    pytest.mark.full,
    pytest.mark.skipif(JAVA is None, reason="no Java 17 in /usr/lib/jvm, which Spark 3.5 needs"),
]


@pytest.mark.parametrize("how", [[], ["--pandas"]], ids=["arrow", "pandas"])
def test_the_example_gives_the_same_chunks(frozen, tmp_path, how):
    records = [record(n) for n in range(60)] + [record(60, "poison")]
    for made in records:
        # As the example reads it: a map has values of one type.
        made.pop("metadata", None)
    path = write_lines(tmp_path / "corpus.jsonl", records)
    command = [sys.executable, CHECKOUT / "examples" / "spark_chunks.py", frozen.path, path, tmp_path / "out", *how]
    own = {"JAVA_HOME": str(JAVA), "PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1"}
    options = "--master local[2] --conf spark.ui.enabled=false --driver-memory 512m pyspark-shell"
    environment = {**os.environ, **own, "PYSPARK_SUBMIT_ARGS": options}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=200)
    assert done.returncode == 0, done.stderr[-3000:]
    found = parquet.read_table(tmp_path / "out").to_pylist()
    expected = list(map_partitions(frozen, on_error="row")(records))
    assert done.stdout.strip() == f"{len(expected) - 1} chunks, 1 failed"
    key = lambda row: (row["doc_id"], row["chunk_id"] or "")  # noqa: E731
    for one, other in zip(sorted(found, key=key), sorted(expected, key=key), strict=True):
        assert (one["error"] is None) == (other["error"] is None)
        assert (one["chunk_id"], one["doc_id"], one["text"]) == (other["chunk_id"], other["doc_id"], other["text"])
        if one["meta"]:
            assert json.loads(one["meta"]) == json.loads(other["meta"])
