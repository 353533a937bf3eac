// What conv_tile.cl is told of a convolution or matrix product: parameters, and options of its
// program.
#pragma once

#include <cstdint>
#include <string>

#include "backends/opencl/caps/tile_shapes.hpp"
#include "runtime/ops/attributes.hpp"

namespace tenon::opencl {

/// Contains the parameters of conv_tile.cl, which says what the fields mean.
struct TileParameters {
  int32_t pixels = 0;
  int32_t tiles_per_item = 1;
  int32_t channels = 0;
  int32_t outputs = 0;
  int32_t blocks = 0;
  int32_t weight_groups = 1;
  int32_t output_rows = 1, output_columns = 1;
  int32_t input_rows = 1, input_columns = 1;
  int32_t taps_y = 1, taps_x = 1;
  int32_t stride_y = 1, stride_x = 1;
  int32_t dilation_y = 1, dilation_x = 1;
  int32_t pad_top = 0, pad_left = 0;
  int32_t runs_x = 1, run_length = 0, run_step = 0;
  int32_t x_group = 0, x_channel = 1, x_image = 0, x_row = 0, x_pixel = 0;
  int32_t y_group = 0, y_channel = 1, y_image = 0, y_row = 0, y_pixel = 0;
  int32_t residual_group = 0, residual_channel = 1, residual_image = 0, residual_row = 0,
          residual_pixel = 0;
  int32_t has_residual = 0;
  float a = 0.0F, b = 0.0F;
};

/// Contains what the kernels compile and pass for an activation: identity and relu are clips too,
/// so that the usual ones share a program.
struct ActivationArguments {
  int function = 0;  ///< number of a UnaryFunction
  float a = 0.0F;
  float b = 0.0F;
};
[[nodiscard]] ActivationArguments ArgumentsOf(const Activation& activation);
/// Returns "-DFUNCTION=2", for example.
[[nodiscard]] std::string FunctionOption(const Activation& activation);

/// Describes a matrix per group and a bias in the plan's order: element (tap, k, column) of group g
/// is at data[g * group + tap_y * row + tap_x * tap + k * depth_step + column * column_step].
struct MatrixView {
  const float* data = nullptr;
  int32_t groups = 1;
  int32_t taps_y = 1;
  int32_t taps_x = 1;
  int32_t depth = 0;
  int32_t columns = 0;
  int64_t group_step = 0;
  int64_t tap_y_step = 0;
  int64_t tap_x_step = 0;
  int64_t depth_step = 0;
  int64_t column_step = 0;
  const float* bias = nullptr;  ///< null: zeros
  int64_t bias_step = 1;
  int64_t bias_group_step = 0;
};

[[nodiscard]] inline int32_t BlocksOf(int32_t outputs, const TileShape& shape) {
  return (outputs + shape.width() - 1) / shape.width();
}

/// Returns the file with the functions for tiles of this shape: "conv_tile.cl".
[[nodiscard]] const char* TileFile(const TileShape& shape);

/// Returns its options for tiles of this shape with this activation. `any_layout` is for conv_tile
/// with an input whose channels need not be contiguous.
[[nodiscard]] std::string TileOptions(const TileShape& shape, const Activation& activation,
                                      bool any_layout);

}  // namespace tenon::opencl
