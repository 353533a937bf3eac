// Code that an accelerator may run, and what is wrong with all other.
#include "backends/fpga/isa/check_code.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "backends/fpga/isa/descriptor.hpp"

using namespace tenon;             // NOLINT
using namespace tenon::fpga::isa;  // NOLINT

namespace {

/// Registers 0 to 2: constants, what is read, what is written.
constexpr uint64_t kConstantBytes = 8192;
constexpr uint64_t kMapBytes = 640;

/// Tests put in any number of descriptors.
struct Code {
  [[nodiscard]] std::string Check() const {
    std::vector<uint8_t> bytes(descriptors.size() * kDescriptorBytes);
    for (size_t i = 0; i < descriptors.size(); ++i) {
      uint32_t words[kDescriptorWords];
      Encode(descriptors[i], words);
      std::memcpy(bytes.data() + i * kDescriptorBytes, words, sizeof words);
    }
    return CheckBytes(bytes);
  }
  [[nodiscard]] std::string CheckBytes(const std::vector<uint8_t>& bytes) const {
    const Status status =
        CheckCode({bytes.data(), bytes.size()}, Parameters(), {windows.data(), windows.size()});
    CHECK((status.ok() || status.code() == StatusCode::kCorruptPlan));
    char text[300];
    return std::string(text, status.Format(Span<char>(text, sizeof text)));
  }

