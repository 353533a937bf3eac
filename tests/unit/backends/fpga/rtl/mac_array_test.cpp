// The array's sums, weights that are exchanged while data stream past among them.
#include <doctest/doctest.h>

#include <cstdint>
#include <deque>
#include <memory>
#include <type_traits>
#include <vector>

#include "MacArray32.h"
#include "MacArray8.h"
#include "clocked.hpp"

namespace tenon::fpga {
namespace {

constexpr int kTaps = 9;

struct Shape {
  int inputs;
  int outputs;
  int loaded;  ///< columns in a clock
  int pixels;
};

struct Sums {
  std::vector<int64_t> first;
  std::vector<int64_t> second;
  bool is_depthwise;
};

/// The weights in use and the next ones, of all columns.
struct Weights {
  std::vector<int> present;
  std::vector<int> next;
};

int Latency(int inputs) { return inputs == 8 ? 12 : 14; }

/// Bytes of one clock: random, extreme in places, or extreme everywhere.
class Bytes {
 public:
  explicit Bytes(Numbers& numbers) : numbers_(numbers), kind_(numbers.Below(5)) {}
  [[nodiscard]] int Next() {
    if (kind_ == 0) return -128;
    if (kind_ == 1) return 127;
    return static_cast<int>(numbers_.Signed(8));
  }

 private:
  Numbers& numbers_;
  int kind_;
};

template <typename Model>
class ArrayTest {
 public:
  ArrayTest(const Shape& shape, uint32_t seed) : shape_(shape), numbers_(seed) {
    const auto count = static_cast<size_t>(shape.inputs) * static_cast<size_t>(shape.outputs);
    weights_.present.assign(count, 0);
    weights_.next.assign(count, 0);
  }

  /// Weights are loaded in some clocks, exchanged in some, data come in most.
  int Differences(int clocks) {
    // Whatever the registers held before is replaced first.
    for (int group = 0; group < shape_.outputs / shape_.loaded; ++group) Step(group, false, false);
    Step(-1, true, false);
    for (int i = 0; i < clocks; ++i) {
      const int groups = shape_.outputs / shape_.loaded;
      const int load = numbers_.Below(3) == 0 ? numbers_.Below(groups) : -1;
      Step(load, numbers_.Below(4) == 0, numbers_.Below(8) != 0);
    }
    for (int i = 0; i < Latency(shape_.inputs); ++i) Step(-1, false, false);
    CHECK(expected_.empty());
    CHECK(checked_ > clocks / 2);
    return differences_;
  }

 private:
  void Load(int group) {
    Bytes bytes(numbers_);
    for (int i = 0; i < shape_.loaded * shape_.inputs; ++i) {
      const int weight = bytes.Next();
      SetElement(model_->weights, i, 8, static_cast<uint64_t>(weight));
      if (group < 0) continue;  // what stands there without a load is not taken
      weights_.next[static_cast<size_t>(group * shape_.loaded * shape_.inputs + i)] = weight;
    }
  }

  void Step(int load, bool swap, bool valid) {
    Load(load);
    using Loads = std::remove_reference_t<decltype(model_->load)>;
    model_->load = static_cast<Loads>(load < 0 ? 0U : 1U << load);
    model_->swap = swap;
    if (swap) weights_.present = weights_.next;
    const bool depthwise = numbers_.Below(3) == 0;
    model_->valid = valid;
    const Sums sums = SetData(depthwise);
    if (valid) expected_.push_back(sums);
    Clock(*model_);
    ++clock_;
    due_.push_back(valid);
    const bool is_due = static_cast<int>(due_.size()) >= Latency(shape_.inputs) && due_.front();
    if (static_cast<int>(due_.size()) >= Latency(shape_.inputs)) due_.pop_front();
    if ((model_->valid_out != 0) != is_due) ++differences_;
    if (is_due) Compare();
  }

  Sums SetData(bool depthwise) {
    Bytes bytes(numbers_);
    std::vector<int> first;
    std::vector<int> second;
    for (int i = 0; i < shape_.inputs; ++i) {
      const int byte = bytes.Next();
      first.push_back(depthwise ? 0 : byte);
      second.push_back(shape_.pixels == 2 ? bytes.Next() : 0);
      SetElement(model_->first, i, 8, static_cast<uint64_t>(first.back()));
      SetElement(model_->second, i, 8, static_cast<uint64_t>(second.back()));
    }
    Sums sums{{}, {}, depthwise};
    for (int o = 0; o < shape_.outputs; ++o) {
      std::vector<int> data = first;
      for (int t = 0; t < kTaps; ++t) {
        const int byte = bytes.Next();
        const int tap = depthwise ? byte : 0;
        SetElement(model_->taps, o * kTaps + t, 8, static_cast<uint64_t>(tap));
        if (depthwise && t < shape_.inputs) data[static_cast<size_t>(t)] = tap;
      }
      int64_t of_first = 0;
      int64_t of_second = 0;
      for (int i = 0; i < shape_.inputs; ++i) {
        const int weight = weights_.present[static_cast<size_t>(o * shape_.inputs + i)];
        of_first += data[static_cast<size_t>(i)] * weight;
        of_second += second[static_cast<size_t>(i)] * weight;
      }
      sums.first.push_back(of_first);
      sums.second.push_back(of_second);
    }
    return sums;
  }

  void Compare() {
    const Sums sums = expected_.front();
    expected_.pop_front();
    const int bits = shape_.inputs == 8 ? 19 : 21;
    for (int o = 0; o < shape_.outputs; ++o) {
      const auto k = static_cast<size_t>(o);
      if (SignedElement(model_->first_sums, o, bits) != sums.first[k]) ++differences_;
      if (!sums.is_depthwise && SignedElement(model_->second_sums, o, bits) != sums.second[k]) {
        ++differences_;
      }
    }
    ++checked_;
  }

  Shape shape_;
  Numbers numbers_;
  Weights weights_;
  std::unique_ptr<Model> model_ = std::make_unique<Model>();
  std::deque<Sums> expected_;
  std::deque<bool> due_;
  int clock_ = 0;
  int checked_ = 0;
  int differences_ = 0;
};

TEST_CASE("MAC array: 32 channels of two pixels, with weights exchanged at any time") {
  CHECK(ArrayTest<MacArray32>({32, 4, 2, 2}, 1).Differences(20000) == 0);
}

TEST_CASE("MAC array: 8 channels of one pixel, a single cascade for each column") {
  CHECK(ArrayTest<MacArray8>({8, 8, 2, 1}, 2).Differences(20000) == 0);
}

}  // namespace
}  // namespace tenon::fpga
