"""The work that engines spread over machines: a task is made once, sent to every worker, and called item by item."""

import time
from typing import Any, ClassVar, Protocol

from autoindex_haystack.distributed.inputs import InputBlock, read_block
from autoindex_haystack.distributed.mapper import PartitionMapper
from autoindex_haystack.distributed.output import BLOCKS, BlockRecord, Output
from autoindex_haystack.frozen import FrozenComponent
from autoindex_haystack.sandbox import Isolation, Limits


class Task(Protocol):
    """Something to be done for each of many items; it is pickled before it is started."""

    waits: ClassVar[bool]
    """Whether it only waits for something else that works, so that threads will do."""

    def start(self) -> None:
        """Make ready what is kept between items."""

    def __call__(self, item: Any, /) -> dict[str, Any]:
        """Do it for an item; doing it twice is fine.

        :param item: The item, which can be pickled.
        :returns: What came of it, as JSON has it.
        """

    def close(self) -> None:
        """Release what :meth:`start` made."""


class MapBlock:
    """Runs the program over a block and writes its chunks.

    :param url: The job's folder.
    :param frozen: The component.
    :param limits: What the program may use for one document; ``seconds`` is for a block.
    :param isolation: How its processes are isolated.
    """

    waits: ClassVar[bool] = False

    def __init__(self, url: str, frozen: FrozenComponent, limits: Limits, isolation: Isolation) -> None:
        self._output = Output(url)
        self._mapper = PartitionMapper(frozen, limits=limits, isolation=isolation)

    def start(self) -> None:
        self._mapper.start()

    def __call__(self, block: InputBlock) -> dict[str, Any]:
        began = time.monotonic()
        record = BlockRecord(block=block)
        failures: list[dict[str, str]] = []
        with self._output.writing_chunks(block.ordinal) as writer:
            for mapped in self._mapper.map(read_block(block)):
                record.documents += 1
                record.document_bytes += mapped.size
                if mapped.failure is not None:
                    failures.append({"where": mapped.where, "doc_id": mapped.doc_id, "error": str(mapped.failure)})
                if mapped.unreachable:
                    record.unreachable += 1
                    record.first_unreachable = record.first_unreachable or mapped.doc_id
                writer.add(mapped.rows)
                record.rows += len(mapped.rows)
                texts = [row["text"] for row in mapped.rows if row["text"] is not None]
                record.chunks += len(texts)
                record.chunk_bytes += sum(len(text.encode("utf-8")) for text in texts)
        if failures:
            self._output.write_failed(block.ordinal, failures)
            record.failed = len(failures)
            record.first_failure = f"{failures[0]['where']}: {failures[0]['error'].partition(chr(10))[0]}"
        record.seconds = time.monotonic() - began
        found = record.model_dump(mode="json")
        self._output.finish(BLOCKS, block.ordinal, found)
        return found

    def close(self) -> None:
        self._mapper.close()
