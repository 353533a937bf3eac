// The simulated wide device against figures that were computed by hand: the ops of GoogLeNet's
// inception 3a, whose input is 1x192x28x28 (f32, bias ignored).
#include "converter/solve/fuse/wide_device.hpp"

#include <doctest/doctest.h>

namespace tenon::converter {
namespace {

constexpr double kPixels = 28 * 28;
constexpr double kInputBytes = 192 * kPixels * 4;

WideOp Conv1x1(int channels) {
  WideOp op;
  op.elements = static_cast<int64_t>(channels * kPixels);
  op.flops = 2 * channels * kPixels * 192;
  op.bytes = kInputBytes + channels * 192 * 4 + channels * kPixels * 4;
  op.merge_class = 0;
  op.shared_bytes = kInputBytes;
  return op;
}

WideOp Relu(int channels) {
  WideOp op;
  op.elements = static_cast<int64_t>(channels * kPixels);
  op.flops = channels * kPixels;
  op.bytes = 2 * channels * kPixels * 4;
  return op;
}

/// In microseconds, as the figures are given, to the picosecond.
auto Microseconds(double microseconds) { return doctest::Approx(microseconds).epsilon(1e-7); }

}  // namespace

TEST_CASE("one convolution on the wide device") {
  const WideDevice device;
  CHECK(Conv1x1(64).flops == 19.267584e6);
  CHECK(Conv1x1(64).bytes == 851968);
  CHECK(Conv1x1(96).bytes == 976896);
  CHECK(Conv1x1(16).bytes == 664576);
  CHECK(WideTime(device, {Conv1x1(64)}) * 1e6 == Microseconds(11.707034));
  CHECK(WideTime(device, {Conv1x1(96)}) * 1e6 == Microseconds(11.811183));
  CHECK(WideTime(device, {Conv1x1(16)}) * 1e6 == Microseconds(13.493943));
}

TEST_CASE("three convolutions: one after the other, in one start, and merged") {
  const WideDevice device;
  const std::vector<WideOp> three = {Conv1x1(64), Conv1x1(96), Conv1x1(16)};
  const double apart =
      WideTime(device, {three[0]}) + WideTime(device, {three[1]}) + WideTime(device, {three[2]});
  CHECK(apart * 1e6 == Microseconds(37.012159));
  CHECK(WideTime(device, three) * 1e6 == Microseconds(13.493943));
  const WideOp merged = MergeWideOps(three);
  CHECK(merged.elements == static_cast<int64_t>(176 * kPixels));
  CHECK(merged.flops == doctest::Approx(52.985856e6));
  CHECK(merged.bytes == 1289216);
  CHECK(WideTime(device, {merged}) * 1e6 == Microseconds(11.792038));
}

TEST_CASE("activations on the wide device: alone and in one start") {
  const WideDevice device;
  CHECK(WideTime(device, {Relu(64)}) * 1e6 == Microseconds(5.605632));
  CHECK(WideTime(device, {Relu(96)}) * 1e6 == Microseconds(5.627330));
  CHECK(WideTime(device, {Relu(64), Relu(96)}) * 1e6 == Microseconds(6.007040));
}

TEST_CASE("the model merges ops that share an input where that is shorter") {
  const WideModel model(WideDevice{}, {Conv1x1(64), Conv1x1(96), Conv1x1(16), Relu(64)});
  CHECK(model.Time({0, 1, 2}) * 1e6 == Microseconds(11.792038));
  const WideModel apart(WideDevice{}, {Conv1x1(64), Conv1x1(96), Conv1x1(16), Relu(64)}, false);
  CHECK(apart.Time({0, 1, 2}) * 1e6 == Microseconds(13.493943));
}

TEST_CASE("ops that together fill one work group stay apart: merged, one lane would do it all") {
  WideOp small;
  small.elements = 1000;
  small.flops = 1e6;
  small.bytes = 8000;
  small.merge_class = 0;
  small.shared_bytes = 1000;
  const WideDevice device;
  const WideModel model(device, {small, small});
  CHECK(WideTime(device, {MergeWideOps({small, small})}) > WideTime(device, {small, small}));
  CHECK(model.Time({0, 1}) == doctest::Approx(WideTime(device, {small, small})));
}

}  // namespace tenon::converter
