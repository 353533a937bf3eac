// Makes the sweep's ops that move elements: copies of all shapes, choices, look-ups, and those that
// join the rows of others.
#include <fmt/ranges.h>

#include <algorithm>

#include "converter/measure/profile_sweep.hpp"

namespace tenon::converter {
namespace {

std::string NameOf(const char* kind, const std::vector<int32_t>& dims) {
  return fmt::format("{} {}", kind, fmt::join(dims, "x"));
}

/// A negation after an op prevents that it becomes a view of an output.
void Use(SweepBuilder& builder, TensorId id) {
  UnaryAttributes negation;
  negation.function = UnaryFunction::kNeg;
  builder.Add(OpKind::kUnary, {id}, Attributes(negation), id);
}

TensorId Transposed(SweepBuilder& builder, TensorId x, const std::vector<int32_t>& permutation) {
  TransposeAttributes transpose;
  transpose.rank = static_cast<int32_t>(permutation.size());
  std::copy(permutation.begin(), permutation.end(), transpose.permutation);
  return builder.Add(OpKind::kTranspose, {x}, Attributes(transpose), x);
}

void AddMovement(std::vector<SweepNetwork>& networks) {
  for (const auto& dims : std::vector<std::vector<int32_t>>{{1, 24, 14, 14},
                                                            {1, 96, 11, 11},
                                                            {1, 64, 56, 56},
                                                            {1, 3, 96, 96},
                                                            {1, 48, 22, 22},
                                                            {1, 116, 28, 28},
                                                            {1, 24, 44, 44},
                                                            {1, 172, 216, 1},
                                                            {1, 9, 224, 224}}) {
    SweepBuilder builder(NameOf("move images", dims), 400);
    const auto use = [&](TensorId id) { Use(builder, id); };
    const TensorId image = builder.Conv(builder.Input(dims), dims[1], 1, 1, 1, false);
    // Converts to row-major and reshapes.
    ReshapeAttributes flat;
    flat.rank = 2;
    flat.dims[0] = dims[1];
    flat.dims[1] = dims[2] * dims[3];
    use(builder.Add(OpKind::kReshape, {image}, Attributes(flat), image));
    const TensorId rows = builder.Input(dims);
    const TensorId turned = Transposed(builder, rows, {0, 2, 3, 1});
    flat.dims[0] = dims[2] * dims[3];
    flat.dims[1] = dims[1];
    use(builder.Add(OpKind::kReshape, {turned}, Attributes(flat), turned));
    PadAttributes pad;
    pad.rank = 4;
    for (const int axis : {2, 3}) {
      const bool is_column = axis == 3 && dims[3] == 1;
      if (!is_column) pad.begins[axis] = pad.ends[axis] = 1;
    }
    use(builder.Add(OpKind::kPad, {rows}, Attributes(pad), rows));
    if (dims[2] > 11) {
      pad.mode = PadMode::kReflect;
      use(builder.Add(OpKind::kPad, {rows}, Attributes(pad), rows));
      pad.mode = PadMode::kConstant;
    }
    // Pads rows at one end by much, as where parts of a spectrum are stacked.
    PadAttributes end;
    end.rank = 4;
    end.ends[2] = dims[2] / 2;
    use(builder.Add(OpKind::kPad, {rows}, Attributes(end), rows));
    use(builder.Add(OpKind::kPad, {image}, Attributes(end), image));
    PadAttributes channels;
    channels.rank = 4;
    channels.begins[1] = channels.ends[1] = 4;
    use(builder.Add(OpKind::kPad, {image}, Attributes(channels), image));
    CastAttributes cast;
    cast.to = static_cast<int32_t>(DType::kI32);
    builder.Add(OpKind::kCast, {rows}, Attributes(cast), rows);
    // Joins two inputs of the graph: neither can be written in its place.
    ConcatAttributes concat;
    concat.axis = 1;
    const TensorId more = builder.Input(dims);
    use(builder.Add(OpKind::kConcat, {rows, more}, Attributes(concat), rows));
    SliceAttributes slice;
    slice.rank = 4;
    for (int k = 0; k < 4; ++k) {
      slice.steps[k] = k == 3 ? 2 : 1;
      slice.sizes[k] = k == 3 ? (dims[3] + 1) / 2 : dims[static_cast<size_t>(k)];
    }
    use(builder.Add(OpKind::kSlice, {rows}, Attributes(slice), rows));
    networks.push_back(builder.Finish());
  }
}

void AddLookUps(std::vector<SweepNetwork>& networks) {
  for (const auto& dims : std::vector<std::vector<int32_t>>{{2, 24, 44, 44},
                                                            {2, 48, 22, 22},
                                                            {2, 96, 11, 11},
                                                            {98, 192},
                                                            {1000, 64},
                                                            {4096, 3},
                                                            {12288, 2},
                                                            {2048, 16},
                                                            {64, 500}}) {
    SweepBuilder builder(NameOf("gather rows", dims), 500);
    for (const int axis : {0, 1}) {
      const int32_t limit = dims[static_cast<size_t>(axis)];
      for (const int32_t count : {1, std::max(limit / 2, 1)}) {
        const TensorId x = builder.Input(dims);
        GatherAttributes gather;
        gather.axis = axis;
        builder.Add(OpKind::kGather, {x, builder.Indices(count, limit)}, Attributes(gather), x);
      }
    }
    networks.push_back(builder.Finish());
  }
}

/// Images that become larger, and smaller ones.
void AddResizing(std::vector<SweepNetwork>& networks) {
  for (const auto& dims : std::vector<std::vector<int32_t>>{
           {1, 16, 14, 14}, {1, 96, 11, 11}, {1, 64, 28, 28}, {1, 4, 64, 64}, {1, 3, 96, 96}}) {
    SweepBuilder builder(NameOf("resize", dims), 501);
    const TensorId input = builder.Input(dims);
    const TensorId image = builder.Conv(input, dims[1], 1, 1, 1, false);
    for (const float scale : {0.5F, 2.0F, 4.0F}) {
      ResizeAttributes resize;
      resize.rank = 4;
      for (int k = 0; k < 4; ++k) {
        resize.scales[k] = k < 2 ? 1.0F : scale;
        const auto size = static_cast<float>(dims[static_cast<size_t>(k)]);
        resize.sizes[k] = static_cast<int32_t>(size * resize.scales[k]);
      }
      for (const ResizeMode mode : {ResizeMode::kNearest, ResizeMode::kLinear}) {
        resize.mode = mode;
        for (const TensorId x : {input, image}) {
          builder.Add(OpKind::kResize, {x}, Attributes(resize), x);
        }
      }
    }
    networks.push_back(builder.Finish());
  }
}

/// Images that are sampled at points, as where they are warped.
void AddSampling(std::vector<SweepNetwork>& networks) {
  for (const auto& dims : std::vector<std::vector<int32_t>>{
           {1, 3, 64, 64}, {1, 16, 32, 32}, {1, 64, 24, 24}, {8, 1, 12, 16}, {1, 4, 96, 96}}) {
    SweepBuilder builder(NameOf("sample", dims), 502);
    const TensorId input = builder.Input(dims);
    const TensorId image = builder.Conv(input, dims[1], 1, 1, 1, false);
    const TensorId grid = builder.Input({dims[0], dims[2], dims[3], 2});
    for (const ResizeMode mode : {ResizeMode::kNearest, ResizeMode::kLinear, ResizeMode::kCubic}) {
      GridSampleAttributes sample;
      sample.mode = mode;
      for (const TensorId x : {input, image}) {
        builder.Add(OpKind::kGridSample, {x, grid}, Attributes(sample), x);
      }
    }
    networks.push_back(builder.Finish());
  }
}

/// Rows that change their order, and elements that lie apart and are brought together: parts of
/// heads and of spectra.
void AddGathering(std::vector<SweepNetwork>& networks) {
  for (const auto& dims : std::vector<std::vector<int32_t>>{
           {8, 50, 3}, {12, 49, 32}, {64, 98, 5}, {4, 197, 64}, {309, 172, 2}, {96, 64, 24}}) {
    SweepBuilder builder(NameOf("move rows", dims), 402);
    const TensorId x = builder.Input(dims);
    for (const auto& permutation :
         std::vector<std::vector<int32_t>>{{0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}}) {
      Use(builder, Transposed(builder, x, permutation));
    }
    std::vector<TensorId> parts;
    for (const int32_t place : {0, dims[2] - 1}) {
      SliceAttributes slice;
      slice.rank = 3;
      for (int k = 0; k < 3; ++k) {
        slice.steps[k] = 1;
        slice.sizes[k] = dims[static_cast<size_t>(k)];
      }
      slice.begins[2] = place;
      slice.sizes[2] = 1;
      parts.push_back(builder.Add(OpKind::kSlice, {x}, Attributes(slice), x));
    }
    ConcatAttributes concat;
    Use(builder, builder.Add(OpKind::kConcat, parts, Attributes(concat), x));
    ReshapeAttributes flat;
    flat.rank = 2;
    flat.dims[0] = dims[1];
    flat.dims[1] = dims[0];
    const TensorId turned = Transposed(builder, parts[0], {1, 0, 2});
    Use(builder, builder.Add(OpKind::kReshape, {turned}, Attributes(flat), x));
    networks.push_back(builder.Finish());
  }
}

/// Repeats along an axis, and choices between two tensors by a third, which may repeat.
void AddChoices(std::vector<SweepNetwork>& networks) {
  for (const auto& dims : std::vector<std::vector<int32_t>>{
           {1, 24}, {4, 50, 50}, {2, 120, 120}, {98, 192}, {16, 64, 64}, {48, 4096}}) {
    SweepBuilder builder(NameOf("choose", dims), 510);
    const TensorId x = builder.Input(dims);
    const TensorId y = builder.Input(dims);
    BinaryAttributes less;
    less.function = BinaryFunction::kLess;
    std::vector<int32_t> column = dims;
    column.back() = 1;
    std::vector<int32_t> row(dims.size(), 1);
    row.back() = dims.back();
    const std::vector<int32_t> one(dims.size(), 1);
    for (const std::vector<int32_t>& shape : {dims, column, row}) {
      const TensorId part = builder.Input(shape);
      const TensorId condition =
          builder.Add(OpKind::kBinary, {part, builder.Constant(one)}, Attributes(less), x);
      builder.Add(OpKind::kSelect, {condition, x, y}, Attributes(), x);
      builder.Add(OpKind::kSelect, {condition, builder.Constant(one), y}, Attributes(), x);
      ExpandAttributes expand;
      expand.rank = static_cast<int32_t>(dims.size());
      std::copy(dims.begin(), dims.end(), expand.dims);
      Use(builder, builder.Add(OpKind::kExpand, {part}, Attributes(expand), x));
      CastAttributes cast;
      cast.to = static_cast<int32_t>(DType::kF32);
      builder.Add(OpKind::kCast, {condition}, Attributes(cast), x);
    }
    networks.push_back(builder.Finish());
  }
}

/// Sums along an axis, the best of rows, and rows that are added to others'.
void AddRunning(std::vector<SweepNetwork>& networks) {
  for (const auto& dims : std::vector<std::vector<int32_t>>{{1, 1000}, {64, 64}, {300, 80}}) {
    SweepBuilder builder(NameOf("along", dims), 511);
    const TensorId x = builder.Input(dims);
    for (const int32_t axis : {0, 1}) {
      CumSumAttributes sum;
      sum.axis = axis;
      builder.Add(OpKind::kCumSum, {x}, Attributes(sum), x);
      for (const int32_t count : {1, 5, 50}) {
        TopKAttributes best;
        best.axis = axis;
        best.count = count;
        builder.Add(OpKind::kTopK, {x}, Attributes(best), x);
      }
    }
    ScatterAttributes scatter;
    for (const ScatterFunction function : {ScatterFunction::kReplace, ScatterFunction::kAdd}) {
      scatter.function = function;
      const TensorId indices = builder.Indices(dims[0], dims[0]);
      builder.Add(OpKind::kScatter, {x, indices, builder.Input(dims)}, Attributes(scatter), x);
    }
    networks.push_back(builder.Finish());
  }
}

}  // namespace

void AddMovementNetworks(std::vector<SweepNetwork>& networks) {
  AddMovement(networks);
  AddGathering(networks);
  AddLookUps(networks);
  AddResizing(networks);
  AddSampling(networks);
  AddChoices(networks);
  AddRunning(networks);
}

}  // namespace tenon::converter
