"""The ``README.md`` of a frozen component, a model card: what it does, on what it was learned, what it is worth."""

import ast

from autoindex_haystack.frozen.manifest import Figures, Gain, LearnedOn, Manifest
from autoindex_haystack.program import Program
from autoindex_haystack.program.source import parse


def render_card(manifest: Manifest, program: Program) -> str:
    """Write the card.

    :param manifest: The component's manifest.
    :param program: The program.
    :returns: Markdown.
    """
    title = "# Frozen representation program"
    if manifest.learned_on is not None:
        title += f" for {_code(manifest.learned_on.name)}"
    sections = [
        title,
        _summary(program, manifest),
        _origin(manifest),
        _figures(manifest),
        _limits(manifest),
        _use(manifest),
        _again(manifest),
    ]
    return "\n\n".join(section for section in sections if section) + "\n"


def _code(text: str) -> str:
    """A name between backticks, whatever is in it."""
    return f"`{' '.join(text.replace('`', chr(39)).split())}`"


def _summary(program: Program, manifest: Manifest) -> str:
    try:
        docstring = ast.get_docstring(parse(program.source))
    except (SyntaxError, ValueError, RecursionError):
        docstring = None
    state = " With it goes `state.json`, what it learned from its corpus." if manifest.state_sha256 else ""
    return (
        "It turns each document into the text that BM25 indexes. Documents come back from a search as they were.\n\n"
        f"## What it does\n\n{docstring or 'See the program.'}\n\nThe program is in `program.py`.{state}"
    )


def _origin(manifest: Manifest) -> str:
    heading = "## On what it was learned\n\n"
    if manifest.learned_on is None:
        return heading + "It was frozen as given, without a search."
    on = manifest.learned_on
    objective = manifest.gain.objective if manifest.gain else "recall@100"
    steps = [
        f"{i}. {' '.join(step.idea.split())} (validation {objective} {step.gain:+.4f})"
        for i, step in enumerate(manifest.lineage, 1)
    ]
    text = (
        f"Learned on {_code(on.name)}: {on.documents:,} documents, {on.validation_queries} validation and "
        f"{on.held_out_queries} held-out queries."
    )
    if on.synthetic:
        text += f" The queries and judgments are **synthetic**: {on.synthetic}."
    adopted = "Adopted on the way:\n\n" + "\n".join(steps) if steps else "No candidate was better than the baseline."
    return f"{heading}{text} {adopted}"


def _figures(manifest: Manifest) -> str:
    before, after = manifest.baseline, manifest.learned
    rows = [_row(metric, before, after, manifest) for metric in after.held_out if metric in before.held_out]
    if not rows:
        return ""
    head = ["| held-out | full document | learned | difference | 95 % interval |", "|---|---|---|---|---|"]
    table = "\n".join(["## Figures", "", *head, *rows])
    return f"{table}\n\n{_gain(manifest.gain)}" if manifest.gain else table


def _row(metric: str, before: Figures, after: Figures, manifest: Manifest) -> str:
    old, new = before.held_out[metric], after.held_out[metric]
    interval = manifest.intervals.get(metric)
    shown = f"{interval[0]:+.4f} to {interval[1]:+.4f}" if interval else "–"
    return f"| {metric} | {old:.4f} | {new:.4f} | {new - old:+.4f} | {shown} |"


def _gain(gain: Gain) -> str:
    """What was gained, and what speaks for it."""
    detectable = f"{gain.detectable:.4f}" if gain.detectable is not None else "no gain at all"
    return (
        f"Gain in {gain.objective}: {gain.held_out:+.4f} on the held-out queries (95 % interval {gain.low:+.4f} to "
        f"{gain.high:+.4f}; p {gain.p_value:.2g} by a paired t-test, {gain.p_sign_flip:.2g} by a permutation test). On "
        f"the validation queries, by which it was chosen, {gain.validation:+.4f}, or {gain.corrected:+.4f} without the "
        f"luck of having been chosen; they could show a gain of {detectable}. Rule of acceptance: {gain.acceptance}."
    )


def _limits(manifest: Manifest) -> str:
    bm25, on, gain = manifest.settings.bm25, manifest.learned_on, manifest.gain
    retriever = f"BM25 with k1 {bm25.k1:g}, b {bm25.b:g} and the analyzer {bm25.analyzer}"
    limits = [
        f"It was made for {retriever}; with another retriever measure first (`autoindex evaluate`).",
        "What it adds is for the index, not for readers.",
    ]
    if gain is not None and gain.low <= 0 <= gain.high:
        limits.append("The interval of the held-out gain includes 0: that it is better is not certain.")
    if on is not None:
        limits.append(
            "Figures hold for documents and queries like those that it was learned on. `autoindex drift` tells whether "
            "new documents still are."
        )
    if on is not None and on.synthetic:
        limits.append("Its queries were made by rule, so its gain for queries of people is not known.")
    if fields := manifest.settings.metadata_fields:
        limits.append(f"It reads the metadata fields {', '.join(map(_code, fields))}; documents should have them.")
    if manifest.state_sha256:
        limits.append("Words that are new since it was learned are indexed as they stand.")
    return "## Limits\n\n" + "\n".join(f"- {limit}" for limit in limits)


def _use(manifest: Manifest) -> str:
    return f"""## Use

```python
from haystack import Document, Pipeline

with open("indexing.yaml") as file:
    indexing = Pipeline.load(file)
indexing.run({{"preprocessor": {{"documents": [Document(content="…")]}}}})

with open("query.yaml") as file:
    query = Pipeline.load(file)
print(query.run({{"retriever": {{"query": "…"}}}})["retriever"]["documents"])
```

`indexing.lucene.yaml` and `query.lucene.yaml` do the same with Lucene. For OpenSearch and Elasticsearch name your hosts
in the pipelines with these words in their names; the index gets the same BM25 parameters and analyzer (Elasticsearch:
create it from `index.elasticsearch.json` first). The component's hash is
`{manifest.sha256}`; `RepresentationPreprocessor(path, sha256=…)` refuses anything else. It covers program, state and
settings; `fingerprint.json`, what the documents were like, is no part of it. After moving the folder run
`autoindex verify --relocate` on it."""


def _again(manifest: Manifest) -> str:
    on = manifest.learned_on
    if on is None:
        return ""
    return f"""## Learn again

{_command(manifest, on)}

`--start THIS_FOLDER` begins with this program. `autoindex compare THIS_FOLDER new_run/frozen COLLECTION` tells which
of the two is better, query by query."""


def _command(manifest: Manifest, on: LearnedOn) -> str:
    """The command that searches on a collection as this one was searched on."""
    settings = manifest.settings
    options = [f"--k1 {settings.bm25.k1:g}", f"--b {settings.bm25.b:g}", f"--analyzer {settings.bm25.analyzer}"]
    options += [f"--metadata-fields {','.join(settings.metadata_fields)}"] if settings.metadata_fields else []
    options += [f"--allow-import {','.join(settings.allowed_imports)}"] if settings.allowed_imports else []
    options += [f"--split-seed {on.split_seed}"] if on.split_seed is not None else []
    return f"```bash\nautoindex optimize COLLECTION --out new_run {' '.join(options)}\n```"
