"""A request that is not answered, and why."""

from diffmg.core import DiffmgError


class RefusedError(DiffmgError):
    """Carries the HTTP status."""

    def __init__(self, status: int, reason: str) -> None:
        super().__init__(reason)
        self.status = status
