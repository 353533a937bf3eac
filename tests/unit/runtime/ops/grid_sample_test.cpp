#include <doctest/doctest.h>

#include "runtime/ops/attributes.hpp"
#include "runtime/ops/rows.hpp"
#include "tests/unit/runtime/ops/op_tester.hpp"

namespace tenon {
namespace {

std::string GridSample(const std::vector<int32_t>& x, const std::vector<int32_t>& grid,
                       const GridSampleAttributes& attributes = {}, DType x_dtype = DType::kF32,
                       DType grid_dtype = DType::kF32) {
  return OpTester(kGridSampleRow).Input(x_dtype, x).Input(grid_dtype, grid).Infer(attributes);
}

std::string ErrorOf(const GridSampleAttributes& attributes) {
  return GridSample({1, 2, 3, 4}, {1, 5, 6, 2}, attributes);
}

TEST_CASE("GridSample: as many channels as the image, as many rows and columns as the grid") {
  CHECK(GridSample({2, 3, 4, 5}, {2, 6, 7, 2}) == "f32[2,3,6,7]");
  CHECK(GridSample({0, 3, 4, 5}, {0, 6, 7, 2}) == "f32[0,3,6,7]");
  CHECK(GridSample({1, 3, 1, 1}, {1, 0, 7, 2}) == "f32[1,3,0,7]");
}

TEST_CASE("GridSample: only images with pixels, and pairs of places in each") {
  const std::string grid = "error: the grid must have shape [images, rows, columns, 2]";
  CHECK(GridSample({3, 4, 5}, {2, 6, 7, 2}) == "error: images must have rank 4, not 3");
  CHECK(GridSample({1, 1, 3, 4, 5}, {1, 6, 7, 2}) == "error: images must have rank 4, not 5");
  CHECK(GridSample({2, 3, 4, 5}, {1, 6, 7, 2}) == grid);
  CHECK(GridSample({2, 3, 4, 5}, {2, 6, 7, 3}) == grid);
  CHECK(GridSample({2, 3, 4, 5}, {2, 6, 7, 8, 2}) == grid);
  CHECK(GridSample({1, 1, 0, 5}, {1, 6, 7, 2}) ==
        "error: images must have 1 to 2^24 pixels along dimension 2, not 0");
  CHECK(GridSample({1, 1, 1, (1 << 24) + 1}, {1, 6, 7, 2}) ==
        "error: images must have 1 to 2^24 pixels along dimension 3, not 16777217");
  CHECK(GridSample({1, 1, 1, 1 << 24}, {1, 6, 7, 2}) == "f32[1,1,6,7]");
}

TEST_CASE("GridSample: other dtypes than f32 are refused") {
  for (const DType dtype : {DType::kF16, DType::kF64, DType::kI32, DType::kI8}) {
    CHECK(GridSample({1, 1, 2, 2}, {1, 1, 1, 2}, {}, dtype) ==
          "error: images and grid must be f32");
    CHECK(GridSample({1, 1, 2, 2}, {1, 1, 1, 2}, {}, DType::kF32, dtype) ==
          "error: images and grid must be f32");
  }
}

TEST_CASE("GridSample: modes, paddings and flags out of range are refused") {
  GridSampleAttributes attributes;
  attributes.mode = static_cast<ResizeMode>(3);
  CHECK(ErrorOf(attributes) == "error: there is no mode 3");
  attributes = {};
  attributes.padding = static_cast<GridPadding>(-1);
  CHECK(ErrorOf(attributes) == "error: there is no padding -1");
  attributes = {};
  attributes.align_corners = 2;
  CHECK(ErrorOf(attributes) == "error: align_corners must be 0 or 1");
}

}  // namespace
}  // namespace tenon
