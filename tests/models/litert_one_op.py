"""TFLite models of one operator each, written with the schema classes of ai_edge_litert."""
import contextlib

import flatbuffers
import numpy as np
from ai_edge_litert import schema_py_generated as schema

TYPES = {"i8": schema.TensorType.INT8, "u8": schema.TensorType.UINT8,
         "i16": schema.TensorType.INT16, "i32": schema.TensorType.INT32,
         "f32": schema.TensorType.FLOAT32,
         "c64": schema.TensorType.COMPLEX64,
         "i64": schema.TensorType.INT64, "f16": schema.TensorType.FLOAT16,
         "bool": schema.TensorType.BOOL}
NUMPY = {"i8": np.int8, "u8": np.uint8, "i16": np.int16, "i32": np.int32, "f32": np.float32,
         "i64": np.int64, "f16": np.float16, "bool": np.bool_}


class OneOp:
    """A model under construction: tensors first, then the operator, then `bytes()`."""

    def __init__(self):
        self.model = schema.ModelT()
        self.model.version = 3
        self.model.buffers = [schema.BufferT()]
        self.graph = schema.SubGraphT()
        self.graph.tensors, self.graph.inputs, self.graph.outputs = [], [], []
        self.graph.operators = []
        self.model.subgraphs = [self.graph]
        self.model.operatorCodes = []

    @contextlib.contextmanager
    def another_graph(self):
        """What is added meanwhile goes into a graph of its own, whose number this gives."""
        outer, graph = self.graph, schema.SubGraphT()
        graph.tensors, graph.inputs, graph.outputs, graph.operators = [], [], [], []
        self.model.subgraphs.append(graph)
        self.graph = graph
        yield len(self.model.subgraphs) - 1
        self.graph = outer

    def variable(self, name, shape, dtype="f32", **kwargs):
        number = self.tensor(name, dtype, shape, **kwargs)
        self.graph.tensors[number].isVariable = True
        return number

    def tensor(self, name, dtype, shape, scale=None, zero_point=0, axis=0, data=None):
        tensor = schema.TensorT()
        tensor.name, tensor.type, tensor.shape = name, TYPES[dtype], list(shape)
        if scale is not None:
            quantization = schema.QuantizationParametersT()
            quantization.scale = [float(s) for s in np.atleast_1d(scale)]
            quantization.zeroPoint = [int(z) for z in np.broadcast_to(
                zero_point, len(quantization.scale))]
            quantization.quantizedDimension = axis
            tensor.quantization = quantization
        tensor.buffer = 0
        if data is not None:
            buffer = schema.BufferT()
            buffer.data = np.frombuffer(np.asarray(data, NUMPY[dtype]).tobytes(), np.uint8)
            self.model.buffers.append(buffer)
            tensor.buffer = len(self.model.buffers) - 1
        self.graph.tensors.append(tensor)
        return len(self.graph.tensors) - 1

    def input(self, *args, **kwargs):
        self.graph.inputs.append(self.tensor(*args, **kwargs))
        return self.graph.inputs[-1]

    def output(self, *args, **kwargs):
        self.graph.outputs.append(self.tensor(*args, **kwargs))
        return self.graph.outputs[-1]

    def constant(self, name, dtype, data, **kwargs):
        data = np.asarray(data, NUMPY[dtype])
        return self.tensor(name, dtype, data.shape, data=data, **kwargs)

    def sparse(self, name, dtype, shape, values, order, levels, blocks=()):
        """A constant of which only `values` are stored. Each level is a number, dense, or a pair of
        segments and indices."""
        number = self.tensor(name, dtype, shape, data=values)
        sparsity = schema.SparsityParametersT()
        sparsity.traversalOrder, sparsity.blockMap, sparsity.dimMetadata = order, blocks, []
        for level in levels:
            metadata = schema.DimensionMetadataT()
            metadata.format = schema.DimensionType.DENSE
            if isinstance(level, int):
                metadata.denseSize = level
            else:
                metadata.format = schema.DimensionType.SPARSE_CSR
                vectors = [schema.Int32VectorT(), schema.Int32VectorT()]
                for vector, numbers in zip(vectors, level):
                    vector.values = [int(n) for n in numbers]
                metadata.arraySegmentsType = metadata.arrayIndicesType = (
                    schema.SparseIndexVector.Int32Vector)
                metadata.arraySegments, metadata.arrayIndices = vectors
            sparsity.dimMetadata.append(metadata)
        self.graph.tensors[number].sparsity = sparsity
        return number

    def op(self, name, inputs, outputs, options_name=None, version=2, **options):
        code = schema.OperatorCodeT()
        code.builtinCode = getattr(schema.BuiltinOperator, name)
        code.deprecatedBuiltinCode = min(code.builtinCode, 127)
        code.version = version
        self.model.operatorCodes.append(code)
        node = schema.OperatorT()
        node.opcodeIndex = len(self.model.operatorCodes) - 1
        node.inputs, node.outputs = inputs, outputs
        if options_name is not None:
            node.builtinOptionsType = getattr(schema.BuiltinOptions, options_name)
            node.builtinOptions = getattr(schema, options_name + "T")()
            for key, value in options.items():
                setattr(node.builtinOptions, key, value)
        self.graph.operators.append(node)

    def bytes(self):
        builder = flatbuffers.Builder(1024)
        builder.Finish(self.model.Pack(builder), b"TFL3")
        return bytes(builder.Output())
