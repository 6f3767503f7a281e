"""The scripts in ``examples`` run as a user runs them; only the language model's server is a stand-in."""

import json
import os
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"
TOPICS = [("car", "automobile"), ("ice", "frost"), ("tea", "brew")]
DOCUMENTS = [
    {"id": "car", "content": "An automobile has four wheels.", "meta": {"title": "Wheels"}},
    {"id": "wing", "content": "A heated wing sheds ice. It needs power.", "meta": {"title": "Flight"}},
    {"id": "tea", "content": "Let it brew for three minutes.", "meta": {"title": "Kitchen"}},
]


class Model(BaseHTTPRequestHandler):
    """Embeds a text by its topics, and answers with the prompt that it got."""

    def log_message(self, *arguments):
        pass

    def do_POST(self):
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if self.path.endswith("/embeddings"):
            texts = [asked["input"]] if isinstance(asked["input"], str) else asked["input"]
            data = [{"object": "embedding", "index": i, "embedding": embed(text)} for i, text in enumerate(texts)]
            answer = {"object": "list", "model": "m", "data": data, "usage": {"prompt_tokens": 1, "total_tokens": 1}}
        else:
            message = {"role": "assistant", "content": "Asked: " + asked["messages"][0]["content"]}
            choice = {"index": 0, "finish_reason": "stop", "message": message}
            usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
            answer = {"id": "1", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice]}
            answer["usage"] = usage
        content = json.dumps(answer).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)


def embed(text):
    return [0.01 + sum(word in text.lower() for word in words) for words in TOPICS]


@pytest.fixture
def run(freeze):
    server = ThreadingHTTPServer(("127.0.0.1", 0), Model)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    environment = {**os.environ, "OPENAI_API_KEY": "none", "OPENAI_BASE_URL": f"http://127.0.0.1:{server.server_port}"}
    frozen = freeze().path

    def run_example(name, question):
        command = [sys.executable, str(EXAMPLES / name), str(frozen), question]
        given = "\n".join(map(json.dumps, DOCUMENTS))
        done = subprocess.run(
            command, input=given, env=environment, capture_output=True, text=True, timeout=120, check=False
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    yield run_example
    server.shutdown()
    server.server_close()


def test_hybrid_retrieval_finds_by_words_and_by_meaning(run):
    rows = [line.split("\t") for line in run("hybrid_retrieval.py", "a car with a heated wing").splitlines()]
    assert {row[1] for row in rows[:2]} == {"car", "wing"}
    assert rows[0][2] in {document["content"] for document in DOCUMENTS}


def test_the_model_of_the_rag_example_gets_the_originals_and_what_matched(run):
    prompt = run("rag.py", "what sheds ice?")
    assert "[wing] A heated wing sheds ice. It needs power.\n(matched: Flight A heated wing sheds ice)" in prompt
    assert prompt.rstrip().endswith("Question: what sheds ice?")
    assert "[tea]" not in prompt


@pytest.mark.parametrize("name", ["hybrid_retrieval.py", "rag.py"])
def test_an_example_without_arguments_says_how_it_is_used(name):
    command = [sys.executable, str(EXAMPLES / name)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 2
    assert done.stderr.startswith(f"usage: {name} [-h] frozen question")
    assert "Traceback" not in done.stderr
