#include "backends/opencl/caps/tile_shapes.hpp"

#include <doctest/doctest.h>

#include <string>

namespace tenon::opencl {
namespace {

constexpr TileProblem kMiddle = {196, 256, 256};

TEST_CASE("OpenCL tiles: where local memory is no gain, a register tile as wide stands for one") {
  for (const TileShape& shape : TileShapes()) {
    CAPTURE(shape.name);
    CHECK(&TileFor(shape.name, kMiddle, TileDevice::kLocalMemory) == &shape);
    for (const TileDevice device : {TileDevice::kCpu, TileDevice::kOther}) {
      const TileShape& used = TileFor(shape.name, kMiddle, device);
      CHECK_FALSE(used.IsLocal());
      CHECK(used.width() == shape.width());
      CHECK((shape.IsLocal() || &used == &shape));
    }
  }
}

TEST_CASE("OpenCL tiles: the default is in local memory only on devices that have it") {
  for (const int64_t pixels : {1, 3, 49, 196, 784, 12544}) {
    for (const int32_t outputs : {1, 32, 320, 2048}) {
      const TileProblem problem = {pixels, outputs, 64};
      CHECK(TileFor(nullptr, problem, TileDevice::kLocalMemory).IsLocal());
      CHECK_FALSE(TileFor(nullptr, problem, TileDevice::kCpu).IsLocal());
      CHECK_FALSE(TileFor("no such tile", problem, TileDevice::kOther).IsLocal());
    }
  }
}

TEST_CASE("OpenCL tiles: the fewer there are, the smaller they are and the more slices they have") {
  const auto name = [](int64_t pixels, int32_t outputs) {
    return std::string(TileFor(nullptr, {pixels, outputs, 64}, TileDevice::kLocalMemory).name);
  };
  CHECK(name(12544, 128) == "64x64-local");
  CHECK(name(3136, 144) == "32x32-local");
  CHECK(name(196, 256) == "16x32-local");
  CHECK(name(49, 320) == "8x32-local");
  CHECK(name(1, 1000) == "1x32-local");
}

TEST_CASE(
    "OpenCL tiles: those in local memory find room where a work-group has 32 KiB and 256 items") {
  for (const TileShape& shape : TileShapes()) {
    if (!shape.IsLocal()) continue;
    CAPTURE(shape.name);
    CHECK(shape.local_floats() * static_cast<int>(sizeof(float)) <= 32 << 10);
    CHECK(shape.items() <= 256);
  }
}

}  // namespace
}  // namespace tenon::opencl
