"""A finished run as one HTML file that needs nothing else: no network, no server, no other file.

What documents, queries, programs and models wrote is text on the page and never markup: the template escapes it, the
script only sets text, and the page's content security policy runs nothing but this script, by its hash.
"""

import base64
import hashlib
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from autoindex_haystack.evaluation import PairedDifference
from autoindex_haystack.evaluation.metrics import TITLES
from autoindex_haystack.evaluation.objective import objective_name
from autoindex_haystack.files import atomic_file
from autoindex_haystack.frozen import Certificate, outdated, read_certificate
from autoindex_haystack.report.charts import growth_chart, pareto_chart, program_tree, progress_chart, summary
from autoindex_haystack.report.heatmap import make_heatmap
from autoindex_haystack.report.programs import Tried, read_programs
from autoindex_haystack.report.queries import query_tables
from autoindex_haystack.report.sources import pack_sources
from autoindex_haystack.runs import RunInfo, RunResult, read_info, read_result

if TYPE_CHECKING:
    import jinja2

FILE = "report.html"

MOST_BYTES = 3_000_000
"""What a page may weigh; of many queries those that changed most are shown."""

_ROWS = (2_000, 1_000, 500, 250, 100, 25)


def write_report(run: str | Path, out: Path | None = None) -> Path:
    """Write the page of a finished run.

    :param run: The run folder.
    :param out: The file; ``report.html`` in the run folder when not given.
    :returns: The file.
    :raises RunError: If the folder holds no finished run, or the file cannot be written.

    ```python
    from autoindex_haystack.report import write_report

    print(write_report("my_run"))
    ```
    """
    run = Path(run)
    path = out or run / FILE
    page = render_report(run)
    with atomic_file(path) as temporary:
        temporary.write_bytes(page)
    return path


def render_report(run: Path) -> bytes:
    """Make the page of a finished run.

    :param run: The run folder.
    :returns: HTML in UTF-8.
    :raises RunError: If the folder holds no finished run.
    """
    info, result = read_info(run), read_result(run)
    objective: Any = result.gain.objective
    programs = read_programs(run, objective)
    # A guarded search has a limit; the paper's rule has none.
    limit = info.settings.max_growth if info.settings.acceptance == "guarded" else None
    certificate = _certificate(run, result)
    shown = {
        "run": run.resolve().name,
        "info": info,
        "result": result,
        "objective": objective_name(objective),
        "objective_key": objective if objective in TITLES else None,
        "metrics": TITLES,
        "programs": programs,
        "learned": next((i for i, p in enumerate(programs) if p.sha256 == result.program_sha256 and p.source), 0),
        "steps": [tried for tried in programs if tried.fate == "adopted"],
        "verdict": verdict(result, programs[0].sha256),
        "intervals": _intervals(result.differences),
        "progress": progress_chart(programs, objective_name(objective)),
        "tree": program_tree(programs),
        "pareto": pareto_chart(programs, {point.program_sha256 for point in result.pareto}),
        "growth": growth_chart(programs, limit),
        "heatmap": make_heatmap(programs, objective),
        "times": _times(result),
        "tokens": {**result.llm.get("by_role", {}), "all": result.llm} if result.llm else {},
        "certificate": certificate,
        "outdated": outdated(certificate) if certificate else [],
        "settings": _settings(info),
        "summary": summary,
    }
    data = _data(programs, shown["heatmap"])
    template = _environment().get_template("page.html.j2")
    page = b""
    for most in _ROWS:
        tables = query_tables(run, programs, result, objective, most)
        text = template.render(**shown, tables=tables, data=data, **_inlined())
        # Half a surrogate pair, which a model can write, has no bytes.
        page = text.encode("utf-8", "replace")
        if len(page) <= MOST_BYTES or all(len(table.rows) < most for table in tables):
            break
    return page


def verdict(result: RunResult, baseline: str) -> str:
    """Say in a sentence what the held-out queries say of the learned program.

    :param result: The run's result.
    :param baseline: The baseline's hash.
    :returns: The sentence.
    """
    gain = result.gain
    name = objective_name(gain.objective)  # type: ignore[arg-type]
    if result.program_sha256 == baseline:
        return "No candidate was better than the baseline by more than luck, so the baseline was frozen."
    change = f"{gain.held_out:+.4f} {name} on the held-out queries"
    interval = f"95 % interval {gain.low:+.4f} to {gain.high:+.4f}"
    if gain.low > 0:
        return f"The learned program is better: {change} ({interval})."
    if gain.high < 0:
        return f"The learned program is worse on queries that did not choose it: {change} ({interval})."
    return f"Whether the learned program is better cannot be told from these queries: {change} ({interval})."


