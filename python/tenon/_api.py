"""Plans, sessions and streams. Arrays are used where they lie: nothing is copied in or out.

Arrays have the shape, layout and type of the model's own ports, in C order; a quantized port holds
its integers, which stand for (q - zero_point) * scale. NumPy has no bfloat16: its bits are uint16.
"""

from __future__ import annotations

import collections
import operator
import os
from typing import Any, Iterable, Iterator, Mapping, NamedTuple, Optional, Sequence, Union

import numpy

from tenon import _runtime

Arrays = Union[Mapping[str, numpy.ndarray], Sequence[numpy.ndarray], numpy.ndarray]
Named = dict[str, numpy.ndarray]

_FOREVER = 1e18
_MODES = {"sequential": 0, "pipeline": 1, "inter": 2, "inter-intra": 3}


class Port(NamedTuple):
    """An input or output. `scale` 0: it is not quantized."""
    name: str
    dtype: "numpy.dtype[Any]"
    shape: tuple[int, ...]
    scale: float
    zero_point: int


class Op(NamedTuple):
    """An op and the kernel that runs it here."""
    name: str
    kind: str
    backend: str
    kernel: str


def backends() -> list[str]:
    """The backends that plans can use here, the CPU's first."""
    return _runtime.backends()


class Plan:
    """A loaded plan file. Read-only: any number of threads and sessions may share it.

    `threads`: that one run may use. `program`: which of the file's ways to compute is loaded (None:
    the first). `backends`: names; none given: all that there are."""

    def __init__(self, path: Union[str, os.PathLike[str]], *, threads: int = 1,
                 program: Optional[str] = None, backends: Sequence[str] = ()) -> None:
        name = os.fspath(path)
        if ("\0" if isinstance(name, str) else b"\0") in name:
            raise ValueError("embedded null byte")  # as open() says
        count = operator.index(threads)
        if count.bit_length() > 31:
            raise OverflowError(f"{count} threads do not fit a C int")
        self._native = _runtime.Plan(name, count, program or "", list(backends))
        self.inputs = [Port(*port) for port in self._native.inputs]
        self.outputs = [Port(*port) for port in self._native.outputs]

    @property
    def programs(self) -> list[str]:
        """All programs of the file, loaded or not."""
        return self._native.programs

    @property
    def ops(self) -> list[Op]:
        """The ops of the loaded program, in the order in which the plan lists them."""
        return [Op(*op) for op in self._native.ops]

    @property
    def arenas(self) -> dict[str, int]:
        """Bytes of working memory by memory space."""
        return self._native.arenas

    @property
    def notice(self) -> str:
        """Which backends the CPU stands in for, and why; "" if none."""
        return self._native.notice

    def run(self, inputs: Arrays) -> Named:
        """One inference in a session of its own. For many, open a Session once."""
        return Session(self).run(inputs)

    def __repr__(self) -> str:
        ports = ", ".join(f"{port.name}: {port.dtype}{list(port.shape)}" for port in self.inputs)
        return f"<tenon.Plan of ({ports})>"


class Session:
    """One independent execution of a plan, with the state that the plan keeps from run to run.

    To be used by one thread at a time (RuntimeError else); others go on while it runs."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self._native = _runtime.Session(plan._native)
        self._numbers = ({port.name: i for i, port in enumerate(plan.inputs)},
                         {port.name: i for i, port in enumerate(plan.outputs)})

    def run(self, inputs: Arrays, outputs: Optional[Arrays] = None) -> Named:
        """One inference, reading `inputs` where they lie. Outputs are written to the arrays given,
        or to new ones; they are returned by name. State goes on to the next run."""
        return self._native.run(inputs, outputs)

    def run_in_place(self) -> None:
        """One inference on the session's own memory: write `input`s before, read `output`s after.
        A run may overwrite its inputs."""
        self._native.run_in_place()

    def steps(self, inputs: Iterable[Arrays]) -> Iterator[Named]:
        """The outputs of one input after the other, with the state kept between them."""
        for one in inputs:
            yield self._native.run(one)

    def reset(self) -> None:
        """Sets the state to what the model starts with: before another recording, say."""
        self._native.reset()

    def input(self, which: Union[int, str]) -> numpy.ndarray:
        """The session's own memory of an input, by name or number."""
        return self._native.input(self._number(0, which))

    def output(self, which: Union[int, str]) -> numpy.ndarray:
        """The session's own memory of an output, read-only; the next run overwrites it."""
        return self._native.output(self._number(1, which))

    def _number(self, side: int, which: Union[int, str]) -> int:
        if isinstance(which, int):
            return which
        known = self._numbers[side]
        if which not in known:
            raise KeyError(f"no '{which}': the plan has {', '.join(known)}")
        return known[which]

    @property
    def notice(self) -> str:
        """The last time that the CPU took over from a device that failed; "" if never."""
        return self._native.notice


class Stream:
    """Successive inputs of one plan, several under way at once. A context manager.

    `mode`: "sequential", "pipeline" (a thread per worker), "inter" or "inter-intra"; each of the
    `replicas` executes its inputs that way."""

    def __init__(self, plan: Plan, *, mode: str = "sequential", replicas: int = 1,
                 queue_depth: int = 0) -> None:
        if mode not in _MODES:
            raise ValueError(f"no mode '{mode}': give one of {', '.join(_MODES)}")
        self.plan = plan
        self._native = _runtime.Stream(plan._native, _MODES[mode], replicas, queue_depth)

    def submit(self, inputs: Arrays, outputs: Optional[Arrays] = None,
               timeout: float = _FOREVER) -> int:
        """Hands in one input and returns its ticket. The arrays must not be changed until `wait`
        has given the ticket's outputs. TimeoutError: nothing was submitted."""
        return self._native.submit(inputs, outputs, timeout)

    def wait(self, ticket: int, timeout: float = _FOREVER) -> Named:
        """The outputs of a ticket, once. TimeoutError: not over yet, wait again."""
        return self._native.wait(ticket, timeout)

    def map(self, inputs: Iterable[Arrays]) -> Iterator[Named]:
        """The outputs of all inputs, in their order, as many under way as the stream holds."""
        tickets: collections.deque[int] = collections.deque()
        room = self._native.in_flight_limit
        for one in inputs:
            tickets.append(self.submit(one))
            if len(tickets) >= room:
                yield self.wait(tickets.popleft())
        while tickets:
            yield self.wait(tickets.popleft())

    def reset(self) -> None:
        """Sets the state to what the model starts with. No input may be under way."""
        self._native.reset()

    def close(self) -> None:
        """Completes what was submitted, and ends the stream's threads."""
        self._native.close()

    def __enter__(self) -> "Stream":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def run(path: Union[str, os.PathLike[str]], inputs: Arrays, *, threads: int = 1) -> Named:
    """One inference of a plan file, as `tenon run` does."""
    return Plan(path, threads=threads).run(inputs)
