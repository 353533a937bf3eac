#include "backends/opencl/codegen/tile_parameters.hpp"

#include <limits>

namespace tenon::opencl {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

}  // namespace

ActivationArguments ArgumentsOf(const Activation& activation) {
  constexpr int kClip = static_cast<int>(UnaryFunction::kClip);
  switch (activation.function) {
    case UnaryFunction::kIdentity:
      return {kClip, -kInfinity, kInfinity};
    case UnaryFunction::kRelu:
      return {kClip, 0.0F, kInfinity};
    default:
      return {static_cast<int>(activation.function), activation.a, activation.b};
  }
}

std::string FunctionOption(const Activation& activation) {
  return "-DFUNCTION=" + std::to_string(ArgumentsOf(activation).function);
}

const char* TileFile(const TileShape& shape) {
  return shape.IsLocal() ? "conv_tile_local.cl" : "conv_tile.cl";
}

std::string TileOptions(const TileShape& shape, const Activation& activation, bool any_layout) {
  if (shape.IsLocal()) {
    return "-DTILE_PIXELS=" + std::to_string(shape.pixels) +
           " -DTILE_WIDTH=" + std::to_string(shape.width()) +
           " -DTILE_SLICES=" + std::to_string(shape.slices) +
           " -DTILE_DEPTH=" + std::to_string(shape.depth) +
           " -DITEM_PIXELS=" + std::to_string(shape.item_pixels) +
           " -DITEM_OUTPUTS=" + std::to_string(shape.item_outputs) + " " +
           FunctionOption(activation);
  }
  return "-DTILE_PIXELS=" + std::to_string(shape.pixels) +
         " -DTILE_LANES=" + std::to_string(shape.lanes) +
         " -DTILE_VECTORS=" + std::to_string(shape.vectors) + " " + FunctionOption(activation) +
         (any_layout ? " -DANY_LAYOUT" : "");
}

}  // namespace tenon::opencl
