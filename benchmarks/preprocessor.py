"""What Haystack's clothes cost a program: documents a second of the preprocessor, alone and in a pipeline.

    python benchmarks/preprocessor.py [--component my_run/frozen] [--json]

The same documents go, in turns, through

- the bare program in its isolated worker, without Haystack: its chunks as lists;
- the component, called by itself: chunks as Haystack Documents;
- a pipeline with that component;
- a pipeline with a component that does nothing. `Pipeline.run` copies what it is given and what it gives each
  component, deeply and Document by Document: that is the floor, whatever the component does.

The last column is the pipeline beside the bare program and the floor together: what is lost beyond what Haystack takes.
All ratios are of speeds, within one round; medians are printed. The corpus is made up, or that of `--corpus`.
"""

import json
import statistics
import time
from collections.abc import Callable
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import click
from haystack import Document, Pipeline, component

from autoindex_haystack import load_collection
from autoindex_haystack.collection import Document as ProgramDocument
from autoindex_haystack.frozen import ComponentSettings, FrozenComponent, load_frozen, new_manifest, write_frozen
from autoindex_haystack.program import Program, builtin_program
from autoindex_haystack.proposers.builtin.library import TRANSFORMS
from autoindex_haystack.proposers.builtin.recipe import Recipe, Step
from autoindex_haystack.proposers.builtin.render import render
from autoindex_haystack.sandbox import DocumentFile, Limits, ProgramRunner
from benchmarks.made_up import corpus
from haystack_integrations.components.preprocessors.autoindex import RepresentationPreprocessor

COMPOSED = ("lead", "word_forms")
"""A first passage and other forms of the words: what the runs of the README's table adopt most often."""


@component
class Nothing:
    """Takes documents and gives them on."""

    @component.output_types(documents=list[Document])
    def run(self, documents: list[Document]) -> dict[str, list[Document]]:
        return {"documents": documents}


def freeze(program: Program, documents: list[ProgramDocument], folder: Path) -> FrozenComponent:
    """Let a program learn from the documents and freeze it."""
    with DocumentFile(documents) as file, ProgramRunner(program, file) as runner:
        state = runner.calibrate()
    return write_frozen(folder, new_manifest(program, state, ComponentSettings()), program, state)


def in_pipeline(one: Any) -> Pipeline:
    pipeline = Pipeline()
    pipeline.add_component("one", one)
    return pipeline


def measure(frozen: FrozenComponent, given: list[ProgramDocument], rounds: int) -> dict[str, float]:
    """Medians of the documents a second of all four ways, and of the ratios within each round."""
    documents = [Document(id=each.doc_id, content=each.text, meta=dict(each.metadata)) for each in given]
    single, empty = RepresentationPreprocessor(str(frozen.path)), in_pipeline(Nothing())
    within = in_pipeline(RepresentationPreprocessor(str(frozen.path)))
    # How much a program may make of all documents was judged where it was learned.
    limits = Limits(corpus_growth=1 << 40)
    with DocumentFile() as file, ProgramRunner(frozen.program, file, state=frozen.state, limits=limits) as runner:

        def bare() -> list[list[str]]:
            file.write(given)
            chunks: list[list[str]] = [[] for _ in given]
            runner.stream(
                lambda block: [chunks[at].extend(block.texts_of(i)) for i, at in enumerate(block.ordinals)],
                metadata=True,
            )
            return chunks

        ways: dict[str, Callable[[], object]] = {
            "bare": bare,
            "component": lambda: single.run(documents),
            "pipeline": lambda: within.run({"one": {"documents": documents}}),
            "floor": lambda: empty.run({"one": {"documents": documents}}),
        }
        for way in ways.values():
            way()
        taken = [{name: seconds(way) for name, way in ways.items()} for _ in range(rounds)]
    single.close()
    within.close()
    found = {name: len(given) / statistics.median(each[name] for each in taken) for name in ways}
    found["component_ratio"] = statistics.median(each["bare"] / each["component"] for each in taken)
    found["pipeline_ratio"] = statistics.median(each["bare"] / each["pipeline"] for each in taken)
    found["highest_ratio"] = statistics.median(each["bare"] / (each["bare"] + each["floor"]) for each in taken)
    found["beyond_floor_ratio"] = statistics.median((each["bare"] + each["floor"]) / each["pipeline"] for each in taken)
    return found


def seconds(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def table(rows: list[dict[str, Any]]) -> str:
    speeds = "bare, documents a second | component | pipeline | does nothing"
    ratios = "component / bare | pipeline / bare | at most | pipeline / (bare and floor)"
    lines = [f"| program | {speeds} | {ratios} |", "|---" * 9 + "|"]
    for row in rows:
        cells = [f"{row[name]:,.0f}" for name in ("bare", "component", "pipeline", "floor")]
        cells += [f"{row[f'{name}_ratio']:.2f}" for name in ("component", "pipeline", "highest", "beyond_floor")]
        lines.append(f"| {row['program']} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


@click.command(context_settings={"show_default": True})
@click.option("--documents", "number", default=10_000, help="How many documents at most.")
@click.option("--rounds", default=5)
@click.option("--corpus", "collection", type=click.Path(exists=True, path_type=Path), help="Real documents instead.")
@click.option("--component", "components", multiple=True, type=click.Path(exists=True, path_type=Path), help="Learned.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of a table.")
def main(number: int, rounds: int, collection: Path | None, components: tuple[Path, ...], as_json: bool) -> None:
    """Measure and print."""
    if collection:
        given = list(islice(load_collection(collection).documents, number))
    else:
        given = [ProgramDocument(str(i), text, {}) for i, text in enumerate(corpus(number))]
    composed = Program(render(Recipe(tuple(Step.of(name, **TRANSFORMS[name].complete({})) for name in COMPOSED))))
    with TemporaryDirectory() as folder:
        made = {"passages": builtin_program("passages"), "+".join(COMPOSED): composed}
        frozen = {name: freeze(program, given, Path(folder) / name) for name, program in made.items()}
        frozen |= {str(path): load_frozen(path) for path in components}
        rows = [{"program": name, **measure(each, given, rounds)} for name, each in frozen.items()]
    print(json.dumps({"documents": len(given), "rounds": rounds, "programs": rows}) if as_json else table(rows))


if __name__ == "__main__":
    main()
