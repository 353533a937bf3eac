"""Plans on the emulated boards: convert here, run there, read what came back."""
import argparse
import dataclasses
import json
import os
import pathlib
import random
import struct
import subprocess
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
MACHINES = {"cortex-m0plus": "mps2-an385", "cortex-m33": "mps2-an505", "cortex-m4": "mps2-an386",
            "cortex-m55": "mps3-an547", "cortex-m7": "mps2-an500"}
# Of an instruction under `-icount shift=5`, and of a tick of SysTick on these machines.
PICOSECONDS_PER_INSTRUCTION = 32_000
PICOSECONDS_PER_TICK = {"mps2-an385": 40_000, "mps2-an386": 40_000, "mps2-an500": 40_000,
                        "mps2-an505": 50_000, "mps3-an547": 31_250}
SKIPPED = 77
FORMATS = {"f32": ("<f4", "f"), "i8": ("|i1", "b"), "u8": ("|u1", "B"), "i32": ("<i4", "i")}


class Failure(Exception):
    pass


def call(command, **options):
    """Runs a command to its end; Failure with its words if it fails."""
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True,
                          errors="replace", check=False, **options)
    if done.returncode != 0:
        words = " ".join(str(word) for word in command)
        raise Failure(f"{words}\n{done.stdout}{done.stderr}status {done.returncode}")
    return done.stdout


def elements(shape):
    count = 1
    for size in shape:
        count *= size
    return count


def write_npy(path, dtype, shape, values):
    """`values`: bytes of the array, or numbers."""
    descr, letter = FORMATS[dtype]
    if not isinstance(values, bytes):
        values = struct.pack(f"<{len(values)}{letter}", *values)
    shape_text = "(" + "".join(f"{size}, " for size in shape) + ")"
    header = f"{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape_text}, }}"
    header += " " * (-(len(header) + 11) % 64) + "\n"
    path.write_bytes(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() + values)


def read_npy(path):
    """The bytes of the array."""
    data = path.read_bytes()
    size = struct.unpack("<H", data[8:10])[0] + 10 if data[6] == 1 else (
        struct.unpack("<I", data[8:12])[0] + 12)
    return data[size:]


def portable_board(board, folder):
    """A board file for plans of the portable kernels alone."""
    description = json.loads((ROOT / "sdk" / "boards" / f"{board}.json").read_text())
    for unit in description["units"]:
        unit["kernels"] = "portable"
    path = folder / f"{board}-portable.json"
    path.write_text(json.dumps(description))
    return path


def convert(tenon, model, board, plan, options=()):
    call([tenon, "convert", model, "--board", board, "-o", plan, "-q", *options])


def inspect(tenon, plan):
    return json.loads(call([tenon, "inspect", plan, "--json"]))


def random_input(port, seed, path):
    """Numbers of a fixed sequence: all of an integer dtype's, or between -1 and 1."""
    numbers = random.Random(seed)
    count = elements(port["shape"])
    dtype = port["dtype"]
    if dtype == "f32":
        values = [numbers.uniform(-1, 1) for _ in range(count)]
    else:
        least, most = (0, 255) if dtype == "u8" else (-128, 127)
        values = [numbers.randint(least, most) for _ in range(count)]
    write_npy(path, dtype, port["shape"], values)


@dataclasses.dataclass
class Op:
    kernel: str
    kind: str
    name: str
    instructions: int


@dataclasses.dataclass
class Report:
    """What firmware_runner printed. Bytes; instructions of one inference if it was asked."""
    plan_state: int = 0
    session_state: int = 0
    scratch: int = 0
    stack: int = 0
    arenas: dict = dataclasses.field(default_factory=dict)
    ops: list = dataclasses.field(default_factory=list)
    instructions: int = 0


def run_on_board(board, runner, plan, inputs, outputs, ops=False, ticks=False):
    """One inference of `plan` by the program `runner`. `outputs`: files for the outputs' bytes. `ops`,
    `ticks`: with the instructions of each op, or of all."""
    machine = MACHINES[board]
    environment = dict(os.environ)
    if ops or ticks:
        environment["TENON_QEMU_OPTIONS"] = "-icount shift=5"
    # Paths go through one line of at most 1 KB, so they are kept short.
    folder = pathlib.Path(plan).parent
    files = [os.path.relpath(path, folder) for path in [plan, *inputs, *outputs]]
    printed = call([ROOT / "toolchains" / "run-cortex-m.sh", machine, runner,
                    *(["--ops"] if ops else ["--ticks"] if ticks else []), *files], cwd=folder, env=environment)
    return parse(printed, PICOSECONDS_PER_TICK[machine])


