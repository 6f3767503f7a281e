"""The chunks of a corpus, made on Spark by a frozen component: `map_partitions` is a plain function over rows.

    python examples/spark_chunks.py my_run/frozen corpus.jsonl chunks.parquet
    python examples/spark_chunks.py my_run/frozen corpus.jsonl chunks.parquet --pandas

Tested with PySpark 3.5 in local mode on Java 17 (Spark 3.5 runs on 8, 11 and 17, not on the newer Java that Lucene
needs: set JAVA_HOME). Every executor needs `autoindex-haystack` and Linux; the component travels with the function.
"""

import argparse
from collections.abc import Callable, Iterator
from itertools import islice

import pandas
import pyarrow
from pyspark.sql import SparkSession
from pyspark.sql.types import StringType, StructField, StructType

from autoindex_haystack import load_frozen
from autoindex_haystack.distributed import PartitionMapper, map_partitions

COLUMNS = ("chunk_id", "doc_id", "text", "meta", "error")
SCHEMA = StructType([StructField(name, StringType()) for name in COLUMNS])
ARROW = pyarrow.schema([(name, pyarrow.string()) for name in COLUMNS])
ROWS = 1_000


def in_arrow(chunks_of: PartitionMapper) -> Callable[[Iterator[pyarrow.RecordBatch]], Iterator[pyarrow.RecordBatch]]:
    """Make the function that `DataFrame.mapInArrow` takes."""

    def map_batches(batches: Iterator[pyarrow.RecordBatch]) -> Iterator[pyarrow.RecordBatch]:
        rows = chunks_of(row for batch in batches for row in batch.to_pylist())
        while some := list(islice(rows, ROWS)):
            yield pyarrow.RecordBatch.from_pylist(some, ARROW)

    return map_batches


def in_pandas(chunks_of: PartitionMapper) -> Callable[[Iterator[pandas.DataFrame]], Iterator[pandas.DataFrame]]:
    """Make the function that `DataFrame.mapInPandas` takes."""

    def map_frames(frames: Iterator[pandas.DataFrame]) -> Iterator[pandas.DataFrame]:
        rows = chunks_of(row for frame in frames for row in frame.to_dict("records"))
        while some := list(islice(rows, ROWS)):
            yield pandas.DataFrame(some, columns=COLUMNS)

    return map_frames


def main() -> None:
    """Read a corpus, run the program in every partition, write chunks, and tell of documents that failed."""
    parser = argparse.ArgumentParser(description="Chunks of a corpus on Spark.")
    parser.add_argument("frozen", help="the frozen component")
    parser.add_argument("corpus", help="JSON lines with _id, text and, if there are any, title and metadata")
    parser.add_argument("out", help="the Parquet folder to write")
    parser.add_argument("--pandas", action="store_true", help="go through pandas instead of Arrow")
    given = parser.parse_args()
    # A document at which the program fails becomes a row with its error; the job goes on.
    chunks_of = map_partitions(load_frozen(given.frozen), on_error="row")
    spark = SparkSession.builder.appName("autoindex").getOrCreate()
    # Without a schema Spark would take the ids 0001 and 1 for the same number.
    corpus = spark.read.json(given.corpus, schema="_id string, title string, text string, metadata map<string, string>")
    if given.pandas:
        rows = corpus.mapInPandas(in_pandas(chunks_of), SCHEMA)
    else:
        rows = corpus.mapInArrow(in_arrow(chunks_of), SCHEMA)
    rows.write.mode("overwrite").parquet(given.out)
    written = spark.read.parquet(given.out)
    print(f"{written.where('error is null').count()} chunks, {written.where('error is not null').count()} failed")
    spark.stop()


if __name__ == "__main__":
    main()
