"""Trials on a Ray cluster: on all cores or cards of one machine or of several."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from types import ModuleType, TracebackType
from typing import Any, Self

from diffmg.core import DiffmgError
from diffmg.engine.device import on_host
from diffmg.race.executor import Collect, Executor
from diffmg.race.field import Field
from diffmg.race.ray_cluster import connected
from diffmg.race.ray_worker import on_device, train_trial
from diffmg.race.trial import Outcome, Trial
from diffmg.training.parallel import CONCURRENT

TRIES = 3
"""How often a trial is begun whose worker is lost: killed, out of memory, or gone with its machine."""


class OnRay(Executor):
    """An executor on a Ray cluster, connected from `with` or from its first run until it is closed.

    `address`: `HOST:PORT` or `ray://HOST:PORT` of a running cluster; by default one is started on this machine, with
    so many `workers` (one a core), and stopped at the end. `num_gpus`: the share of a card that a trial takes, where
    the problem is on one.

    A trial has a CPU to itself and one thread, so the outcomes are those of `Local` on the same kind of CPU.
    """

    def __init__(
        self, address: str | None = None, *, workers: int | None = None, num_gpus: float = 1 / CONCURRENT
    ) -> None:
        if not num_gpus > 0:
            raise DiffmgError(f"`num_gpus > 0` must hold, but got num_gpus={num_gpus}")
        if workers is not None and (workers < 1 or address is not None):
            raise DiffmgError(
                f"`workers >= 1` is for a cluster that is started here, but got workers={workers} and "
                f"address={address!r}"
            )
        self.address, self.workers, self.num_gpus = address, workers, num_gpus
        self._open = ExitStack()
        self._ray: ModuleType | None = None
        self._sent: tuple[Field, Any] | None = None
        """The field that the cluster has, and the reference to it."""
        self._begun: list[_Batch] = []
        """What has not been collected."""

    def __enter__(self) -> Self:
        self._connected()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def begin(self, field: Field, trials: Sequence[Trial]) -> Collect:
        """Begin to train all of them."""
        ray = self._connected()
        self._begun = [batch for batch in self._begun if batch.running]
        self._begun.append(_Batch(ray, self._submitter(ray, field), trials))
        return self._begun[-1].collect

    def close(self) -> None:
        """Leave the cluster, or stop the one that was started; trials that are under way are cancelled."""
        for batch in self._begun:
            batch.cancel()
        self._ray, self._sent, self._begun = None, None, []
        self._open.close()

    def _connected(self) -> ModuleType:
        if self._ray is None:
            self._ray = self._open.enter_context(connected(self.address, self.workers))
        return self._ray

    def _submitter(self, ray: ModuleType, field: Field) -> Callable[[Trial], Any]:
        """What hands a trial to the cluster."""
        device = field.problem.graph.device
        cards = 0.0 if on_host(device) else self.num_gpus
        if ray.cluster_resources().get("GPU", 0.0) < cards:
            raise DiffmgError(f"a problem on a card needs a cluster with cards, but got {ray.cluster_resources()}")
        if self._sent is None or self._sent[0] is not field:
            self._sent = (field, ray.put(on_device(field, "cpu")))
        reference = self._sent[1]
        # Ray would begin lost trials again without telling, and start a process for every trial on a card
        remote = ray.remote(max_calls=0, max_retries=0, num_cpus=1, num_gpus=cards)(train_trial)
        return lambda trial: remote.remote([reference], device.type, trial)


class _Batch:
    """Trials that were handed to a cluster; whatever is running when their collection is interrupted is cancelled."""

    def __init__(self, ray: ModuleType, submit: Callable[[Trial], Any], trials: Sequence[Trial]) -> None:
        self.ray, self.submit, self.trials = ray, submit, trials
        self.losses: Counter[int] = Counter()
        self.running: dict[Any, int] = {}
        try:
            for number, trial in enumerate(trials):
                self.running[submit(trial)] = number
        except BaseException:
            self.cancel()
            raise

    def collect(self) -> list[Outcome]:
        """Take outcomes as they come; in the order of the trials."""
        outcomes: dict[int, Outcome] = {}
        try:
            while self.running:
                ready = self.ray.wait(list(self.running), num_returns=1)[0][0]
                number = self.running.pop(ready)
                found = _outcome(self.ray, ready)
                if isinstance(found, Outcome):
                    outcomes[number] = found
                    continue
                self.losses[number] += 1
                if self.losses[number] < TRIES:
                    self.running[self.submit(self.trials[number])] = number
                else:
                    outcomes[number] = Outcome(error=f"its worker was lost {TRIES} times: {type(found).__name__}")
        except BaseException:
            self.cancel()
            raise
        return [outcomes[number] for number in range(len(self.trials))]

    def cancel(self) -> None:
        """Stop whatever is running."""
        for reference in self.running:
            self.ray.cancel(reference, force=True)
        self.running = {}


def _outcome(ray: ModuleType, reference: Any) -> Outcome | Exception:
    """The outcome of a trial that is over, or how its worker was lost. What a trial raised is raised here."""
    try:
        outcome: Outcome = ray.get(reference)
    except ray.exceptions.RayTaskError as error:
        raise error.cause from error
    except ray.exceptions.RayError as error:
        return error  # type: ignore[no-any-return]
    return outcome