def run_steps(board, runner, plan, samples, output, steps):
    """Runs a plan of one input and one output on `steps` inputs, one after the other."""
    folder = pathlib.Path(plan).parent
    files = [os.path.relpath(path, folder) for path in (plan, samples, output)]
    printed = call([ROOT / "toolchains" / "run-cortex-m.sh", MACHINES[board], runner, "--steps", steps,
                    *files], cwd=folder)
    return parse(printed, PICOSECONDS_PER_TICK[MACHINES[board]])


def run_on_random_inputs(board, runner, plan, described, runs):
    """The fewest and the most instructions of `runs` inferences on random bytes. Exact: an instruction
    takes several ticks of the clock here, which starts anew with each inference."""
    folder = pathlib.Path(plan).parent
    inputs = [folder / f"input_{i}.npy" for i in range(len(described["inputs"]))]
    for port, path in zip(described["inputs"], inputs):
        random_input(port, 1, path)
    outputs = [folder / f"output_{i}.bin" for i in range(len(described["outputs"]))]
    files = [os.path.relpath(path, folder) for path in [plan, *inputs, *outputs]]
    machine = MACHINES[board]
    printed = call([ROOT / "toolchains" / "run-cortex-m.sh", machine, runner, "--random", runs, *files],
                   cwd=folder, env=dict(os.environ, TENON_QEMU_OPTIONS="-icount shift=8"))
    (line,) = (line.split() for line in printed.splitlines() if line.startswith("runs "))
    picoseconds = 8 * PICOSECONDS_PER_INSTRUCTION  # of an instruction, under shift=8
    return [round(int(ticks) * PICOSECONDS_PER_TICK[machine] / picoseconds)
            for ticks in (line[3], line[5])]


def parse(printed, picoseconds_per_tick):
    report = Report()
    for line in printed.splitlines():
        words = line.split()
        if words[:1] == ["memory"]:
            for name, value in zip(words[1::2], words[2::2]):
                setattr(report, name, int(value))
        elif words[:1] == ["arena"]:
            report.arenas[words[1]] = int(words[2])
        elif words[:1] == ["op"]:
            instructions = int(words[3]) * picoseconds_per_tick // PICOSECONDS_PER_INSTRUCTION
            report.ops.append(Op(words[5], words[7], " ".join(words[9:]), instructions))
        elif words[:2] == ["run", "ticks"]:
            report.instructions = (int(words[2]) * picoseconds_per_tick //
                                   PICOSECONDS_PER_INSTRUCTION)
    return report


def multiplies(plan, op):
    """Multiply-accumulates of an op of inspect's, 0 for those that are no products."""
    tensors = {tensor["name"]: tensor["shape"] for tensor in plan["tensors"]}
    if "conv" in op["kind"]:
        output = tensors[op["outputs"][0]]
        weights = tensors[op["inputs"][1]]
        return elements(output) // output[1] * elements(weights)
    if "matmul" in op["kind"]:
        return elements(tensors[op["outputs"][0]]) * tensors[op["inputs"][0]][-1]
    return 0


def test_arguments(*options):
    """What every test of a model on the board is given, and `options`: of add_argument, by name."""
    parser = argparse.ArgumentParser()
    for name in ("tenon", "runner", "board"):
        parser.add_argument(f"--{name}", required=True)
    for name, settings in options:
        parser.add_argument(name, **settings)
    parser.add_argument("model")
    return parser.parse_args()


def run_test(test, options):
    """The exit status of `test(options, folder)`, which gives what is wrong as lines of words."""
    for path, words in ((options.tenon, "build this machine's tools first"),
                        (options.model, "a model of the shared folder (TENON_SHARED)"),
                        (options.runner, "build firmware_runner first")):
        if not pathlib.Path(path).exists():
            print(f"skipped: no {path}: {words}")
            return SKIPPED
    with tempfile.TemporaryDirectory() as folder:
        try:
            wrong = test(options, pathlib.Path(folder))
        except Failure as failure:
            wrong = [str(failure)]
    for words in wrong:
        print(f"error: {words}")
    return 1 if wrong else 0
