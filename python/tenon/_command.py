"""What the `tenon` command does, from Python: it runs in a process of its own.

A process, because the converter stands on ONNX's and Protobuf's libraries, and two versions of
those in one process, as `import onnx` would bring them, break each other; and because plans and
messages are then the command's own, to the byte.
"""

from __future__ import annotations

import json
import os
import pathlib
import subprocess
import tempfile
from typing import Any, Iterable, Mapping, Optional, Union

import numpy

from tenon import _errors

Path = Union[str, bytes, "os.PathLike[str]"]
COMMAND = pathlib.Path(__file__).parent / "bin" / "tenon"


def call(arguments: list[str]) -> str:
    """What the command prints. Raises what its exit status says (1, the answer is no, too)."""
    done = subprocess.run([str(COMMAND), *arguments], stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False,
                          encoding="utf-8", errors="backslashreplace")
    if done.returncode != 0:
        raise _errors.of_exit(done.returncode, done.stderr)
    return done.stdout


def _text(value: Any) -> str:
    if isinstance(value, (list, tuple, numpy.ndarray)):
        return "x".join(str(item) for item in value)
    return os.fsdecode(value) if isinstance(value, (bytes, os.PathLike)) else str(value)


def options(given: Mapping[str, Any]) -> list[str]:
    """The command's options: memory_limit={"ram": "20K"} is --memory-limit ram=20K, relax_limit=True
    is --relax-limit, key_nodes=False is --key-nodes=off; a list repeats the option."""
    words: list[str] = []
    for name, value in given.items():
        option = "--" + name.replace("_", "-")
        if value is None:
            continue
        if isinstance(value, Mapping):
            words += [f"{option}={key}={_text(item)}" for key, item in value.items()]
        elif isinstance(value, list):
            words += [f"{option}={_text(item)}" for item in value]
        elif value is True and name in ("relax_limit", "fallback"):
            words.append(option)
        elif isinstance(value, bool):
            words.append(f"{option}={'on' if value else 'off'}")
        else:
            words.append(f"{option}={_text(value)}")
    return words


def _file_name(port: str) -> str:
    """What a file of samples for an input is called (`--calibration`): its name, without what a
    file's name should not have."""
    kept = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-"
    return "".join(chr(byte) if byte in kept else "_" for byte in os.fsencode(port))


def _write_samples(folder: pathlib.Path, samples: Iterable[Any]) -> int:
    """A file for each sample: an array for a model of one input, else a dict by input."""
    count = 0
    for sample in samples:
        named = sample if isinstance(sample, Mapping) else {"sample": sample}
        names = {_file_name(port): port for port in named}
        if len(names) < len(named):
            alike = sorted(set(named) - set(names.values())) + sorted(names.values())
            raise _errors.UsageError(
                f"samples by name need inputs that differ in letters, digits, '.' or '-': "
                f"{alike} do not all", 2)
        for name, port in names.items():
            numpy.save(folder / f"{name}_{count:06}.npy", numpy.ascontiguousarray(named[port]))
        count += 1
    return count


def _as_file(path: Path) -> str:
    """The path as a word that the command does not take for an option."""
    word = os.fsdecode(path)
    return os.path.join(".", word) if word.startswith("-") else word


