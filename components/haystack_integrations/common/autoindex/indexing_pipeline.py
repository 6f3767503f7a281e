"""A user's own indexing pipeline: what its converters and cleaners give, and where a frozen component belongs in it.

The pipeline is cut before it splits documents, else before it embeds or writes them. Only what stands before the cut
is ever built, so that learning writes to no store and asks no embedder.
"""

from collections.abc import Iterator
from copy import deepcopy
from dataclasses import dataclass, replace
from itertools import chain, count, takewhile
from pathlib import Path

import yaml
from haystack import Document, Pipeline

from autoindex_haystack.errors import CollectionError
from autoindex_haystack.frozen import FrozenComponent
from autoindex_haystack.frozen.pipelines import preprocessor

_NAME = "representation"


@dataclass(frozen=True)
class _Edge:
    sender: str
    out: str
    receiver: str
    into: str

    @classmethod
    def of(cls, connection: dict[str, str]) -> "_Edge":
        return cls(*connection["sender"].split(".", 1), *connection["receiver"].split(".", 1))

    def connection(self) -> dict[str, str]:
        return {"sender": f"{self.sender}.{self.out}", "receiver": f"{self.receiver}.{self.into}"}


class IndexingPipeline:
    """An indexing pipeline as its owner saved it.

    :param path: The file, YAML as ``Pipeline.dump`` writes it.
    :raises CollectionError: If it is no pipeline with one writer that a chain of components leads to.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        try:
            self._content = yaml.safe_load(path.read_text(encoding="utf-8"))
            self._classes = {
                name: str(entry["type"]).rsplit(".", 1)[-1] for name, entry in self._content["components"].items()
            }
            self._edges = [_Edge.of(connection) for connection in self._content["connections"]]
        except (OSError, UnicodeDecodeError, yaml.YAMLError, KeyError, TypeError, AttributeError) as error:
            msg = f"{path} is no Haystack pipeline as Pipeline.dump writes it ({type(error).__name__}: {error})"
            raise CollectionError(msg) from None
        edges = self._chain()
        self._cut = edges[0]
        self._after = [edge.receiver for edge in edges]

    def _chain(self) -> list[_Edge]:
        """The edges from the cut to the writer, in this order."""
        writers = [name for name, cls in self._classes.items() if cls.endswith("Writer")]
        if len(writers) != 1:
            msg = f"{self._path} has {len(writers)} writers of documents; give an indexing pipeline with one"
            raise CollectionError(msg)
        edges: list[_Edge] = []
        into = [edge for edge in self._edges if edge.receiver == writers[0] and edge.into == "documents"]
        # The second condition ends a chain that runs in a circle.
        while len(into) == 1 and into[0] not in edges:
            edges.insert(0, into[0])
            into = [edge for edge in self._edges if edge.receiver == edges[0].sender and edge.into == "documents"]
        if not edges:
            msg = f"{self._path}: nothing, or more than one component, gives documents to {writers[0]}; connect one"
            raise CollectionError(msg)
        splitting = [i for i, edge in enumerate(edges) if self._splits(edge.receiver)]
        embedding = [i for i, edge in enumerate(edges) if "Embedder" in self._classes[edge.receiver]]
        return edges[(splitting or embedding or [len(edges) - 1])[0] :]

    def _splits(self, name: str) -> bool:
        """Whether a component does what a program does: it splits, or it is one that was learned before."""
        return "Splitter" in self._classes[name] or self._classes[name] == "RepresentationPreprocessor"

    def documents(self, folder: Path) -> Iterator[tuple[str, Document]]:
        """Give the pipeline the files of a folder, one by one.

        :param folder: The folder; hidden files and folders are left out.
        :returns: Each Document with its name: the file's path from the folder on, and behind it ``#`` and a number from
            0 where a file gives several. Files that the pipeline makes nothing of are passed over.
        :raises CollectionError: If the pipeline cannot be loaded, wants something else than files, or fails; then the
            file is named.
        """
        pipeline, taker = self._before_the_cut()
        for file in sorted(folder.rglob("*")):
            parts = file.relative_to(folder).parts
            if not file.is_file() or any(part.startswith(".") for part in parts):
                continue
            try:
                result = pipeline.run({taker: {"sources": [str(file)]}}, include_outputs_from={self._cut.sender})
            except Exception as error:
                reason = " ".join(str(error.__cause__ or error).split())
                msg = f"{self._path} fails at {file}; mend the file or the pipeline ({reason})"
                raise CollectionError(msg) from error
            found = result.get(self._cut.sender, {}).get(self._cut.out, [])
            name = "/".join(parts)
            for number, document in enumerate(found):
                yield (name if len(found) == 1 else f"{name}#{number}"), document
        pipeline.close()

    def _before_the_cut(self) -> tuple[Pipeline, str]:
        """The part that makes documents of files, and the name of the component that takes the files."""
        kept, waiting = set(), [self._cut.sender]
        while waiting:
            if (name := waiting.pop()) not in kept:
                kept.add(name)
                waiting += [edge.sender for edge in self._edges if edge.receiver == name]
        content = deepcopy(self._content)
        content["components"] = {name: content["components"][name] for name in self._classes if name in kept}
        content["connections"] = [edge.connection() for edge in self._edges if {edge.sender, edge.receiver} <= kept]
        try:
            pipeline = Pipeline.from_dict(content)
        except Exception as error:
            msg = f"{self._path} cannot be loaded ({' '.join(str(error).split())})"
            raise CollectionError(msg) from error
        needed = [
            f"{name}.{socket}"
            for name, sockets in pipeline.inputs().items()
            for socket, about in sockets.items()
            if about["is_mandatory"]
        ]
        if len(needed) != 1 or not needed[0].endswith(".sources"):
            msg = (
                f"{self._path} wants {', '.join(needed) or 'nothing'}; it must take files in one place, the `sources` "
                "of a converter, or of a FileTypeRouter before several"
            )
            raise CollectionError(msg)
        return pipeline, needed[0].removesuffix(".sources")

    def wrap(self, frozen: FrozenComponent) -> str:
        """Put a frozen component into the pipeline, after converters and cleaners, in the place of what splits.

        :param frozen: The component; it is pinned by its hash.
        :returns: The whole pipeline as YAML; all else is as its owner saved it.
        """
        name = next(name for name in chain([_NAME], (f"{_NAME}_{i}" for i in count(2))) if name not in self._classes)
        gone = set(takewhile(self._splits, self._after))
        edges = []
        for edge in self._edges:
            if edge == self._cut:
                edges.append(replace(edge, receiver=name, into="documents"))
            if edge.receiver not in gone and (edge == self._cut or edge.sender in gone):
                edges.append(replace(edge, sender=name, out="documents"))
            elif edge.receiver not in gone:
                edges.append(edge)
        content = deepcopy(self._content)
        content["components"] = {key: value for key, value in content["components"].items() if key not in gone}
        content["components"][name] = preprocessor(frozen.path, frozen.manifest)
        content["connections"] = [edge.connection() for edge in edges]
        dumped: str = yaml.safe_dump(content, sort_keys=False, width=10_000, allow_unicode=True)
        return dumped
