"""`python slowly.py PHASE EPOCH ARGUMENTS...`: the command line, slow from one epoch on: a signal hits there."""

from __future__ import annotations

import sys
import time

from diffmg.cli import common, main
from diffmg.training import Epoch, Job

PHASE, EPOCH = sys.argv[1], int(sys.argv[2])


class SlowWatch(common.ProgressWatch):
    """Waits after each epoch of one phase."""

    def begin(self, phase: str, job: Job) -> None:
        self.phase = phase
        super().begin(phase, job)

    def epoch(self, record: Epoch) -> None:
        super().epoch(record)
        if self.phase == PHASE and record.epoch >= EPOCH:
            time.sleep(0.2)


if __name__ == "__main__":
    common.ProgressWatch = SlowWatch
    del sys.argv[1:3]
    main()
