"""Plans, sessions and streams. Arrays are used where they lie: nothing is copied in or out.

Arrays have the shape, layout and type of the model's own ports, in C order; a quantized port holds
its integers, which stand for (q - zero_point) * scale. NumPy has no bfloat16: its bits are uint16.
"""

from __future__ import annotations

import collections
import math
import operator
import os
from typing import Any, Iterable, Iterator, Mapping, NamedTuple, Optional, Sequence, Union

import numpy

from tenon import _errors, _runtime

Arrays = Union[Mapping[str, numpy.ndarray], Sequence[numpy.ndarray], numpy.ndarray]
Named = dict[str, numpy.ndarray]

_MODES = {"sequential": 0, "pipeline": 1, "inter": 2, "inter-intra": 3}


def _seconds(timeout: Optional[float]) -> float:
    return math.inf if timeout is None else timeout


def _count(value: int, what: str) -> int:
    count = operator.index(value)
    if not 0 <= count < 2**64:
        raise ValueError(f"{what} cannot be {count}")
    return count


def _no_copy(thing: object) -> TypeError:
    return TypeError(f"a tenon.{type(thing).__name__} cannot be pickled or copied: give another "
                     "process the path of the plan's file, to open it itself")


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
    the first). `backends`: names; none given: those that the plan names."""

    def __init__(self, path: Union[str, os.PathLike[str]], *, threads: int = 1,
                 program: Optional[str] = None, backends: Sequence[str] = ()) -> None:
        name = os.fsencode(path)
        if isinstance(backends, str):
            raise TypeError(f"give a list of backends' names, as ['{backends}']")
        if b"\0" in name:
            raise ValueError("embedded null byte")  # as open() says
        count = operator.index(threads)
        if count.bit_length() > 31:
            raise OverflowError(f"{count} threads do not fit a C int")
        try:
            self._native = _runtime.Plan.open(name, count, program or "", list(backends))
        except _errors.FileError as error:
            raise _errors.of_file(error, os.fspath(path)) from None
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

    def __reduce__(self) -> Any:
        raise _no_copy(self)

    def __repr__(self) -> str:
        ports = ", ".join(f"{port.name}: {port.dtype}{list(port.shape)}" for port in self.inputs)
        return f"<tenon.Plan of ({ports})>"


def _native_of(plan: Plan) -> _runtime.Plan:
    if not isinstance(plan, Plan):
        raise TypeError(f"give a tenon.Plan, not {type(plan).__name__}")
    return plan._native


class Session:
    """One independent execution of a plan, with the state that the plan keeps from run to run.

    `timeout`: seconds from a run's start in which its devices must have answered (TimeoutError else;
    a run without devices takes as long as it takes); None: no limit.

    To be used by one thread at a time (RuntimeError else); others go on while it runs."""

    def __init__(self, plan: Plan, *, timeout: Optional[float] = 60) -> None:
        self.plan = plan
        self._native = _runtime.Session.open(_native_of(plan), _seconds(timeout))
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
            yield self._native.run(one, None)

    def reset(self) -> None:
        """Sets the state to what the model starts with: before another recording, say."""
        self._native.reset()

    def input(self, which: Union[int, str]) -> numpy.ndarray:
        """The session's own memory of an input, by name or number. It is kept for as long as the
        array is, by the array."""
        return self._native.input(self._number(0, which))

    def output(self, which: Union[int, str]) -> numpy.ndarray:
        """The session's own memory of an output, read-only; the next run overwrites it."""
        return self._native.output(self._number(1, which))

    def _number(self, side: int, which: Union[int, str]) -> int:
        known = self._numbers[side]
        if isinstance(which, str):
            if which not in known:
                raise KeyError(f"no '{which}': the plan has {', '.join(known)}")
            return known[which]
        number = operator.index(which)
        count = len((self.plan.inputs, self.plan.outputs)[side])
        if not 0 <= number < count:
            raise IndexError(f"no {('input', 'output')[side]} {number}: the plan has {count}")
        return number

    @property
    def is_busy(self) -> bool:
        """True while a device that did not answer in time may still work on the last run: the
        session cannot be used until then."""
        return self._native.is_busy

    @property
    def notice(self) -> str:
        """The last time that the CPU took over from a device that failed; "" if never."""
        return self._native.notice

    def __reduce__(self) -> Any:
        raise _no_copy(self)


class StageStats(NamedTuple):
    """What one stage of one replica has done. Waits that are not over yet are not in it."""
    replica: int
    name: str  # of the board's unit; "" where one runs everything
    inputs: int  # done; failed and skipped ones too
    failed: int
    busy_ns: int  # executing, waits for its device included
    starved_ns: int  # waiting for an input, or for an earlier stage
    blocked_ns: int  # waiting for a free slot in a channel that it writes


