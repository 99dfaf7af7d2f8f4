"""Steps of fixed shape, captured once as a CUDA graph and replayed without the host."""

import warnings
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from itertools import cycle

import torch

STREAMS = 8
"""Streams shared by all replays: the library keeps a workspace for every stream that ever ran a matrix product."""


@cache
def _streams(device: torch.device) -> Iterator[torch.cuda.Stream]:
    return cycle([torch.cuda.Stream(device) for _ in range(STREAMS)])  # type: ignore[no-untyped-call]


class Replay:
    """Runs a step repeatedly. Every call must use the same memory and never read a value back to the host."""

    def __init__(
        self, step: Callable[[], None], device: torch.device, generators: Sequence[torch.Generator] = ()
    ) -> None:
        """`generators`: the random generators the step draws from."""
        self.step, self.generators = step, generators
        self.stream = next(_streams(device))
        self.graph: torch.cuda.CUDAGraph | None = None
        self.warm, self.capturable = False, True

    def __call__(self, times: int) -> None:
        """Queue the step `times` times without waiting. The first is an eager warm-up; the second is captured."""
        self.stream.wait_stream(torch.cuda.current_stream(self.stream.device))
        with torch.cuda.stream(self.stream):
            for _ in range(times):
                self._step()

    def wait(self) -> None:
        """Wait until all queued steps are done."""
        self.stream.synchronize()

    def read(self, value: torch.Tensor) -> Callable[[], torch.Tensor]:
        """Queue a copy to the host behind the steps, and what is queued next behind both; the result waits for it."""
        with torch.cuda.stream(self.stream):
            copy = value.to("cpu", non_blocking=True)
            copied = self.stream.record_event()
        torch.cuda.current_stream(self.stream.device).wait_event(copied)

        def wait() -> torch.Tensor:
            copied.synchronize()
            return copy

        return wait

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
            self.graph = self._capture_graph()
        except RuntimeError as error:
            self.capturable = False
            reason = str(error).splitlines()[0]
            warnings.warn(f"epochs are not captured, they run one by one, more slowly: {reason}", stacklevel=2)

    def _capture_graph(self) -> torch.cuda.CUDAGraph:
        free, total = torch.cuda.mem_get_info(self.stream.device)
        if free < total / 2:  # a capture cannot reuse the memory that the warm-up left in the cache
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