def _certificate(run: Path, result: RunResult) -> Certificate | None:
    """The run folder may have been moved since the result was written."""
    inside = run / "frozen"
    return read_certificate(inside if inside.is_dir() else Path(result.frozen))


def _intervals(differences: dict[str, PairedDifference]) -> dict[str, dict[str, float]]:
    """Where the intervals of held-out differences lie on a common axis of 200 units with 0 in the middle."""
    reach = max([abs(end) for d in differences.values() for end in (d.low, d.high)], default=0.0) or 1.0
    return {
        metric: {name: 100 + 92 * getattr(d, name) / reach for name in ("low", "mean", "high")}
        for metric, d in differences.items()
    }


def _times(result: RunResult) -> list[tuple[str, float, float]]:
    """Phases with seconds and share of the longest, the longest first."""
    phases = [(phase, seconds) for phase, seconds in result.seconds.items() if phase != "total" and seconds > 0]
    longest = max((seconds for _, seconds in phases), default=1.0)
    return [(phase, seconds, seconds / longest) for phase, seconds in sorted(phases, key=lambda item: -item[1])]


def _settings(info: RunInfo) -> list[tuple[str, str]]:
    """The settings of the run for people."""
    settings = info.settings
    rows = [
        ("proposer", settings.proposer),
        ("objective", settings.objective),
        ("rule of acceptance", settings.acceptance),
        ("iterations × candidates", f"{settings.iterations} × {settings.candidates}"),
        ("seed", str(settings.seed)),
        ("engine", settings.backend),
        ("BM25", f"k1 {settings.bm25.k1:g}, b {settings.bm25.b:g}, analyzer {settings.bm25.analyzer}"),
        ("metadata fields that programs saw", ", ".join(settings.metadata_fields) or "none beside the title"),
        ("further imports allowed", ", ".join(settings.allowed_imports) or "none"),
    ]
    own = [(f"proposer: {name}", str(value)) for name, value in settings.proposer_settings.items()]
    versions = [(f"version of {name}", version) for name, version in info.versions.items()]
    return [*rows, *own, *versions]


def _data(programs: list[Tried], heatmap: Any) -> dict[str, Any]:
    """What the page's script needs."""
    return {
        "programs": [
            {
                "label": tried.label,
                "sha256": tried.sha256,
                "fate": tried.fate,
                "idea": tried.idea,
                "rationale": tried.rationale,
                "reason": tried.reason,
                "parents": [parent[:12] for parent in tried.parents],
                "figures": _figures(tried),
            }
            for tried in programs
        ],
        **pack_sources(programs),
        "queries": heatmap.queries,
        "cells": [row.cells for row in heatmap.rows],
    }


def _figures(tried: Tried) -> list[list[str]]:
    figures = [[TITLES[name], f"{value:.4f}"] for name, value in tried.metrics.items() if name in TITLES]
    if tried.gain is not None and tried.fate != "baseline":
        figures.insert(0, ["gain in the objective", f"{tried.gain:+.4f}"])
    for name, number, form in (
        ("times the corpus", tried.growth, "{:.2f}"),
        ("chunks", tried.chunks, "{:,}"),
        ("seconds", tried.seconds, "{:.1f}"),
    ):
        if number is not None:
            figures.append([name, form.format(number)])
    return figures


@cache
def _environment() -> "jinja2.Environment":
    import jinja2

    return jinja2.Environment(
        loader=jinja2.FileSystemLoader(Path(__file__).parent / "templates"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


@cache
def _inlined() -> dict[str, Any]:
    """Style and script as they stand on the page, and the hashes by which the page's policy knows them."""
    from markupsafe import Markup

    found: dict[str, Any] = {}
    for name, file in (("style", "page.css"), ("script", "page.js")):
        text = (Path(__file__).parent / "templates" / file).read_text(encoding="utf-8")
        digest = base64.b64encode(hashlib.sha256(text.encode("utf-8")).digest()).decode("ascii")
        found |= {name: Markup(text), f"{name}_hash": Markup(f"'sha256-{digest}'")}
    return found
