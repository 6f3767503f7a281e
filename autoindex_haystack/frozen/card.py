"""The ``README.md`` of a frozen component: what it does, on what it was learned, how to use it."""

import ast

from autoindex_haystack.frozen.manifest import Gain, Manifest
from autoindex_haystack.program import Program


def render_card(manifest: Manifest, program: Program) -> str:
    """Write the card.

    :param manifest: The component's manifest.
    :param program: The program.
    :returns: Markdown.
    """
    title = "# Frozen representation program"
    sections = [title, _summary(program), _origin(manifest), _figures(manifest), _use(manifest)]
    return "\n\n".join(section for section in sections if section) + "\n"


def _summary(program: Program) -> str:
    try:
        docstring = ast.get_docstring(ast.parse(program.source))
    except (SyntaxError, ValueError, RecursionError):
        docstring = None
    return docstring or "The program is in `program.py`."


def _origin(manifest: Manifest) -> str:
    if manifest.learned_on is None:
        return "It was frozen as given, without a search."
    on = manifest.learned_on
    steps = [f"{i}. {step.idea} (validation Recall@100 {step.gain:+.4f})" for i, step in enumerate(manifest.lineage, 1)]
    text = (
        f"Learned on `{on.name}`: {on.documents:,} documents, {on.validation_queries} validation and "
        f"{on.held_out_queries} held-out queries."
    )
    if on.synthetic:
        text += f" The queries and judgments are **synthetic**: {on.synthetic}."
    adopted = "Adopted on the way:\n\n" + "\n".join(steps) if steps else "No candidate was better than the baseline."
    return f"{text} {adopted}"


def _figures(manifest: Manifest) -> str:
    rows = [
        f"| {metric} | {manifest.baseline.held_out[metric]:.4f} | {value:.4f} |"
        for metric, value in manifest.learned.held_out.items()
        if metric in manifest.baseline.held_out
    ]
    if not rows:
        return ""
    table = "\n".join(["| held-out | full document | learned |", "|---|---|---|", *rows])
    return f"{table}\n\n{_gain(manifest.gain)}" if manifest.gain else table


def _gain(gain: Gain) -> str:
    """What was gained, and what speaks for it."""
    detectable = f"{gain.detectable:.4f}" if gain.detectable is not None else "no gain at all"
    return (
        f"Gain in {gain.objective}: {gain.held_out:+.4f} on the held-out queries (95 % interval {gain.low:+.4f} to "
        f"{gain.high:+.4f}; p {gain.p_value:.2g} by a paired t-test, {gain.p_sign_flip:.2g} by a permutation test). On "
        f"the validation queries, by which it was chosen, {gain.validation:+.4f}, or {gain.corrected:+.4f} without the "
        f"luck of having been chosen; they could show a gain of {detectable}. Rule of acceptance: {gain.acceptance}."
    )


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
`{manifest.sha256}`; `RepresentationPreprocessor(path, sha256=…)` refuses anything else. After moving the folder run
`autoindex verify --relocate` on it."""