class ChannelStats(NamedTuple):
    """One ring of buffers between stages, over all replicas."""
    writer: int  # stage
    reader: int  # last stage that reads
    depth: int  # slots
    stalls: int  # times that the writer found it full
    stalled_ns: int


class StreamStats(NamedTuple):
    """What a stream holds, and what it has done so far."""
    replicas: int
    threads: int  # of the stream; times the plan's threads: in all
    in_flight_limit: int  # submit waits when so many are submitted and not completed
    arena_bytes: int  # of all replicas, with all ring slots
    other_bytes: int  # what kernels and devices hold for the replicas, and the stream's own
    submitted: int
    completed: int  # with a result or an error
    failed: int
    most_in_flight: int
    submit_stalls: int  # submits that had to wait
    stages: tuple[StageStats, ...]
    channels: tuple[ChannelStats, ...]


class Stream:
    """Successive inputs of one plan, several under way at once. A context manager.

    `mode`: "sequential", "pipeline" (a thread per worker), "inter" or "inter-intra"; each of the
    `replicas` executes its inputs that way. `queue_depth`: inputs that may wait for a replica (0: one
    for each). `results`: outcomes that are kept for those who wait for them (0: 256).
    `device_timeout`: seconds that a stage may wait for its device; None: no limit.

    Any number of threads may use it at once. Ctrl-C ends `submit` and `wait`, not `close`."""

    def __init__(self, plan: Plan, *, mode: str = "sequential", replicas: int = 1,
                 queue_depth: int = 0, results: int = 0,
                 device_timeout: Optional[float] = 10) -> None:
        if mode not in _MODES:
            raise ValueError(f"no mode '{mode}': give one of {', '.join(_MODES)}")
        self.plan = plan
        self._native = _runtime.Stream.open(
            _native_of(plan), _MODES[mode], _count(replicas, "replicas"),
            _count(queue_depth, "queue_depth"), _count(results, "results"),
            _seconds(device_timeout))

    def submit(self, inputs: Arrays, outputs: Optional[Arrays] = None,
               timeout: Optional[float] = None) -> int:
        """Hands in one input and returns its ticket. The arrays must not be changed until `wait`
        has given the ticket's outputs. Waits while the stream is full, and while as many outcomes as
        it keeps have not been waited for; TimeoutError after `timeout` seconds: nothing was
        submitted."""
        return self._native.submit(inputs, outputs, _seconds(timeout))

    def wait(self, ticket: int, timeout: Optional[float] = None) -> Named:
        """The outputs of a ticket, once. TimeoutError: not over after `timeout` seconds, wait again.
        A ticket whose run failed raises why, and is over too."""
        return self._native.wait(_count(ticket, "ticket"), _seconds(timeout))

    def map(self, inputs: Iterable[Arrays]) -> Iterator[Named]:
        """The outputs of all inputs, in their order, as many under way as the stream holds. Left
        early, or by an exception, it waits for those that are under way and drops them."""
        tickets: collections.deque[int] = collections.deque()
        room = self._native.in_flight_limit
        try:
            for one in inputs:
                tickets.append(self.submit(one))
                if len(tickets) >= room:
                    yield self._next(tickets)
            while tickets:
                yield self._next(tickets)
        finally:
            for ticket in tickets:
                try:
                    self.wait(ticket)
                except (_errors.TenonError, ValueError):
                    pass  # it failed, has been waited for, or the stream is closed: over all the same

    def _next(self, tickets: collections.deque[int]) -> Named:
        outputs = self.wait(tickets[0])
        tickets.popleft()
        return outputs

    def stats(self) -> StreamStats:
        """What the stream holds, and what it has done so far."""
        *figures, stages, channels = self._native.stats()
        return StreamStats(*figures, tuple(StageStats(*stage) for stage in stages),
                           tuple(ChannelStats(*channel) for channel in channels))

    @property
    def notices(self) -> list[str]:
        """The last times that the CPU took over from a device that failed, in words."""
        return self._native.notices

    def reset(self) -> None:
        """Sets the state to what the model starts with. No input may be under way."""
        self._native.reset()

    def close(self) -> None:
        """Completes what was submitted, and ends the stream's threads. Outcomes that nobody has
        waited for are lost. Once closed it stays so; closing again does nothing."""
        self._native.close()

    def __reduce__(self) -> Any:
        raise _no_copy(self)

    def __enter__(self) -> "Stream":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def run(path: Union[str, os.PathLike[str]], inputs: Arrays, *, threads: int = 1) -> Named:
    """One inference of a plan file, as `tenon run` does."""
    return Plan(path, threads=threads).run(inputs)
