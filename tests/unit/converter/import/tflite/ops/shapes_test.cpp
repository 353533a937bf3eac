// What operators that reshape, cut, pad and join tensors compute, and what they refuse.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <numeric>

#include "tests/unit/converter/import/onnx/evaluate.hpp"
#include "tests/unit/converter/import/tflite/ops/numbers.hpp"
#include "tests/unit/converter/import/tflite/tflite_builder.hpp"

namespace tenon::converter::test {
namespace {

using Op = format::BuiltinOperator;
using format::BuiltinOptions;
using format::TensorType;
using Dims = std::vector<int32_t>;
using Floats = std::vector<float>;
using Builder = flatbuffers::FlatBufferBuilder;

/// A model of one operator with the input x, which counts from 1, and constants.
struct OneOp {
  Op op;
  Dims x;  ///< dims
  std::vector<std::vector<int32_t>> constants;
  std::vector<Dims> outputs;
  BuiltinOptions type = BuiltinOptions::NONE;
  std::function<flatbuffers::Offset<void>(Builder&)> options = nullptr;
  int place = 0;    ///< of x among the operands
  int scalar = -1;  ///< the constant that has no dimension
};

/// The values of every output, or what is wrong.
struct Made {
  std::string error;
  std::vector<Floats> values;
};

Made Make(const OneOp& one) {
  TfliteBuilder model;
  std::vector<int32_t> operands{model.Input("x", kF32, one.x)};
  for (size_t i = 0; i < one.constants.size(); ++i) {
    const auto& values = one.constants[i];
    const Dims dims =
        static_cast<int>(i) == one.scalar ? Dims{} : Dims{static_cast<int32_t>(values.size())};
    operands.push_back(model.Ints("c" + std::to_string(i), dims, values));
  }
  std::rotate(operands.begin(), operands.begin() + 1, operands.begin() + 1 + one.place);
  std::vector<int32_t> results;
  for (size_t i = 0; i < one.outputs.size(); ++i) {
    results.push_back(model.Output("y" + std::to_string(i), kF32, one.outputs[i]));
  }
  model.Node(one.op, operands, results, one.type, one.options ? one.options(model.flat) : 0);
  const Result<Graph> graph = ImportBytes(model.File());
  if (!graph.ok()) return {TextOf(graph), {}};
  Values values;
  auto& input = values[graph->inputs().at(0).tensor];
  Floats x(std::accumulate(one.x.begin(), one.x.end(), size_t{1}, std::multiplies<>()));
  std::iota(x.begin(), x.end(), 1.0F);
  input.resize(x.size() * sizeof(float));
  std::memcpy(input.data(), x.data(), input.size());
  std::vector<TensorId> wanted;
  for (const auto& port : graph->outputs()) wanted.push_back(port.tensor);
  const Status status = Evaluate(*graph, wanted, values);
  if (!status.ok()) return {status.error().message, {}};
  Made made;
  for (size_t i = 0; i < wanted.size(); ++i) {
    const Shape& shape = graph->tensor(wanted[i]).shape;
    CHECK(Dims(shape.dims, shape.dims + shape.rank) == one.outputs[i]);
    const auto& bytes = values.at(wanted[i]);
    made.values.emplace_back(bytes.size() / sizeof(float));
    std::memcpy(made.values.back().data(), bytes.data(), bytes.size());
  }
  return made;
}

bool Refuses(const OneOp& one, const std::string& words) {
  const Made made = Make(one);
  CAPTURE(made.error);
  const bool refused = made.error.find(words) != std::string::npos;
  if (!refused) MESSAGE("expected '" << words << "'");
  return refused;
}

OneOp Squeeze(const Dims& x, const Dims& axes, const Dims& y) {
  return {Op::SQUEEZE, x, {}, {y}, BuiltinOptions::SqueezeOptions, [=](Builder& flat) {
            return format::CreateSqueezeOptionsDirect(flat, &axes).Union();
          }};
}

TEST_CASE("TFLite lowering: SQUEEZE drops the dimensions of 1 that it names, or all") {
  CHECK(Make(Squeeze({1, 2, 1, 3}, {-2}, {1, 2, 3})).values == std::vector<Floats>{Counted(6)});
  CHECK(Make(Squeeze({1, 2, 1, 3}, {}, {2, 3})).values == std::vector<Floats>{Counted(6)});
  CHECK(Refuses(Squeeze({1, 2, 1, 3}, {1}, {1, 1, 3}), "dimension 1 is 2, not 1"));
}

TEST_CASE("TFLite lowering: EXPAND_DIMS puts a dimension of 1 where its axis says") {
  CHECK(Make({Op::EXPAND_DIMS, {2, 3}, {{-1}}, {{2, 3, 1}}}).values ==
        std::vector<Floats>{Counted(6)});
  CHECK(Refuses({Op::EXPAND_DIMS, {2, 3}, {{0, 1}}, {{1, 2, 3}}}, "its axis is no scalar"));
}

TEST_CASE("TFLite lowering: RESHAPE takes its dims from an operand, and works out one of them") {
  CHECK(Make({Op::RESHAPE, {2, 3}, {{3, -1}}, {{3, 2}}}).values == std::vector<Floats>{Counted(6)});
  CHECK(Refuses({Op::RESHAPE, {2, 3}, {{-1, -1}}, {{3, 2}}}, "two of its dims are -1"));
  CHECK(Refuses({Op::RESHAPE, {2, 3}, {{4, -1}}, {{4, 2}}}, "do not divide into dims of 4"));
  CHECK(Refuses({Op::RESHAPE, {2, 3}, {{-2, 3}}, {{2, 3}}}, "dim -2 is out of range"));
  CHECK(Refuses({Op::RESHAPE, {2, 3}, {}, {{3, 2}}}, "its dims are missing"));
}

TEST_CASE("TFLite lowering: TRANSPOSE wants every axis once") {
  CHECK(Make({Op::TRANSPOSE, {2, 3}, {{1, 0}}, {{3, 2}}}).values ==
        std::vector<Floats>{{1, 4, 2, 5, 3, 6}});
  CHECK(Refuses({Op::TRANSPOSE, {2, 3}, {{0, 0}}, {{3, 2}}}, "axis 0 is given twice"));
  CHECK(Refuses({Op::TRANSPOSE, {2, 3}, {{0}}, {{3, 2}}}, "1 axes for 2 dimensions"));
}

TEST_CASE("TFLite lowering: TILE repeats along every dimension") {
  CHECK(Make({Op::TILE, {2, 2}, {{2, 3}}, {{4, 6}}}).values ==
        std::vector<Floats>{
            {1, 2, 1, 2, 1, 2, 3, 4, 3, 4, 3, 4, 1, 2, 1, 2, 1, 2, 3, 4, 3, 4, 3, 4}});
  CHECK(Refuses({Op::TILE, {2, 2}, {{2}}, {{4, 2}}}, "1 repetitions for 2 dimensions"));
  CHECK(Refuses({Op::TILE, {2, 2}, {{-2, 1}}, {{4, 2}}}, "repetition -2 is out of range"));
}

TEST_CASE("TFLite lowering: BROADCAST_TO repeats dimensions of 1") {
  CHECK(Make({Op::BROADCAST_TO, {2, 1}, {{2, 3}}, {{2, 3}}}).values ==
        std::vector<Floats>{{1, 1, 1, 2, 2, 2}});
}

OneOp DepthToSpace(const Dims& x, int block, const Dims& y) {
  return {Op::DEPTH_TO_SPACE, x, {}, {y}, BuiltinOptions::DepthToSpaceOptions, [=](Builder& flat) {
            return format::CreateDepthToSpaceOptions(flat, block).Union();
          }};
}
OneOp SpaceToDepth(const Dims& x, int block, const Dims& y) {
  return {Op::SPACE_TO_DEPTH, x, {}, {y}, BuiltinOptions::SpaceToDepthOptions, [=](Builder& flat) {
            return format::CreateSpaceToDepthOptions(flat, block).Union();
          }};
}

TEST_CASE("TFLite lowering: DEPTH_TO_SPACE and SPACE_TO_DEPTH move blocks of pixels") {
  // Channel c of pixel (h, w) of a block is channel 2 (2 h + w) + c.
  CHECK(Make(DepthToSpace({1, 1, 2, 8}, 2, {1, 2, 4, 2})).values ==
        std::vector<Floats>{{1, 2, 3, 4, 9, 10, 11, 12, 5, 6, 7, 8, 13, 14, 15, 16}});
  CHECK(Make(SpaceToDepth({1, 2, 4, 2}, 2, {1, 1, 2, 8})).values ==
        std::vector<Floats>{{1, 2, 3, 4, 9, 10, 11, 12, 5, 6, 7, 8, 13, 14, 15, 16}});
  CHECK(Refuses(DepthToSpace({1, 1, 2, 6}, 2, {1, 2, 4, 1}), "blocks of 2 do not divide 6"));
  CHECK(Refuses(SpaceToDepth({1, 3, 4, 2}, 2, {1, 1, 2, 8}), "do not divide an image of 3 by 4"));
  CHECK(Refuses(DepthToSpace({2, 6}, 2, {2, 6}), "it needs a block size and 4 dimensions"));
  CHECK(Refuses(SpaceToDepth({1, 2, 2, 2}, 0, {1, 1, 1, 8}), "it needs a block size"));
}

/// The masks of a STRIDED_SLICE.
struct Masks {
  int32_t ellipsis = 0;
  int32_t new_axis = 0;
  int32_t single = 0;
  bool offset = false;
  int32_t begin = 0;
};

OneOp StridedSlice(const Dims& x, const std::vector<std::vector<int32_t>>& ends, const Dims& y,
                   const Masks& masks) {
  return {Op::STRIDED_SLICE, x, ends, {y}, BuiltinOptions::StridedSliceOptions, [=](Builder& flat) {
            return format::CreateStridedSliceOptions(flat, masks.begin, 0, masks.ellipsis,
                                                     masks.new_axis, masks.single, masks.offset)
                .Union();
          }};
}

TEST_CASE("TFLite lowering: STRIDED_SLICE has an ellipsis for the dimensions that are left") {
  // x[..., 1]
  CHECK(Make(StridedSlice({2, 2, 2}, {{0, 1}, {0, 2}, {1, 1}}, {2, 2}, {1, 0, 2})).values ==
        std::vector<Floats>{{2, 4, 6, 8}});
  // x[1, ..., ::-1]
  CHECK(Make(StridedSlice({2, 2, 2}, {{1, 0, 1}, {2, 0, -3}, {1, 1, -1}}, {2, 2}, {2, 0, 1}))
            .values == std::vector<Floats>{{6, 5, 8, 7}});
  CHECK(Refuses(StridedSlice({2, 2}, {{0, 0}, {0, 0}, {1, 1}}, {2, 2}, {3, 0, 0}),
                "2 begins, 2 ends and 2 steps for 2 dimensions"));
}

TEST_CASE("TFLite lowering: STRIDED_SLICE makes new dimensions of 1") {
  // x[:, newaxis, 1:]
  CHECK(
      Make(StridedSlice({2, 3}, {{0, 0, 1}, {2, 0, 3}, {1, 1, 1}}, {2, 1, 2}, {0, 2, 0})).values ==
      std::vector<Floats>{{2, 3, 5, 6}});
  // x[..., newaxis]
  CHECK(Make(StridedSlice({2, 3}, {{0, 0}, {0, 0}, {1, 1}}, {2, 3, 1}, {1, 2, 0})).values ==
        std::vector<Floats>{Counted(6)});
}

TEST_CASE("TFLite lowering: STRIDED_SLICE counts an end from its begin where it says so") {
  CHECK(Make(StridedSlice({6}, {{2}, {3}, {1}}, {3}, {0, 0, 0, true})).values ==
        std::vector<Floats>{{3, 4, 5}});
}

TEST_CASE("TFLite lowering: STRIDED_SLICE takes the first of what begins open, or the last") {
  CHECK(Make(StridedSlice({6}, {{2}, {3}, {1}}, {}, {0, 0, 1, false, 1})).values ==
        std::vector<Floats>{{1}});
  CHECK(Make(StridedSlice({6}, {{2}, {3}, {-1}}, {}, {0, 0, 1, false, 1})).values ==
        std::vector<Floats>{{6}});
}

TEST_CASE("TFLite lowering: SLICE cuts a window, -1 takes the rest") {
  CHECK(Make({Op::SLICE, {3, 4}, {{1, 2}, {2, -1}}, {{2, 2}}}).values ==
        std::vector<Floats>{{7, 8, 11, 12}});
  CHECK(Refuses({Op::SLICE, {3, 4}, {{1, 2}, {2, 3}}, {{2, 3}}}, "3 elements at 2 do not fit"));
  CHECK(Refuses({Op::SLICE, {3, 4}, {{1}, {2}}, {{2, 4}}}, "1 begins and 1 sizes for 2"));
}

TEST_CASE("TFLite lowering: SPLIT makes equal parts, SPLIT_V parts as long as it says") {
  const auto split = [](const Dims& x, int parts, const Dims& y) {
    OneOp one{Op::SPLIT, x, {{1}}, std::vector<Dims>(static_cast<size_t>(parts), y)};
    one.place = 1;
    one.scalar = 0;
    return one;
  };
  CHECK(Make(split({2, 4}, 2, {2, 2})).values == std::vector<Floats>{{1, 2, 5, 6}, {3, 4, 7, 8}});
  CHECK(Refuses(split({2, 4}, 3, {2, 1}), "dimension 4 does not divide into 3 parts"));
  const auto uneven = [](const std::vector<int32_t>& sizes, const std::vector<Dims>& outputs) {
    OneOp one{Op::SPLIT_V, {2, 4}, {sizes, {1}}, outputs};
    one.scalar = 1;
    return one;
  };
  CHECK(Make(uneven({1, -1}, {{2, 1}, {2, 3}})).values ==
        std::vector<Floats>{{1, 5}, {2, 3, 4, 6, 7, 8}});
  CHECK(Refuses(uneven({3, 2}, {{2, 3}, {2, 2}}), "a part of 2 at 3 does not fit dimension 4"));
  CHECK(Refuses(uneven({4}, {{2, 3}, {2, 1}}), "1 parts and 2 outputs"));
}

TEST_CASE("TFLite lowering: UNPACK makes a tensor of each index, PACK one of several tensors") {
  const auto unpack = [](const std::vector<Dims>& outputs) {
    return OneOp{Op::UNPACK, {2, 3}, {}, outputs, BuiltinOptions::UnpackOptions, [](Builder& flat) {
                   return format::CreateUnpackOptions(flat, 3, -1).Union();
                 }};
  };
  CHECK(Make(unpack({{2}, {2}, {2}})).values == std::vector<Floats>{{1, 4}, {2, 5}, {3, 6}});
  CHECK(Refuses(unpack({{2}, {2}}), "dimension 3 and 2 outputs"));
  TfliteBuilder model;
  const int32_t x = model.Input("x", kF32, {2});
  const int32_t c = model.Floats("c", {2}, {7, 8});
  const int32_t y = model.Output("y", kF32, {2, 2});
  model.Node(Op::PACK, {x, c}, {y}, BuiltinOptions::PackOptions,
             format::CreatePackOptions(model.flat, 2, 1).Union());
  CHECK(model.Text() ==
        "input %x: f32[2]\n"
        "const %c/reshaped: f32[2,1] = [7, 8]\n"
        "%y/reshape: f32[2,1] = reshape(%x) {dims=[2,1]}\n"
        "%y: f32[2,2] = concat(%y/reshape, %c/reshaped) {axis=1}\n"
        "output %y\n");
}

TEST_CASE("TFLite lowering: PAD puts zeros around, MIRROR_PAD what is there") {
  CHECK(Make({Op::PAD, {1, 2}, {{0, 1, 1, 0}}, {{2, 3}}}).values ==
        std::vector<Floats>{{0, 1, 2, 0, 0, 0}});
  const auto mirror = [](format::MirrorPadMode mode, const std::vector<int32_t>& amounts,
                         const Dims& y) {
    return OneOp{
        Op::MIRROR_PAD, {3}, {amounts}, {y}, BuiltinOptions::MirrorPadOptions, [=](Builder& flat) {
          return format::CreateMirrorPadOptions(flat, mode).Union();
        }};
  };
  CHECK(Make(mirror(format::MirrorPadMode::REFLECT, {2, 1}, {6})).values ==
        std::vector<Floats>{{3, 2, 1, 2, 3, 2}});
  CHECK(Make(mirror(format::MirrorPadMode::SYMMETRIC, {1, 1}, {5})).values ==
        std::vector<Floats>{{1, 1, 2, 3, 3}});
  CHECK(Make(mirror(format::MirrorPadMode::SYMMETRIC, {2, 3}, {8})).values ==
        std::vector<Floats>{{2, 1, 1, 2, 3, 3, 2, 1}});
  CHECK(Refuses(mirror(format::MirrorPadMode::SYMMETRIC, {4, 0}, {7}),
                "mirrors 4 and 0 elements of a dimension of 3"));
  CHECK(Refuses({Op::PAD, {1, 2}, {{0, 1}}, {{2, 3}}}, "2 amounts do not fit 2 dimensions"));
  CHECK(Refuses({Op::PAD, {1, 2}, {{0, -1, 0, 0}}, {{2, 3}}}, "amount -1 is out of range"));
}

TEST_CASE("TFLite lowering: RESIZE takes pixels by corners, by centers or from the left") {
  const auto nearest = [](bool corners, bool centers) {
    return OneOp{
        Op::RESIZE_NEAREST_NEIGHBOR,
        {1, 1, 3, 1},
        {{1, 5}},
        {{1, 1, 5, 1}},
        BuiltinOptions::ResizeNearestNeighborOptions,
        [=](Builder& flat) {
          return format::CreateResizeNearestNeighborOptions(flat, corners, centers).Union();
        }};
  };
  CHECK(Make(nearest(false, false)).values == std::vector<Floats>{{1, 1, 2, 2, 3}});
  CHECK(Make(nearest(true, false)).values == std::vector<Floats>{{1, 2, 2, 3, 3}});
  CHECK(Make(nearest(false, true)).values == std::vector<Floats>{{1, 1, 2, 3, 3}});
  CHECK(Refuses(nearest(true, true), "align_corners and half_pixel_centers exclude each other"));
  const auto linear = [](const std::vector<int32_t>& size) {
    return OneOp{Op::RESIZE_BILINEAR,
                 {1, 1, 2, 1},
                 {size},
                 {{1, 1, 4, 1}},
                 BuiltinOptions::ResizeBilinearOptions,
                 [](Builder& flat) {
                   return format::CreateResizeBilinearOptions(flat, false, false).Union();
                 }};
  };
  CHECK(Make(linear({1, 4})).values == std::vector<Floats>{{1, 1.5F, 2, 2}});
  CHECK(Refuses(linear({1, 0}), "its sizes are out of range"));
  CHECK(Refuses({Op::RESIZE_BILINEAR, {1, 1, 2, 1}, {{1, 4}}, {{1, 1, 4, 1}}},
                "its options are missing"));
}

TEST_CASE("TFLite lowering: L2_NORMALIZATION divides by the length of the last dimension") {
  const Made made = Make({Op::L2_NORMALIZATION,
                          {1, 2},
                          {},
                          {{1, 2}},
                          BuiltinOptions::L2NormOptions,
                          [](Builder& flat) { return format::CreateL2NormOptions(flat).Union(); }});
  REQUIRE(made.error == "");
  CHECK(made.values[0][0] == doctest::Approx(1 / std::sqrt(5.0)));
  CHECK(made.values[0][1] == doctest::Approx(2 / std::sqrt(5.0)));
}

TEST_CASE("TFLite lowering: LOCAL_RESPONSE_NORMALIZATION divides by the neighbours' squares") {
  const Made made = Make(
      {Op::LOCAL_RESPONSE_NORMALIZATION,
       {1, 1, 1, 3},
       {},
       {{1, 1, 1, 3}},
       BuiltinOptions::LocalResponseNormalizationOptions,
       [](Builder& flat) {
         return format::CreateLocalResponseNormalizationOptions(flat, 1, 1.0F, 0.5F, 1.0F).Union();
       }});
  REQUIRE(made.error == "");
  CHECK(made.values[0][0] == doctest::Approx(1 / (1 + 0.5 * (1 + 4))));
  CHECK(made.values[0][1] == doctest::Approx(2 / (1 + 0.5 * (1 + 4 + 9))));
  CHECK(made.values[0][2] == doctest::Approx(3 / (1 + 0.5 * (4 + 9))));
}

TEST_CASE("TFLite lowering: FLOOR_DIV, SQUARED_DIFFERENCE, NOT_EQUAL and ADD_N are two ops each") {
  const auto computed = [](Op op, const Floats& other) {
    TfliteBuilder model;
    const int32_t x = model.Input("x", kF32, {2});
    const int32_t c = model.Floats("c", {2}, other);
    const int32_t y = model.Output("y", op == Op::NOT_EQUAL ? TensorType::BOOL : kF32, {2});
    model.Node(op, {x, c}, {y});
    return model.Text();
  };
  CHECK(computed(Op::FLOOR_DIV, {2, 2}) ==
        "input %x: f32[2]\nconst %c: f32[2] = [2, 2]\n%y/binary: f32[2] = binary(%x, %c) "
        "{function=div}\n%y: f32[2] = unary(%y/binary) {function=floor}\noutput %y\n");
  CHECK(computed(Op::SQUARED_DIFFERENCE, {2, 2}) ==
        "input %x: f32[2]\nconst %c: f32[2] = [2, 2]\n%y/binary: f32[2] = binary(%x, %c) "
        "{function=sub}\n%y: f32[2] = binary(%y/binary, %y/binary) {function=mul}\noutput %y\n");
  CHECK(computed(Op::NOT_EQUAL, {2, 2}) ==
        "input %x: f32[2]\nconst %c: f32[2] = [2, 2]\n%y/binary: bool[2] = binary(%x, %c) "
        "{function=equal}\n%y: bool[2] = unary(%y/binary) {function=not}\noutput %y\n");
  CHECK(computed(Op::ADD_N, {2, 2}) ==
        "input %x: f32[2]\nconst %c: f32[2] = [2, 2]\n%y: f32[2] = binary(%x, %c)\noutput %y\n");
}

}  // namespace
}  // namespace tenon::converter::test
