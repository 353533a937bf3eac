#!/usr/bin/env python3
"""Quantises ONNX networks as ONNX Runtime's tools do, for compare_peers.py. Needs the packages onnx and onnxruntime.

  quantise_nets.py FOLDER MODEL.onnx... [--forms FORM,...]

FORM: qdq-s8 (quantize and dequantize around operators, weights i8 per channel), qdq-u8 (both u8, with zero points), qdq-a16
      (activations u16), qoperator (operators on integers, u8 by i8), dynamic (ranges at run time). All without. Ranges come from
      three inputs of random numbers. Each network becomes FOLDER/NAME.FORM.onnx; what the tool cannot quantise is said.
"""
import argparse
import logging
import pathlib

import numpy
import onnxruntime
from onnxruntime.quantization import (CalibrationDataReader, QuantFormat, QuantType, quantize_dynamic,
                                      quantize_static)

STATIC = {
    "qdq-s8": dict(quant_format=QuantFormat.QDQ, activation_type=QuantType.QInt8, weight_type=QuantType.QInt8,
                   per_channel=True),
    "qdq-u8": dict(quant_format=QuantFormat.QDQ, activation_type=QuantType.QUInt8, weight_type=QuantType.QUInt8),
    "qdq-a16": dict(quant_format=QuantFormat.QDQ, activation_type=QuantType.QUInt16, weight_type=QuantType.QInt8),
    "qoperator": dict(quant_format=QuantFormat.QOperator, activation_type=QuantType.QUInt8,
                      weight_type=QuantType.QInt8, per_channel=True),
}
DTYPES = {"tensor(float)": numpy.float32, "tensor(int64)": numpy.int64, "tensor(int32)": numpy.int32,
          "tensor(bool)": numpy.bool_}


class RandomInputs(CalibrationDataReader):
    def __init__(self, session, count=3):
        self.feeds = [feed_of(session, seed) for seed in range(count)]

    def get_next(self):
        return self.feeds.pop() if self.feeds else None


def feed_of(session, seed):
    """Random inputs; a dimension that is not known is 1, whole numbers are below 50."""
    random = numpy.random.default_rng(seed)
    feed = {}
    for port in session.get_inputs():
        dims = [dim if isinstance(dim, int) else 1 for dim in port.shape]
        dtype = DTYPES[port.type]
        numbers = random.standard_normal(dims) if dtype == numpy.float32 else random.integers(0, 50, dims)
        feed[port.name] = numbers.astype(dtype)
    return feed


def quantise(model, form, out):
    if form == "dynamic":
        return quantize_dynamic(model, out)
    session = onnxruntime.InferenceSession(str(model))
    return quantize_static(model, out, RandomInputs(session), **STATIC[form])


def main():
    forms = list(STATIC) + ["dynamic"]
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("models", type=pathlib.Path, nargs="+")
    parser.add_argument("--forms", default=",".join(forms))
    arguments = parser.parse_args()
    logging.disable(logging.WARNING)
    arguments.folder.mkdir(parents=True, exist_ok=True)
    for model in arguments.models:
        for form in arguments.forms.split(","):
            if form not in forms:
                parser.error(f"there is no form '{form}'")
            try:
                quantise(model, form, arguments.folder / f"{model.stem}.{form}.onnx")
            except (AttributeError, ValueError, RuntimeError) as error:
                print(f"{model.stem} {form}: not quantised: {type(error).__name__}: {error}")


if __name__ == "__main__":
    main()
