"""Where the candidates of a race are trained."""

from contextlib import AbstractContextManager, nullcontext

from diffmg.core import DiffmgError, Plan
from diffmg.race.executor import Executor


def cluster_of(plan: Plan, cluster: str | None) -> AbstractContextManager[Executor | None]:
    """In this process, or on Ray: "ray" for all cores of this machine, or the address of a cluster."""
    if cluster is None:
        return nullcontext()
    if plan.budget is None:
        raise DiffmgError(f"a cluster is for a race, which has a budget, but got cluster={cluster!r} without one")
    from diffmg.race.on_ray import OnRay

    return OnRay(None if cluster == "ray" else cluster)
