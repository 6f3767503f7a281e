"""Indexing over HTTP: the frozen component's own indexing pipeline behind Hayhooks; see the README beside."""

import os
from pathlib import Path
from typing import Any

from hayhooks import BasePipelineWrapper
from haystack import Document, Pipeline


class PipelineWrapper(BasePipelineWrapper):
    """Answers ``POST /indexing/run`` when the documents are in the index, durably."""

    def setup(self) -> None:
        """Load the pipeline and start the program's isolated workers when the server starts."""
        frozen = Path(os.environ["FROZEN_COMPONENT"])
        self.pipeline = Pipeline.loads((frozen / "indexing.yaml").read_text(encoding="utf-8"))
        self.pipeline.warm_up()

    async def run_api_async(self, documents: list[dict[str, Any]]) -> dict[str, int]:
        """Index documents, each in the place of the one that was there with its id."""
        given = [Document.from_dict(document) for document in documents]
        done = await self.pipeline.run_async({"preprocessor": {"documents": given}})
        return {"chunks": done["writer"]["documents_written"]}
