"""A search as a run of MLflow. MLflow is an extra, and is imported by who makes the listener."""

import hashlib
import json
import logging
import math
import time
from collections.abc import Mapping
from typing import Any

from autoindex_haystack.errors import RunError
from autoindex_haystack.evaluation import Evaluation
from autoindex_haystack.evaluation.objective import Objective, objective_gain, objective_value
from autoindex_haystack.llm.redaction import Redactor, credentials
from autoindex_haystack.optimizer.events import (
    BaselineEvaluated,
    CandidatesProposed,
    CandidateTried,
    Event,
    IterationEnded,
    RunBegun,
    RunEnded,
    StartEvaluated,
)
from autoindex_haystack.runs import RunInfo, RunResult, RunSettings

logger = logging.getLogger(__name__)

_METRICS = ("recall@100", "ndcg@10")
_LONGEST = 6000
"""Characters of a parameter that MLflow takes."""
_RUN_TAG = "autoindex.run"
"""Tells by which run of MLflow an interrupted search is told already."""


class MLflowListener:
    """A listener that logs a search as one run of MLflow.

    The run gets the settings as parameters; the validation figures of the best program so far by iteration, with
    iteration 0 for the baseline or the program that the search started from; at the end the held-out figures, tags with
    the hashes of the program and the component, and the frozen component as the artifact ``frozen``. How a language
    model is reached is not logged, nor are queries. A search that is resumed goes on with its run.

    When MLflow cannot be reached at the beginning, the search does not begin. When that happens later, it is told once
    in the log, and the search goes on without it.

    :param experiment: The experiment's name; it is made when there is none.
    :param tracking_uri: Where MLflow keeps its runs; what MLflow is set to (``MLFLOW_TRACKING_URI``) when not given.
    :param run_name: The run's name; that of the run folder when not given.
    :param tags: Further tags of the run.
    :raises RunError: If MLflow is not installed.

    ```python
    from autoindex_haystack import optimize
    from autoindex_haystack.optimizer import MLflowListener

    optimize("my_collection", "my_run", listener=MLflowListener(tracking_uri="sqlite:///mlflow.db"))
    ```
    """

    def __init__(
        self,
        *,
        experiment: str = "autoindex",
        tracking_uri: str | None = None,
        run_name: str | None = None,
        tags: Mapping[str, str] | None = None,
    ) -> None:
        try:
            import mlflow
        except ImportError as error:
            msg = f'logging to MLflow needs MLflow ({error}); install it with: pip install "autoindex-haystack[mlflow]"'
            raise RunError(msg) from error
        self._uri = tracking_uri or mlflow.get_tracking_uri()
        self._redact = Redactor(credentials(self._uri))
        self._experiment = experiment
        self._run_name = run_name
        self._tags = dict(tags or {})
        self._reached = False

    def __call__(self, event: Event) -> None:
        """Take one event."""
        if isinstance(event, RunBegun):
            self._begin(event)
        elif self._reached:
            try:
                self._take(event)
            except Exception as error:
                self._reached = False
                logger.warning("MLflow: %s; the search goes on and is no longer logged there", self._said(error))

    def _begin(self, event: RunBegun) -> None:
        from mlflow import MlflowClient

        self._objective: Objective = event.info.settings.objective
        self._baseline: Evaluation | None = None
        self._best: Evaluation | None = None
        self._counts = dict.fromkeys(("tried", "failed", "dropped", "adopted"), 0)
        try:
            self._client = MlflowClient(tracking_uri=self._uri)
            self._run_id, self._steps = self._open(event)
        except Exception as error:
            msg = (
                f"the search cannot be logged to MLflow ({self._said(error)}); see that its store can be reached and "
                "that MLFLOW_TRACKING_URI names it, or search without the listener"
            )
            raise RunError(msg) from error
        self._reached = True

    def _open(self, event: RunBegun) -> tuple[str, set[int]]:
        """Begin a run of MLflow, or go on with the one that this search has; returns its id and the steps in it."""
        client, info = self._client, event.info
        found = client.get_experiment_by_name(self._experiment)
        experiment = found.experiment_id if found else client.create_experiment(self._experiment)
        # The key tells searches apart, and stays where it is.
        key = hashlib.sha256(b"run" + bytes.fromhex(info.id_key)).hexdigest()[:32]
        for run in client.search_runs([experiment], f"tags.`{_RUN_TAG}` = '{key}'", max_results=1):
            client.update_run(run.info.run_id, status="RUNNING")
            known = client.get_metric_history(run.info.run_id, "candidates/tried")
            return run.info.run_id, {metric.step for metric in known}
        tags = {_RUN_TAG: key, **_tags(info), **self._tags}
        run = client.create_run(experiment, tags=tags, run_name=self._run_name or event.run.name)
        for name, value in _parameters(info.settings).items():
            client.log_param(run.info.run_id, name, value)
        return run.info.run_id, set()

    def _take(self, event: Event) -> None:
        match event:
            case BaselineEvaluated(evaluation):
                self._baseline = self._best = evaluation
            case StartEvaluated(evaluation):
                self._best = evaluation
            case CandidatesProposed():
                self._step(0)
            case CandidateTried(outcome):
                self._counts["tried"] += 1
                self._counts["failed"] += bool(outcome.error)
                self._counts["dropped"] += outcome.dropped is not None
            case IterationEnded(iteration, adopted=adopted):
                if adopted and adopted.evaluation:
                    self._counts["adopted"] += 1
                    self._best = adopted.evaluation
                self._step(iteration)
            case RunEnded(run, result, interrupted):
                if result is None:
                    self._client.set_terminated(self._run_id, "KILLED" if interrupted else "FAILED")
                    return
                self._step(0)
                self._log(_final(result), max(self._steps))
                tags = {"program_sha256": result.program_sha256, "component_sha256": result.component_sha256}
                for name, value in tags.items():
                    self._client.set_tag(self._run_id, f"autoindex.{name}", value)
                self._client.log_artifacts(self._run_id, str(run / "frozen"), "frozen")
                self._client.set_terminated(self._run_id, "FINISHED")

    def _step(self, step: int) -> None:
        """Log the standing after an iteration, unless that was done."""
        if step in self._steps or self._best is None or self._baseline is None:
            return
        gain = objective_gain(self._best, self._baseline, self._objective)
        figures = {f"validation/{_name(metric)}": self._best.metrics[metric] for metric in _METRICS}
        figures["validation/objective"] = objective_value(self._best.metrics, self._objective)
        figures |= {"validation/gain": gain.mean, "validation/gain_low": gain.low, "validation/gain_high": gain.high}
        figures["growth"] = self._best.growth
        self._log(figures | {f"candidates/{name}": float(count) for name, count in self._counts.items()}, step)
        self._steps.add(step)

    def _log(self, figures: Mapping[str, float], step: int) -> None:
        from mlflow.entities import Metric

        now = int(time.time() * 1000)
        metrics = [Metric(name, value, now, step) for name, value in figures.items() if math.isfinite(value)]
        self._client.log_batch(self._run_id, metrics)

    def _said(self, error: Exception) -> str:
        """The first line of an error, without the password of the store."""
        return self._redact.text(str(error).strip().partition("\n")[0].rstrip(".") or type(error).__name__)