  std::vector<Descriptor> descriptors;
  std::vector<BaseWindow> windows = {
      {0, 0, kConstantBytes, false}, {1, 0, kMapBytes, false}, {2, 0, kMapBytes, true}};
};

/// A 1x1 convolution of a 4 x 5 map of 32 channels from register 1 to register 2.
Descriptor Convolution() {
  Descriptor d;
  d.op = LayerOp::kConv;
  d.last = true;
  d.output = 100;
  d.in_height = d.out_height = 4;
  d.in_width = d.out_width = 5;
  d.in_group_words = d.out_group_words = 20;
  d.block_pixels = 20;
  d.group_lines = Parameters().TileLines() + Parameters::kFactorLines;
  d.plane_bytes = 16 * d.group_lines;
  d.load = {true, {1, 0}, 32, 32, false};
  d.store = {true, {2, 0}, 32, 32, false};
  return d;
}

/// What is said of the convolution after a change.
std::string Changed(const std::function<void(Descriptor&)>& change) {
  Code code;
  code.descriptors = {Convolution()};
  change(code.descriptors[0]);
  return code.Check();
}

bool Contains(const std::string& text, const std::string& part) {
  CAPTURE(text);
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("windows of an image may be folded where every pair of them lies in two words") {
  constexpr uint32_t kRows = 8;
  constexpr uint32_t kPixels = 8;  // of a word
  for (uint32_t kernel = 1; kernel <= 8; ++kernel) {
    for (uint32_t stride = 1; stride <= 4; ++stride) {
      for (uint32_t pad = 0; pad <= kernel; ++pad) {
        for (uint32_t width = 25; width <= 40; ++width) {
          uint32_t farthest = 0;  // pixel behind the first word's first that a pair reads
          for (uint32_t row = 0; row < kRows; ++row) {
            for (uint32_t pair = 0; pair < kPixels; ++pair) {
              const uint32_t begin = kPixels + row * width + pair * 2 * stride - pad;
              farthest = std::max(farthest, begin % kPixels + stride + kernel - 1);
            }
          }
          Window window;
          window.kernel_width = kernel;
          window.stride_width = stride;
          window.pad_left = pad;
          CAPTURE(kernel);
          CAPTURE(stride);
          CAPTURE(pad);
          CAPTURE(width);
          CHECK(FoldedWindowsFit(width, window) == (farthest < 2 * kPixels));
        }
      }
    }
  }
}

TEST_CASE("code that folds windows which do not lie in two words is refused") {
  Code code;
  code.descriptors = {Convolution()};
  Descriptor& d = code.descriptors[0];
  d.folded = true;
  d.load.channels = d.load.pitch = 3;
  d.out_width = 4;
  d.out_group_words = d.block_pixels = 16;
  d.in_width = 16;
  d.in_group_words = 64;
  d.window.kernel_width = 8;
  d.window.stride_width = 4;
  d.window.pad_left = 1;
  CHECK(code.Check().find("a descriptor folds windows that lie in more than two words") !=
        std::string::npos);
  d.window.pad_left = 0;
  CHECK(code.Check().find("two words") == std::string::npos);
}

TEST_CASE("CheckCode: what stays within its windows and the chip is code") {
  CHECK(Changed([](Descriptor&) {}) == "");
}

TEST_CASE("CheckCode: nothing reaches over its window, not by one byte") {
  CHECK(Contains(Changed([](Descriptor& d) { d.load.address.offset = 1; }), "reads outside"));
  CHECK(Contains(Changed([](Descriptor& d) { d.load.address.offset = 0xFFFFFFFF; }),
                 "reads outside"));
  CHECK(Contains(Changed([](Descriptor& d) { d.load.pitch = 33; }), "reads outside"));
  CHECK(Contains(Changed([](Descriptor& d) { d.store.address.offset = 1; }), "writes outside"));
  const uint32_t all = 4 * 16 * Convolution().group_lines;
  const auto weights_end_at = [&](uint32_t end) {
    return Changed([&](Descriptor& d) { d.weights.offset = end - all; });
  };
  CHECK(weights_end_at(kConstantBytes) == "");
  CHECK(Contains(weights_end_at(kConstantBytes + 16), "reads outside"));
  CHECK(Contains(Changed([](Descriptor& d) { d.plane_bytes = 0xFFFFFFF0; }), "reads outside"));
  CHECK(Contains(Changed([](Descriptor& d) {
                   d.has_table = true;
                   d.tables.offset = kConstantBytes - 256;
                 }),
                 "reads outside"));
}

TEST_CASE("CheckCode: nothing is written where the segment only reads, or through no window") {
  CHECK(Contains(Changed([](Descriptor& d) { d.store.address.base_register = 1; }),
                 "writes outside"));
  CHECK(Contains(Changed([](Descriptor& d) { d.store.address.base_register = 3; }),
                 "writes outside"));
  CHECK(
      Contains(Changed([](Descriptor& d) { d.load.address.base_register = 3; }), "reads outside"));
}

TEST_CASE("CheckCode: one register may lead to several windows, and to nothing between them") {
  Code code;
  code.descriptors = {Convolution()};
  code.descriptors[0].store.address = {1, 1024};
  CHECK(Contains(code.Check(), "writes outside"));
  code.windows.push_back({1, 1024, kMapBytes, true});
  CHECK(code.Check() == "");
  code.descriptors[0].store.address.offset = 1023;
  CHECK(Contains(code.Check(), "writes outside"));
  code.descriptors[0].store.address.offset = 1025;
  CHECK(Contains(code.Check(), "writes outside"));
}

TEST_CASE("CheckCode: maps lie on the chip, with as many channels as their groups have") {
  const uint32_t words = Parameters().map_words;
  CHECK(Changed([&](Descriptor& d) { d.output = words - 20; }) == "");
  CHECK(Contains(Changed([&](Descriptor& d) { d.output = words - 19; }), "over the chip"));
  CHECK(Contains(Changed([](Descriptor& d) { d.input = 0xFFFFFFFF; }), "over the chip"));
  CHECK(Contains(Changed([&](Descriptor& d) {
                   d.has_residual = true;
                   d.residual = words - 19;
                 }),
                 "over the chip"));
  CHECK(Contains(Changed([](Descriptor& d) { d.load.channels = d.load.pitch = 33; }),
                 "over the chip"));
  CHECK(Contains(Changed([](Descriptor& d) { d.store.channels = d.store.pitch = 0; }),
                 "over the chip"));
}

TEST_CASE("CheckCode: blocks and weights are those of the array") {
  CHECK(Contains(Changed([](Descriptor& d) { d.block_pixels = Parameters().BlockPixels() + 2; }),
                 "blocks of 514 pixels: 512 at most"));
  CHECK(Contains(Changed([](Descriptor& d) { --d.group_lines; }), "lines of weights"));
  CHECK(Contains(Changed([](Descriptor& d) { d.window.kernel_width = 2; }), "lines of weights"));
}

TEST_CASE("CheckCode: the last descriptor is the last one") {
  Code code;
  code.descriptors = {Convolution(), Convolution()};
  CHECK(Contains(code.Check(), "descriptor 0 of the code's 2 is the last"));
  code.descriptors[0].last = false;
  CHECK(code.Check() == "");
  code.descriptors[1].last = false;
  CHECK(Contains(code.Check(), "descriptor 1 of the code's 2 is the last"));
  CHECK(Contains(code.CheckBytes({}), "0 bytes, which are no descriptors"));
  CHECK(
      Contains(code.CheckBytes(std::vector<uint8_t>(200)), "200 bytes, which are no descriptors"));
}

TEST_CASE("CheckCode: any change of a bit without the sum is named with its descriptor") {
  uint32_t words[kDescriptorWords];
  Encode(Convolution(), words);
  const Code code;
  std::vector<uint8_t> bytes(sizeof words);
  std::memcpy(bytes.data(), words, sizeof words);
  CHECK(code.CheckBytes(bytes) == "");
  for (size_t bit = 0; bit < 8 * bytes.size(); ++bit) {
    std::vector<uint8_t> changed = bytes;
    changed[bit / 8] ^= static_cast<uint8_t>(1U << bit % 8);
    CHECK(Contains(code.CheckBytes(changed), "descriptor 0 of the code: a descriptor's checksum"));
  }
}