def convert(model: Path, plan: Path, *, board: str,
            freeze: Optional[Mapping[str, numpy.ndarray]] = None,
            calibration: Union[Path, Iterable[Any], None] = None,
            labels: Optional[numpy.ndarray] = None, **more: Any) -> dict[str, Any]:
    """Compiles `model` into the file `plan`, and returns every decision (`tenon convert --json`).

    `freeze`: constants for inputs. `calibration` (with quantize="int8"): a folder, or an iterable of
    samples, each an array or, for several inputs, a dict by name; `labels`: the right class of each.
    `more`: the command's other options, '_' for '-': batch=1, shape={"x": (1, 3, 224, 224)},
    memory_limit={"ram": "20K"}, objective="memory", ... See `python -m tenon convert --help`.

    Raises UsageError, InputRefused, DoesNotFit or DeviceError with the command's words."""
    with tempfile.TemporaryDirectory(prefix="tenon-") as name:
        folder = pathlib.Path(name)
        words = ["convert", _as_file(model), "-o", _as_file(plan), f"--board={board}", "-q",
                 f"--json={folder / 'decisions.json'}"]
        for port, array in (freeze or {}).items():
            file = folder / f"frozen_{len(words)}.npy"
            numpy.save(file, numpy.ascontiguousarray(array))
            words.append(f"--freeze={port}={file}")
        if calibration is not None:
            words.append(f"--calibration={_calibration_folder(folder, calibration, labels)}")
        call(words + options(more))
        decisions: dict[str, Any] = json.loads((folder / "decisions.json").read_text())
        return decisions


def _calibration_folder(folder: pathlib.Path, calibration: Union[Path, Iterable[Any]],
                        labels: Optional[numpy.ndarray]) -> Union[str, pathlib.Path]:
    if isinstance(calibration, (str, bytes, os.PathLike)):
        return os.fsdecode(calibration)
    samples = folder / "calibration"
    samples.mkdir()
    if _write_samples(samples, calibration) == 0:
        raise _errors.UsageError("there is no sample to calibrate with", 2)
    if labels is not None:
        numpy.save(samples / "labels.npy", numpy.ascontiguousarray(labels))
    return samples


def quantize(model: Path, plan: Path, samples: Iterable[Any], *, board: str,
             labels: Optional[numpy.ndarray] = None, **more: Any) -> dict[str, Any]:
    """`convert` of a float model to 8-bit integers, with ranges measured on `samples`."""
    return convert(model, plan, board=board, calibration=samples, labels=labels, quantize="int8",
                   **more)


def inspect(plan: Path) -> dict[str, Any]:
    """What is inside a plan file (`tenon inspect --json`)."""
    inside: dict[str, Any] = json.loads(call(["inspect", _as_file(plan), "--json"]))
    return inside


def check(plan: Path) -> None:
    """The plan check alone; raises with every violation in words."""
    call(["check", _as_file(plan)])


def bench(plan: Path, **more: Any) -> dict[str, Any]:
    """Latency, throughput, memory and time per op (`tenon bench --json`): iterations=100, threads=2,
    mode="sequential", ..."""
    with tempfile.TemporaryDirectory(prefix="tenon-") as name:
        file = pathlib.Path(name) / "bench.json"
        call(["bench", _as_file(plan), f"--json={file}", *options(more)])
        figures: dict[str, Any] = json.loads(file.read_text())
        return figures


def diff(plan: Path, other: Optional[Path] = None, *,
         inputs: Optional[Mapping[str, numpy.ndarray]] = None,
         expect: Optional[Mapping[str, numpy.ndarray]] = None, **more: Any) -> dict[str, Any]:
    """Where two runs part (`tenon diff --json`): "first" is the name of the first op that parts, or
    None; "tensors" has every tensor compared.

    The plan is compared with `other`, a plan or a model, with the arrays of `expect`, tensors or
    outputs by name, or, without either, with itself run by the portable kernels. `inputs` by name;
    those left out are made. `more`: snr=60."""
    with tempfile.TemporaryDirectory(prefix="tenon-") as name:
        folder = pathlib.Path(name)
        words = ["diff", _as_file(plan)] + ([] if other is None else [_as_file(other)])
        for option, arrays in (("input", inputs), ("expect", expect)):
            for port, array in (arrays or {}).items():
                file = folder / f"array_{len(words)}.npy"
                numpy.save(file, numpy.ascontiguousarray(array))
                words.append(f"--{option}={port}={file}")
        report = folder / "diff.json"
        try:
            call(words + [f"--json={report}"] + options(more))
        except _errors.TenonError:
            if not report.is_file():  # else the two part, which is an answer
                raise
        answer: dict[str, Any] = json.loads(report.read_text())
        return answer
