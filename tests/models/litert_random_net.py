"""Random TFLite networks that LiteRT runs, grown operator by operator.

An operator that LiteRT refuses is taken back, so attributes and operands may be chosen freely. Of
every tensor LiteRT's reference kernels say the shape and the value.
"""
import numpy as np
from ai_edge_litert.interpreter import Interpreter, OpResolverType

from litert_one_op import NUMPY, OneOp

RANGE = {"i8": (-128, 127), "u8": (0, 255), "i16": (-32768, 32767)}
NONE = (None, 0)


class Value:
    """What is known of a tensor."""

    def __init__(self, number, dtype, array, numbers=NONE, constant=False):
        self.number, self.dtype, self.array, self.numbers = number, dtype, array, numbers
        self.constant, self.exact, self.depth = constant, True, 0
        self.comparable = True  # not computed from integers that may be a step off

    @property
    def shape(self):
        return list(self.array.shape)

    @property
    def rank(self):
        return self.array.ndim


class Net:
    def __init__(self, seed):
        self.random = np.random.default_rng(seed)
        self.model, self.values, self.feeds, self.names = OneOp(), [], {}, []
        self.read = set()

    # --- chance -----------------------------------------------------------------------------------
    def pick(self, *choices):
        return choices[self.random.integers(len(choices))]

    def below(self, end, begin=0):
        return int(self.random.integers(begin, end))

    def chance(self, share):
        return bool(self.random.random() < share)

    def scale(self):
        return float(np.float32(self.pick(1 / 256, 0.037, 0.5, 1.0, 3.1) * self.pick(1, 1, 0.1, 0.83)))

    def numbers(self, dtype):
        """A scale and a zero point for a type; nothing for floats and plain integers."""
        if dtype not in RANGE:
            return NONE
        low, high = RANGE[dtype]
        if dtype == "i16":
            return self.scale(), 0
        return self.scale(), self.pick(low, high, (low + high + 1) // 2, self.below(high + 1, low))

    def size(self):
        return self.pick(1, 1, 2, 3, 4, 5, 7, 8, 9, 13, 16, 17, 31, 33)

    def dims(self, rank=None, most=20000):
        rank = self.pick(1, 2, 3, 4, 4, 4, 5) if rank is None else rank
        while True:
            dims = [self.size() for _ in range(rank)]
            if int(np.prod(dims)) <= most:
                return dims

    def array(self, dtype, shape):
        if dtype == "bool":
            return self.random.integers(0, 2, shape).astype(np.bool_)
        if dtype in RANGE:
            low, high = RANGE[dtype]
            array = self.random.integers(low, high + 1, shape).astype(NUMPY[dtype])
            return self.random.choice(np.array([low, high], NUMPY[dtype]), shape) \
                if self.chance(0.05) else array
        if dtype in ("i32", "i64"):
            most = self.pick(3, 20, 1000)
            return self.random.integers(-most, most + 1, shape).astype(NUMPY[dtype])
        array = self.random.standard_normal(shape) * self.pick(0.1, 1, 1, 1, 10)
        return np.asarray(np.round(array) if self.chance(0.2) else array, NUMPY[dtype])

    # --- tensors ----------------------------------------------------------------------------------
    def _add(self, value):
        self.values.append(value)
        return value

    def input(self, dtype, shape, numbers=None, array=None):
        numbers = self.numbers(dtype) if numbers is None else numbers
        array = self.array(dtype, shape) if array is None else array
        name = f"x{len(self.feeds)}"
        number = self.model.input(name, dtype, array.shape, scale=numbers[0], zero_point=numbers[1])
        self.feeds[name] = array
        value = self._add(Value(number, dtype, array, numbers))
        return value

    def constant(self, dtype, array, numbers=None, axis=0):
        numbers = NONE if numbers is None else numbers
        array = np.asarray(array, NUMPY[dtype])
        number = self.model.constant(f"c{len(self.model.graph.tensors)}", dtype, array,
                                     scale=numbers[0], zero_point=numbers[1], axis=axis)
        return Value(number, dtype, array, numbers, constant=True)

    def value(self, *dtypes, rank=None, shape=None, scaled=False):
        """A tensor of the network so far, or a new input, or now and then a constant."""
        known = [v for v in self.values if v.dtype in dtypes and (rank is None or v.rank in rank)
                 and (shape is None or v.shape == list(shape))
                 and (not scaled or v.dtype not in RANGE or v.numbers[0] is not None)]
        if known and self.chance(0.8):
            return known[-1] if self.chance(0.6) else known[self.below(len(known))]
        dtype = self.pick(*dtypes)
        shape = self.dims(None if rank is None else self.pick(*rank)) if shape is None else shape
        if self.chance(0.15):
            numbers = self.numbers(dtype)
            return self.constant(dtype, self.array(dtype, shape), numbers)
        return self.input(dtype, shape)

    def like(self, value, shape=None, numbers=None):
        """Another operand of its type."""
        shape = value.shape if shape is None else list(shape)
        known = [v for v in self.values if v.dtype == value.dtype and v.shape == shape
                 and (numbers is None or v.numbers == numbers)]
        if known and self.chance(0.5):
            return known[self.below(len(known))]
        numbers = self.numbers(value.dtype) if numbers is None else numbers
        if self.chance(0.4):
            return self.constant(value.dtype, self.array(value.dtype, shape), numbers)
        return self.input(value.dtype, shape, numbers)

    # --- operators --------------------------------------------------------------------------------
    def op(self, name, inputs, outputs, options=None, version=1, exact=True, **fields):
        """`inputs` are values or None, `outputs` pairs of a type and its numbers. False where LiteRT
        refuses it."""
        model, graph = self.model, self.model.graph
        marks = len(graph.tensors), len(graph.operators), len(model.model.operatorCodes)
        made = [model.tensor(f"t{len(graph.tensors)}", dtype, [], scale=numbers[0],
                             zero_point=numbers[1]) for dtype, numbers in outputs]
        model.op(name, [-1 if v is None else v.number for v in inputs], made, options, version,
                 **fields)
        kept, graph.outputs = graph.outputs, made
        arrays = self.run(made)
        graph.outputs = kept
        if arrays is None or any(array.size == 0 for array in arrays):
            del graph.tensors[marks[0]:], graph.operators[marks[1]:]
            del model.model.operatorCodes[marks[2]:]
            return False
        operands = [v for v in inputs if v is not None]
        for number, (dtype, numbers), array in zip(made, outputs, arrays):
            graph.tensors[number].shape = list(array.shape)
            value = self._add(Value(number, dtype, array, numbers))
            value.exact = exact or array.dtype == np.float32
            value.comparable = all(v.exact and v.comparable and not np.isnan(v.array).any()
                                   for v in operands)
            value.depth = 1 + max([v.depth for v in operands], default=0)
        self.read |= {v.number for v in operands}
        self.names.append(name)
        return True

    def run(self, numbers, feeds=None, kernels=OpResolverType.BUILTIN_REF):
        """The tensors' values; None where LiteRT cannot run the network."""
        try:
            interpreter = Interpreter(model_content=self.model.bytes(),
                                      experimental_op_resolver_type=kernels)
            interpreter.allocate_tensors()
            feeds = self.feeds if feeds is None else feeds
            for details in interpreter.get_input_details():
                interpreter.set_tensor(details["index"], feeds[details["name"]])
            interpreter.invoke()
            return [interpreter.get_tensor(number) for number in numbers]
        except (RuntimeError, ValueError):
            return None

    def finish(self):
        """Chooses outputs; False if no operator was taken."""
        made = [v for v in self.values if v.depth > 0]
        self.outputs = [v for v in made if v.number not in self.read or self.chance(0.15)]
        self.model.graph.outputs = [v.number for v in self.outputs]
        # What nothing reads is no input.
        unread = [v for v in self.values if v.depth == 0 and not v.constant
                  and v.number not in self.read]
        for value in unread:
            self.model.graph.inputs.remove(value.number)
            del self.feeds[self.model.graph.tensors[value.number].name]
        return bool(self.outputs)

    def name(self, value):
        return self.model.graph.tensors[value.number].name


ACTIVATIONS = (0, 0, 0, 1, 2, 3)
QUANTIZED = ("i8", "i8", "u8", "i16")
F32 = ("f32", NONE)


def near(net, value):
    """Numbers for a result that is about as large."""
    scale, zero_point = net.numbers(value.dtype)
    if scale is None or value.numbers[0] is None:
        return NONE
    if value.dtype == "i16":  # LiteRT's arithmetic overflows where scales are far apart
        scale = float(np.float32(value.numbers[0] * net.pick(0.3, 1, 1, 1.7, 4)))
    return scale, zero_point


def out(net, value, numbers=None):
    return value.dtype, near(net, value) if numbers is None else numbers
