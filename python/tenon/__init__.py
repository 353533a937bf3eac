"""Tenon: compiles a trained model for a board, and runs it.

    import tenon
    tenon.convert("model.onnx", "model.tenon", board="x86-64", batch=1)
    plan = tenon.Plan("model.tenon")
    scores = plan.run({"image": image})["probability"]
"""

from tenon._api import Op, Plan, Port, Session, Stream, backends, run
from tenon._command import bench, check, convert, diff, inspect, quantize
from tenon._errors import (ConversionError, DeviceError, DoesNotFit, InputRefused, TenonError,
                           UsageError)
from tenon._runtime import version as _version

__version__ = _version()

__all__ = ["ConversionError", "DeviceError", "DoesNotFit", "InputRefused", "Op", "Plan", "Port",
           "Session", "Stream", "TenonError", "UsageError", "backends", "bench", "check", "convert",
           "diff", "inspect", "quantize", "run"]
