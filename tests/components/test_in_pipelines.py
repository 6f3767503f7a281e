"""What Haystack does around components: it traces them, draws them, and runs many at once without waiting."""

import asyncio
import base64
import threading
import zlib
from contextlib import contextmanager
from contextvars import ContextVar
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import ClassVar

import pytest
from haystack import Document, Pipeline
from haystack.tracing import Span, Tracer, disable_tracing, enable_tracing

from haystack_integrations.components.preprocessors.autoindex import program_workers

DOCUMENTS = [Document(id=f"d{i}", content=f"Wing {i} sheds ice. Engine {i} coughs.") for i in range(40)]
PIXEL = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)


class Recorded(Span):
    def __init__(self, name, tags, parent):
        self.name, self.tags, self.parent = name, dict(tags or {}), parent

    def set_tag(self, key, value):
        self.tags[key] = value

    @property
    def ancestors(self):
        return [] if self.parent is None else [self.parent, *self.parent.ancestors]


class Recorder(Tracer):
    def __init__(self):
        self.spans = []
        self.current = ContextVar("current", default=None)

    @contextmanager
    def trace(self, operation_name, tags=None, parent_span=None):
        span = Recorded(operation_name, tags, parent_span or self.current.get())
        self.spans.append(span)
        token = self.current.set(span)
        yield span
        self.current.reset(token)

    def current_span(self):
        return self.current.get()

    def ours(self):
        return [span for span in self.spans if span.name.startswith("autoindex.")]


@pytest.fixture
def tracer():
    recorder = Recorder()
    enable_tracing(recorder)
    yield recorder
    disable_tracing()


@pytest.fixture
def pipelines(freeze):
    frozen = freeze()
    both = [Pipeline.loads((frozen.path / name).read_text("utf-8")) for name in ("indexing.yaml", "query.yaml")]
    yield both
    for pipeline in both:
        pipeline.close()


@pytest.mark.parametrize("how", ["run", "run_async"])
def test_the_long_steps_of_components_are_traced_beneath_them_without_what_texts_say(pipelines, tracer, how):
    for pipeline, given in zip(
        pipelines, ({"preprocessor": {"documents": DOCUMENTS}}, {"retriever": {"query": "engine 7"}}), strict=True
    ):
        work = getattr(pipeline, how)(given)
        if how == "run_async":
            asyncio.run(work)
    program, search, index = tracer.ours()
    assert [span.name for span in (program, search, index)] == [
        "autoindex.program",
        "autoindex.search",
        "autoindex.index",
    ]
    assert (program.tags["autoindex.documents"], program.tags["autoindex.chunks"]) == (40, 80)
    assert search.tags == {
        "autoindex.backend": "bm25s",
        "autoindex.of": "documents",
        "autoindex.top_k": 10,
        "autoindex.filtered": False,
        "autoindex.found": 10,
    }
    assert (index.parent, index.tags["autoindex.chunks"]) == (search, 80)
    for span, component in ((program, "preprocessor"), (search, "retriever")):
        assert component in [above.tags.get("haystack.component.name") for above in span.ancestors]
    assert "coughs" not in str([span.tags for span in tracer.ours()])
    assert "engine 7" not in str([span.tags for span in tracer.ours()])


async def test_sixteen_runs_at_once_give_what_they_give_one_by_one(pipelines, monkeypatch):
    indexing, query = pipelines
    started = []
    start = program_workers.ProgramRunner.__init__
    monkeypatch.setattr(
        program_workers.ProgramRunner, "__init__", lambda self, *a, **k: started.append(self) or start(self, *a, **k)
    )
    parts = [{"preprocessor": {"documents": DOCUMENTS[i : i + 5]}} for i in range(0, 40, 5)] * 2
    written = await asyncio.wait_for(asyncio.gather(*(indexing.run_async(part) for part in parts)), 60)
    assert [done["writer"]["documents_written"] for done in written] == [10] * 16
    assert len(started) == 1
    asked = [{"retriever": {"query": f"wing {i} ice", "top_k": i + 1}} for i in range(16)]
    at_once = await asyncio.wait_for(asyncio.gather(*map(query.run_async, asked)), 60)
    assert at_once == [query.run(each) for each in asked]
    assert [len(found["retriever"]["documents"]) for found in at_once] == list(range(1, 17))


async def test_indexing_and_searching_at_once_shows_whole_writes_only(pipelines):
    indexing, query = pipelines

    async def search():
        found = (await query.run_async({"retriever": {"query": "ice", "top_k": 100}}))["retriever"]["documents"]
        return len(found)

    async def index(i):
        await indexing.run_async({"preprocessor": {"documents": DOCUMENTS[i : i + 10]}})

    work = [job for i in range(0, 40, 10) for job in (search(), index(i), search(), search())]
    counts = [count for count in await asyncio.wait_for(asyncio.gather(*work), 60) if count is not None]
    assert all(count % 10 == 0 for count in counts)
    assert await search() == 40


class Mermaid(BaseHTTPRequestHandler):
    """Draws a dot, and remembers what it was asked to draw."""

    asked: ClassVar[list[str]] = []

    def log_message(self, *arguments):
        pass

    def do_GET(self):
        code = self.path.split("/img/")[1].split("?")[0].removeprefix("pako:")
        self.asked.append(zlib.decompress(base64.urlsafe_b64decode(code)).decode())
        self.send_response(200)
        self.send_header("Content-Type", "image/png")
        self.send_header("Content-Length", str(len(PIXEL)))
        self.end_headers()
        self.wfile.write(PIXEL)


def test_pipelines_can_be_drawn(pipelines, tmp_path: Path):
    server = ThreadingHTTPServer(("127.0.0.1", 0), Mermaid)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        for pipeline in pipelines:
            pipeline.draw(path=tmp_path / "drawn.png", server_url=f"http://127.0.0.1:{server.server_port}")
            assert (tmp_path / "drawn.png").read_bytes() == PIXEL
    finally:
        server.shutdown()
        server.server_close()
    assert [name in Mermaid.asked[-2] for name in ("RepresentationPreprocessor", "DocumentWriter")] == [True, True]
    assert "RepresentationRetriever" in Mermaid.asked[-1]
