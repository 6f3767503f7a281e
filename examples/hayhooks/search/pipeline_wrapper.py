"""Search over HTTP: the frozen component's own query pipeline behind Hayhooks; see the README beside."""

import os
from pathlib import Path
from typing import Any

from hayhooks import BasePipelineWrapper
from haystack import Pipeline


class PipelineWrapper(BasePipelineWrapper):
    """Answers ``POST /search/run`` with the original documents, best first."""

    def setup(self) -> None:
        """Load the pipeline when the server starts, so that a missing component is told at once."""
        frozen = Path(os.environ["FROZEN_COMPONENT"])
        self.pipeline = Pipeline.loads((frozen / "query.yaml").read_text(encoding="utf-8"))

    async def run_api_async(self, query: str, top_k: int = 10) -> list[dict[str, Any]]:
        """Find the documents that answer a question by the words they are indexed under."""
        found = await self.pipeline.run_async({"retriever": {"query": query, "top_k": top_k}})
        return [
            {"id": each.id, "score": each.score, "content": each.content, "meta": each.meta}
            for each in found["retriever"]["documents"]
        ]
