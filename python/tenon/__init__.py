"""Tenon: compiles a trained model for a board, and runs it.

    import tenon
    tenon.convert("model.onnx", "model.tenon", board="x86-64", batch=1)
    plan = tenon.Plan("model.tenon")
    scores = plan.run({"image": image})["probability"]
"""

# isort: off
from tenon._runtime import require_main_interpreter as _require_main_interpreter

_require_main_interpreter()  # before NumPy is imported, which does not say so

from tenon._api import (ChannelStats, Op, Plan, Port, Session, StageStats, Stream, StreamStats,
                        backends, run)
from tenon._command import bench, check, convert, diff, inspect, quantize
from tenon._errors import (ConversionError, DeviceError, DoesNotFit, InputRefused, TenonError,
                           UsageError)
from tenon._runtime import version as _version

__version__ = _version()

__all__ = ["ChannelStats", "ConversionError", "DeviceError", "DoesNotFit", "InputRefused", "Op",
           "Plan", "Port", "Session", "StageStats", "Stream", "StreamStats", "TenonError",
           "UsageError", "backends", "bench", "check", "convert", "diff", "inspect", "quantize",
           "run"]
