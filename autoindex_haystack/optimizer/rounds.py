"""One round of a search: propose, evaluate, decide which candidate becomes the incumbent."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial

from autoindex_haystack.errors import ProgramError
from autoindex_haystack.evaluation import Evaluation
from autoindex_haystack.optimizer.acceptance import Verdict, acceptance_rule
from autoindex_haystack.optimizer.correction import luck_of_a_step
from autoindex_haystack.optimizer.events import CandidatesProposed, CandidateTried, Listener, Phase
from autoindex_haystack.optimizer.leaks import find_leak
from autoindex_haystack.optimizer.proposals import Proposals
from autoindex_haystack.optimizer.recall import Tried
from autoindex_haystack.optimizer.selection import compare
from autoindex_haystack.optimizer.settings import SearchSettings
from autoindex_haystack.optimizer.simplify import simplifications
from autoindex_haystack.optimizer.standing import Standing
from autoindex_haystack.optimizer.trials import Trials
from autoindex_haystack.program import Program, check_source
from autoindex_haystack.proposers import Candidate, CollectionView, Dropped, Outcome, Proposer, ProposerState
from autoindex_haystack.runs import RunFolder


@dataclass(frozen=True)
class Decision:
    """What came of a round.

    :param adopted: The adopted outcome, if any.
    :param refused: The best candidate that gained and still was refused, if any.
    """

    adopted: Outcome | None
    refused: Verdict | None


class Rounds:
    """The rounds of one search.

    :param proposer: Who suggests programs.
    :param view: What the proposer may see of the collection.
    :param trials: Evaluates programs.
    :param standing: How far the search has come; the rounds move it on.
    :param settings: How the search is done.
    :param folder: Where everything is written down.
    :param listener: Called with events.
    """

    def __init__(
        self,
        proposer: Proposer,
        view: CollectionView,
        trials: Trials,
        standing: Standing,
        settings: SearchSettings,
        folder: RunFolder,
        listener: Listener,
    ) -> None:
        self._proposals = Proposals(proposer, folder, trials)
        self._view = view
        self._trials = trials
        self._standing = standing
        self._settings = settings
        self._folder = folder
        self._listen = listener
        self._acceptance = acceptance_rule(settings, len(view.queries))

    def play(self, iteration: int) -> Decision:
        """Do one round.

        :param iteration: Its number, from 1.
        :returns: What was decided.
        :raises SearchEnded: If the proposer cannot go on.
        """
        state = self._state(iteration)
        self._listen(Phase(f"iteration {iteration}: proposing"))
        try:
            candidates = self._proposals.propose(state)
        finally:
            self._trials.close_lookup()
        outcomes = self._try(candidates, iteration)
        incumbent = self._standing.evaluation
        promising = self._acceptance.promising(outcomes, incumbent)
        if len(promising) > 1 and (combined := self._combine(state, outcomes, promising)):
            outcomes.append(combined)
        verdicts = self._acceptance.decide(iteration, outcomes, incumbent)
        decided: dict[int, Outcome] = {}
        accepted = [verdict.outcome for verdict in verdicts if verdict.accepted]
        for winner in accepted or simplifications(outcomes, incumbent):
            decided[id(winner)] = self._confirm(winner)
            if decided[id(winner)].adopted:
                # What only shortens was not chosen for a gain.
                for chosen in (verdict for verdict in verdicts if verdict.accepted and verdict.outcome is winner):
                    luck = luck_of_a_step(chosen, verdicts, outcomes, incumbent, self._settings.objective)
                    self._standing.luck += luck
                break
        reasons = {id(verdict.outcome): verdict.reason for verdict in verdicts}
        self._standing.history += [
            decided.get(id(outcome)) or replace(outcome, refused=reasons.get(id(outcome), "")) for outcome in outcomes
        ]
        adopted = next((outcome for outcome in decided.values() if outcome.adopted), None)
        sha256 = adopted.candidate.sha256 if adopted else None
        self._folder.append(
            {
                "record": "decision",
                "iteration": iteration,
                "adopted": sha256,
                "verdicts": [verdict.as_json() for verdict in verdicts],
            }
        )
        return Decision(adopted, next((verdict for verdict in verdicts if not verdict.accepted), None))

    def _combine(self, state: ProposerState, outcomes: Sequence[Outcome], better: Sequence[Outcome]) -> Outcome | None:
        """Try several improvements in one program, if the proposer can join them."""
        known = replace(state, history=(*state.history, *outcomes))
        combination = self._proposals.combine(known, better)
        if combination is None:
            return None
        [outcome] = self._try([combination], state.iteration, before=len(outcomes), combined=True)
        return outcome

    def _try(
        self, candidates: Sequence[Candidate], iteration: int, *, before: int = 0, combined: bool = False
    ) -> list[Outcome]:
        """Evaluate candidates against the incumbent; a failure is an outcome too.

        Their records and events come in the order of the candidates, however many are evaluated at a time.
        """
        self._listen(CandidatesProposed(iteration, tuple(candidates), combined))
        numbers = range(before + 1, before + 1 + len(candidates))
        programs = [
            Program(candidate.source, f"candidate {iteration}.{number}")
            for number, candidate in zip(numbers, candidates, strict=True)
        ]
        outcomes: list[Outcome] = []

        def take(i: int, found: Tried) -> None:
            self._write_down(candidates[i], iteration, numbers[i], combined=combined)
            self._trials.keep(programs[i], found)
            outcome = Outcome(iteration, candidates[i], combined=combined)
            if isinstance(found, Evaluation):
                outcome = compare(outcome, found, self._standing.evaluation, self._settings.objective)
            elif isinstance(found, Dropped):
                outcome = replace(outcome, gain=found.gain, dropped=found)
            else:
                outcome = replace(outcome, error=str(found))
            self._listen(CandidateTried(outcome, numbers[i]))
            outcomes.append(outcome)

        self._trials.evaluate_all(programs, iteration, numbers, partial(self._prepare_stage, iteration), take)
        return outcomes

    def _write_down(self, candidate: Candidate, iteration: int, number: int, *, combined: bool) -> None:
        self._folder.add_program(candidate.source, candidate.sha256)
        self._folder.append(
            {
                "record": "candidate",
                "iteration": iteration,
                "number": number,
                "program": candidate.sha256,
                "idea": candidate.idea,
                "rationale": candidate.rationale,
                "parents": list(candidate.parents),
                "combined": combined,
                **({"proposer": candidate.proposer} if candidate.proposer else {}),
            }
        )

    def _prepare_stage(self, iteration: int) -> None:
        """Have the incumbent run over the stage."""
        self._listen(Phase(f"iteration {iteration}: choosing the stage"))
        with self._trials.timed("stage"):
            self._trials.staging.prepare(
                self._standing.incumbent, self._standing.evaluation, self._acceptance.smallest_gain()
            )

    def _confirm(self, winner: Outcome) -> Outcome:
        """Adopt an improvement if it gives the same output under other circumstances; else it has failed."""
        assert winner.evaluation
        program = Program(winner.candidate.source)
        self._listen(Phase(f"iteration {winner.iteration}: running the best program again"))
        try:
            self._trials.check_again(program, winner.evaluation)
        except ProgramError as error:
            self._trials.keep(program, error)
            return replace(winner, evaluation=None, gain=None, fixed=(), broken=(), error=str(error))
        if leak := find_leak(program.source, self._view):
            self._folder.append({"record": "leak", "program": program.sha256, **asdict(leak)})
            self._standing.notes.append(f"Program {program.sha256[:12]}, which was adopted, {leak}")
        self._standing.adopt(program, winner.evaluation)
        return replace(winner, adopted=True)

    def _state(self, iteration: int) -> ProposerState:
        standing, allowed = self._standing, self._settings.allowed_imports
        incumbent, evaluation = standing.incumbent, standing.evaluation
        return ProposerState(
            seed=self._settings.seed,
            iteration=iteration,
            number=self._settings.candidates,
            collection=self._view,
            incumbent=incumbent,
            evaluation=evaluation,
            baseline=standing.baseline_evaluation,
            history=tuple(standing.history),
            check=lambda source: [str(problem) for problem in check_source(source, allowed)],
            diagnosis=lambda: self._trials.diagnose(incumbent, evaluation),
            lookup=lambda: self._trials.look_up(incumbent, evaluation),
            trial=self._trials.try_out,
            pause=self._trials.pause,
            note=lambda evidence: self._folder.append({"record": "evidence", "iteration": iteration, **evidence}),
            objective=self._settings.objective,
            max_growth=self._settings.growth_limit,
        )