def _name(metric: str) -> str:
    """A metric as MLflow can name it."""
    return metric.replace("@", "_at_")


def _tags(info: RunInfo) -> dict[str, str]:
    return {
        "autoindex.collection": info.collection,
        "autoindex.collection_fingerprint": info.fingerprint,
        "autoindex.isolation": ", ".join(info.isolation),
        **{f"autoindex.version.{name}": version for name, version in info.versions.items()},
    }


def _parameters(settings: RunSettings) -> dict[str, str]:
    """The settings, flat; without how a language model is reached."""
    flat: dict[str, str] = {}

    def add(name: str, value: Any) -> None:
        if isinstance(value, Mapping):
            for key, member in value.items():
                if key != "connection":
                    add(f"{name}.{key}", member)
        elif value is not None:
            flat[name] = (value if isinstance(value, str) else json.dumps(value))[:_LONGEST]

    for name, value in settings.model_dump(mode="json").items():
        add("proposer" if name == "proposer_settings" else name, value)
    return flat


def _final(result: RunResult) -> dict[str, float]:
    """The figures of a finished search."""
    gain, figures = result.gain, {"validation/gain_corrected": result.gain.corrected}
    for metric, difference in result.differences.items():
        name = f"held_out/{_name(metric)}"
        figures |= {
            name: result.learned.held_out[metric],
            f"{name}_baseline": result.baseline.held_out[metric],
            f"{name}_gain": difference.mean,
            f"{name}_gain_low": difference.low,
            f"{name}_gain_high": difference.high,
        }
    figures |= {"held_out/gain": gain.held_out, "held_out/gain_low": gain.low, "held_out/gain_high": gain.high}
    figures |= {"held_out/p_value": gain.p_value, "seconds": result.seconds["total"]}
    for name in ("calls", "tokens", "usd"):
        if (value := (result.llm or {}).get(name)) is not None:
            figures[f"llm/{name}"] = float(value)
    return figures
