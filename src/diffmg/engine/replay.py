"""A step of fixed shape: on a GPU captured once as a CUDA graph and replayed without the host."""

import warnings
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from itertools import cycle

import torch

STREAMS = 8
"""Streams that all replays share: the library keeps a workspace of its own for every stream that ever multiplied."""


@cache
def _streams(device: torch.device) -> Iterator[torch.cuda.Stream]:
    return cycle([torch.cuda.Stream(device) for _ in range(STREAMS)])  # type: ignore[no-untyped-call]


class Replay:
    """Calls a step again and again. The step must touch the same memory in every call and never ask for a value."""

    def __init__(
        self, step: Callable[[], None], device: torch.device, generators: Sequence[torch.Generator] = ()
    ) -> None:
        """`generators`: the streams of random numbers the step draws from."""
        self.step, self.generators = step, generators
        self.stream = next(_streams(device))
        self.graph: torch.cuda.CUDAGraph | None = None
        self.warm, self.capturable = False, True

    def __call__(self, times: int) -> None:
        """Do the step so often, without waiting for it. The first is run as it is, so that all is loaded; the second
        is captured.
        """
        self.stream.wait_stream(torch.cuda.current_stream(self.stream.device))
        with torch.cuda.stream(self.stream):
            for _ in range(times):
                self._step()

    def wait(self) -> None:
        """Until all is done."""
        self.stream.synchronize()

    def _step(self) -> None:
        if self.graph is None and self.warm and self.capturable:
            self._capture()
        if self.graph is None:
            self.step()
            self.warm = True
        else:
            self.graph.replay()

    def _capture(self) -> None:
        try:
            self.graph = self._captured()
        except RuntimeError as error:
            self.capturable = False
            reason = str(error).splitlines()[0]
            warnings.warn(f"epochs are not captured, they run one by one, more slowly: {reason}", stacklevel=2)

    def _captured(self) -> torch.cuda.CUDAGraph:
        free, total = torch.cuda.mem_get_info(self.stream.device)
        if free < total / 2:  # what the first epoch leaves in the cache cannot be used by a captured one
            self.stream.synchronize()
            torch.cuda.empty_cache()
        graph = torch.cuda.CUDAGraph()
        for generator in self.generators:
            graph.register_generator_state(generator)
        graph.capture_begin(capture_error_mode="thread_local")
        try:
            self.step()
        finally:
            graph.capture_end()
        return graph
