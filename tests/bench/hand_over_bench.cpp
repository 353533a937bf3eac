// What handing an input from one stage of a stream to the next takes, where the reader still spins
// and where it has gone to sleep: the median of many, the best of several rounds.
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "runtime/engine/host/clock.hpp"
#include "runtime/engine/host/input_stream.hpp"

namespace tenon {
namespace {

constexpr size_t kInputs = 100;
constexpr int kRounds = 50;

/// Two stages: the first works for a time, the second notes when it began.
class TimedStages final : public StageWork {
 public:
  explicit TimedStages(uint64_t work_nanoseconds) : work_nanoseconds_(work_nanoseconds) {}

  Status Run(size_t, size_t stage, uint64_t number, const StreamRequest&) override {
    const uint64_t now = MonotonicNow();
    std::atomic<uint64_t>& end_of_first = ends_[number % std::size(ends_)];
    if (stage == 1) gaps_.push_back(now - end_of_first);
    const uint64_t end = now + (stage == 0 ? work_nanoseconds_ : 1000);
    while (MonotonicNow() < end) SpinPause();
    if (stage == 0) end_of_first = MonotonicNow();
    return OkStatus();
  }

  /// Nanoseconds from the end of the first stage to the start of the second.
  uint64_t Median() {
    const auto middle = gaps_.begin() + static_cast<std::ptrdiff_t>(gaps_.size() / 2);
    std::nth_element(gaps_.begin(), middle, gaps_.end());
    return *middle;
  }

 private:
  uint64_t work_nanoseconds_;
  std::atomic<uint64_t> ends_[8] = {};
  std::vector<uint64_t> gaps_;
};

/// 0 if the stream failed.
uint64_t MedianHandOver(uint64_t work_nanoseconds) {
  TimedStages stages(work_nanoseconds);
  const StreamEdge edge{0, 1, 2, 0};
  StreamShape shape;
  shape.lanes = 1;
  shape.stages = 2;
  shape.edges = {&edge, 1};
  shape.channels = 1;
  shape.inputs = 1;
  InputStream stream;
  if (!stream.Open(shape, &stages).ok()) return 0;
  const uint64_t id = 0;
  const void* input = &id;
  for (size_t i = 0; i < kInputs; ++i) {
    uint64_t ticket = 0;
    if (!stream.Submit(&input, nullptr, kNoDeadline, &ticket).ok()) return 0;
  }
  stream.Close();
  return stages.Median();
}

}  // namespace
}  // namespace tenon

int main() {
  for (const uint64_t work : {20'000U, 1'000'000U}) {
    uint64_t best = UINT64_MAX;
    for (int round = 0; round < tenon::kRounds; ++round) {
      best = std::min(best, tenon::MedianHandOver(work));
    }
    if (best == 0) return 1;
    fmt::print("after {:5} us of work: {:6.2f} us\n", work / 1000,
               static_cast<double>(best) / 1000);
  }
  return 0;
}
