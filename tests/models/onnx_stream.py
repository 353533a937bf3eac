"""What the tests of streams against ONNX Runtime share: `tenon` called, and what is missing said."""
import subprocess
import sys


def packages(path):
    """numpy and onnxruntime; exit status 77, saying so, where one of them or `path` is absent."""
    try:
        import numpy
        import onnxruntime
    except ImportError as missing:
        print(f"skipped: {missing}")
        sys.exit(77)
    if not path.exists():
        print(f"skipped: no {path}")
        sys.exit(77)
    return numpy, onnxruntime


def reference(onnxruntime, model):
    """A session of one thread."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    return onnxruntime.InferenceSession(str(model), options, providers=["CPUExecutionProvider"])


def call(command, *arguments):
    """The standard output of a call that must succeed."""
    done = subprocess.run([command, *map(str, arguments)], capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"tenon {' '.join(map(str, arguments))}\n{done.stdout}{done.stderr}")
    return done.stdout
