"""A stand-in for an OpenSearch or Elasticsearch node: the few calls that Haystack's document stores make, over HTTP.

It analyzes and scores as its index says, by Lucene's formula, and refuses what a real node refuses: a mapping that
names an analyzer or similarity which the settings do not define.
"""

import gzip
import json
import math
import threading
from collections import Counter
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import NamedTuple
from urllib.parse import urlsplit

import regex


class Call(NamedTuple):
    method: str
    name: str
    call: str
    body: bytes
    login: str


class Index:
    def __init__(self, body):
        self.settings, self.mappings = body.get("settings", {}).get("index", {}), body.get("mappings", {})
        self.documents = {}
        known = {"analyzer": self.settings.get("analysis", {}).get("analyzer", {}), "similarity": {}}
        known["similarity"] = self.settings.get("similarity", {})
        for field in self.mappings.get("properties", {}).values():
            for kind, names in known.items():
                if kind in field and field[kind] not in names:
                    raise ValueError(f"{kind} [{field[kind]}] has not been configured in mappings")

    def as_given_back(self):
        """As a node gives it back: every setting is text."""

        def text(value):
            if isinstance(value, dict):
                return {key: text(item) for key, item in value.items()}
            return [text(item) for item in value] if isinstance(value, list) else str(value)

        return {"aliases": {}, "settings": {"index": text(self.settings)}, "mappings": self.mappings}

    def analyze(self, text):
        analysis = self.settings["analysis"]
        analyzer = analysis["analyzer"][self.mappings["properties"]["content"]["analyzer"]]
        tokens = regex.findall(analysis["tokenizer"][analyzer["tokenizer"]]["pattern"], text)
        for name in analyzer["filter"]:
            if name == "lowercase":
                tokens = [token.lower() for token in tokens]
            else:
                assert analysis["filter"][name]["type"] == "stop"
                tokens = [token for token in tokens if token not in analysis["filter"][name]["stopwords"]]
        return tokens

    def scores(self, query):
        """By BM25 over the field `content`, which must be the only one that queries see."""
        assert self.settings["query"]["default_field"] == ["content"]
        similarity = self.settings["similarity"][self.mappings["properties"]["content"]["similarity"]]
        k1, b = similarity["k1"], similarity["b"]
        texts = {key: self.analyze(source["content"]) for key, source in self.documents.items() if source["content"]}
        mean = sum(map(len, texts.values())) / max(1, len(texts))
        scores = Counter()
        for term in self.analyze(query):
            holders = sum(term in text for text in texts.values())
            idf = math.log(1 + (len(texts) - holders + 0.5) / (holders + 0.5))
            for key, text in texts.items():
                if n := text.count(term):
                    scores[key] += idf * n / (n + k1 * (1 - b + b * len(text) / mean))
        return scores

    def search(self, body):
        query = body.get("query", {"match_all": {}})
        [wanted] = query.get("bool", {}).get("must", [None])
        if wanted is None:
            scores = dict.fromkeys(self.documents, 0.0)
        else:
            wanted = wanted["multi_match"]
            assert str(wanted["fuzziness"]) == "0"
            scores = self.scores(wanted["query"])
        filters = query.get("bool", {}).get("filter", {"bool": {}})
        found = [key for key in sorted(scores, key=lambda key: -scores[key]) if matches(filters, self.documents[key])]
        if "collapse" in body:
            field = body["collapse"]["field"]
            assert self.mappings["properties"][field]["type"] == "keyword"
            best = {}
            for key in found:
                best.setdefault(self.documents[key][field], key)
            found = list(best.values())
        begin = body.get("from", 0)
        hits = [
            {"_id": key, "_score": scores[key], "_source": self.documents[key]}
            for key in found[begin : begin + body.get("size", 10)]
        ]
        return {"hits": {"total": {"value": len(found)}, "hits": hits}}


