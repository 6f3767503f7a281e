"""The process that builds an index or joins its parts.

The job comes as one line of JSON on stdin, and the answer is the last line of stdout. When stdin closes, whoever asked
is gone, and so is this process.
"""

import json
import os
import sys
import threading
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from autoindex_haystack.distributed.filesystem import Folder
from autoindex_haystack.distributed.index_process import FINISHED
from autoindex_haystack.distributed.output import Output
from autoindex_haystack.errors import AutoIndexError
from autoindex_haystack.files import ScratchFolder, nameless_file
from autoindex_haystack.retrieval import BM25Settings, ChunkTable, get_backend
from autoindex_haystack.retrieval.texts import Utf8Texts


def build(output: Output, request: dict[str, Any]) -> None:
    """Build the index of some consecutive blocks, or a part of an index when ``first`` says what is before it."""
    settings = BM25Settings(**request["bm25"])
    backend = get_backend(request["backend"])
    with _read_chunks(output, request["blocks"]) as table, _placed(output.folder / request["folder"]) as folder:
        if request["first"] is None:
            backend.build(table.chunks, settings, folder).close()
        else:
            backend.build_part(table.chunks, settings, folder, request["first"])


def merge(output: Output, request: dict[str, Any]) -> None:
    """Join the parts of an index."""
    with ExitStack() as held, _placed(output.folder / request["folder"]) as folder:
        parts = [output.folder / part for part in request["parts"]]
        places = []
        for number, part in enumerate(parts):
            local = part.local
            if local is None:
                local = held.enter_context(ScratchFolder()) / str(number)
                part.fetch(local)
                (local / FINISHED).unlink(missing_ok=True)
            places.append(local)
        get_backend(request["backend"]).merge(places, folder)


class _placed:  # noqa: N801 - used like a function
    """Where an index is built: in its place, or beside this process and then copied there."""

    def __init__(self, target: Folder) -> None:
        self._target, self._scratch = target, None if target.local else ScratchFolder()

    def __enter__(self) -> Path:
        if self._scratch is None:
            place = self._target.local
            assert place
            return place
        return self._scratch.path / "index"

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if self._scratch is None:
            return
        if kind is None:
            self._target.put(self._scratch.path / "index")
            self._target.write_json(FINISHED, {})
        self._scratch.close()


class _read_chunks:  # noqa: N801 - used like a function
    """The chunks of some blocks, their texts in a file that goes with this object."""

    def __init__(self, output: Output, blocks: Sequence[int]) -> None:
        self._output, self._blocks = output, blocks

    def __enter__(self) -> "_read_chunks":
        sizes: list[NDArray[np.int64]] = []
        owners: list[NDArray[np.int64]] = []
        ids: list[str] = []
        file, reader = nameless_file()
        with file:
            for block in self._blocks:
                for batch in self._output.chunks(block, ("doc_id", "text")):
                    names, texts = batch.column(0).to_pylist(), batch.column(1).to_pylist()
                    owner = np.empty(len(names), np.int64)
                    for i, name in enumerate(names):
                        # Chunks of a document stand together; a block never ends within one.
                        if not ids or ids[-1] != name:
                            ids.append(name)
                        owner[i] = len(ids) - 1
                    kept = np.array([text is not None for text in texts], np.bool_)
                    encoded = [text.encode("utf-8") for text in texts if text is not None]
                    file.write(b"".join(encoded))
                    sizes.append(np.fromiter(map(len, encoded), np.int64, len(encoded)))
                    owners.append(owner[kept])
        bounds = np.zeros(sum(map(len, sizes)) + 1, np.int64)
        if sizes:
            np.cumsum(np.concatenate(sizes), out=bounds[1:])
        # A memory map: the texts are read from disk as they are needed.
        with open(reader, "rb") as stream:
            data = np.memmap(stream, np.uint8, "r", shape=(int(bounds[-1]),)) if bounds[-1] else np.empty(0, np.uint8)
        self.chunks = ChunkTable(Utf8Texts(data, bounds), np.concatenate(owners or [np.empty(0, np.int64)]), ids)
        return self

    def __exit__(self, *_: object) -> None:
        del self.chunks


def main() -> None:
    """Do what stdin says."""
    request = json.loads(sys.stdin.readline())
    threading.Thread(target=_end_with_parent, daemon=True).start()
    output = Output(request["url"])
    try:
        {"build": build, "merge": merge}[request["do"]](output, request)
        answer: dict[str, Any] = {"done": True}
    except AutoIndexError as error:
        answer = {"error": type(error).__name__, "message": str(error)}
    except OSError as error:
        answer = {"error": "BackendError", "message": f"the index cannot be written: {error}"}
    sys.stdout.write("\n" + json.dumps(answer) + "\n")
    sys.stdout.flush()


def _end_with_parent() -> None:
    sys.stdin.read()
    os._exit(1)


if __name__ == "__main__":
    main()