def matches(condition, source):
    [(kind, inner)] = condition.items()
    if kind == "bool":
        assert None not in inner.values(), "[bool] query does not support [filter] with null"
        parts = [inner.get(kind, []) for kind in ("must", "filter")]
        return all(matches(one, source) for part in parts for one in (part if isinstance(part, list) else [part]))
    [(field, value)] = inner.items()
    if kind == "terms":
        return source.get(field) in value
    if kind == "term":
        return source.get(field) == (value["value"] if isinstance(value, dict) else value)
    assert kind == "range"
    assert set(value) == {"gte"}
    return field in source and source[field] >= value["gte"]


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *arguments):
        pass

    def do(self):
        size = int(self.headers.get("Content-Length") or 0)
        body = self.rfile.read(size)
        if self.headers.get("Content-Encoding") == "gzip":
            body = gzip.decompress(body)
        login = self.headers.get("Authorization", "")
        name, _, call = urlsplit(self.path).path.strip("/").partition("/")
        self.server.calls.append(Call(self.command, name, call, body, login))
        try:
            status, answer = self.answer(name, call, body)
        except ValueError as error:
            status, answer = 400, {"error": {"type": "mapper_parsing_exception", "reason": str(error)}, "status": 400}
        content = json.dumps(answer).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("X-Elastic-Product", "Elasticsearch")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content)

    do_GET = do_HEAD = do_PUT = do_POST = do  # noqa: N815

    def answer(self, name, call, body):
        indexes = self.server.indexes
        if not name:
            return 200, {"version": {"number": "8.19.0"}, "tagline": "You Know, for Search"}
        if name != "_bulk" and not call and self.command == "PUT":
            indexes[name] = Index(json.loads(body))
            return 200, {"acknowledged": True, "index": name}
        if name != "_bulk" and name not in indexes and self.command == "HEAD":
            return 404, {}
        if name != "_bulk" and name not in indexes:
            return 404, {"error": {"type": "index_not_found_exception", "reason": f"no such index [{name}]"}}
        if name == "_bulk" or call == "_bulk":
            if self.server.busy > 0:
                self.server.busy -= 1
                return 429, {"error": {"type": "rejected_execution_exception", "reason": "busy"}, "status": 429}
            return 200, self.bulk([json.loads(line) for line in body.splitlines() if line], name)
        if not call and self.command == "GET":
            return 200, {name: indexes[name].as_given_back()}
        if call == "_delete_by_query":
            assert "conflicts=proceed" in self.path
            query = json.loads(body)["query"]
            gone = [key for key, source in indexes[name].documents.items() if matches(query, source)]
            for key in gone:
                del indexes[name].documents[key]
            return 200, {"deleted": len(gone)}
        if call == "_mapping":
            return 200, {name: {"mappings": indexes[name].mappings}}
        if call == "_count":
            return 200, {"count": len(indexes[name].documents)}
        if call == "_search":
            return 200, indexes[name].search(json.loads(body or b"{}"))
        return 200, {}

    def bulk(self, lines, name):
        items, lines = [], iter(lines)
        for line in lines:
            [(action, target)] = line.items()
            documents = self.server.indexes[target.get("_index", name)].documents
            source = None if action == "delete" else next(lines)
            if refusal := self.server.refuse(target["_id"], source):
                items.append({action: {"_index": name, "_id": target["_id"], **refusal}})
                continue
            if action == "delete":
                documents.pop(target["_id"], None)
            else:
                documents[target["_id"]] = source
            items.append({action: {"_index": name, "_id": target["_id"], "status": 200, "result": "updated"}})
        errors = any("error" in answer for item in items for answer in item.values())
        return {"took": 1, "errors": errors, "items": items}


class Node(ThreadingHTTPServer):
    """The node; listens on loopback while it is open."""

    daemon_threads = True

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.indexes = {}
        self.calls = []
        self.busy = 0  # Bulk requests to refuse as a whole, as a node does that has too many of them.
        self.refuse = lambda key, source: None  # Status and error of an item that is refused.
        self.url = f"http://127.0.0.1:{self.server_port}"
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def close(self):
        self.shutdown()
        self.server_close()
