// Counts what the walks of backends/cpu/kernels/cortex_m have in common: blocks of products with
// simd/helium, and rows of convolutions that work in place.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>

#include "backends/cpu/caps/cortex_m_caps.hpp"
#include "backends/cpu/caps/in_place_caps.hpp"
#include "converter/cost/instruction_terms.hpp"
#include "runtime/base/round_up.hpp"

namespace tenon::converter::instructions::helium {

using In = QuantizedGemmInput;
using cpu::cortex_m::kBlockOutputs;
using cpu::cortex_m::kBlockPixels;
inline constexpr int64_t kVectorBytes = 16;
inline constexpr int64_t kShortBytes = 64;  ///< of a row of weights that stays in registers
inline constexpr int64_t kFewestPixels = 3;

[[nodiscard]] inline int64_t Vectors(int64_t bytes) { return CeilDiv(bytes, kVectorBytes); }

/// Counts the loops of RunGemm.
class GemmCounts {
 public:
  GemmCounts(const Context& context, const QuantizedOutput& output, int64_t outputs)
      : context_(context), outputs_(outputs) {
    const OpCall& call = context.call();
    is_plain_ = IsWhole(output) && AreToTheRight(call) && call.Input(In::kMultiplier).dims[0] != 1;
    is_fast_ = IsWhole(output) && AreToTheRight(call);
    context.Add("shift_vectors", IsWhole(output) ? Vectors(outputs) : 0);
  }

  /// `count` positions of `runs` runs of `run_bytes`; `is_dense`: windows follow without gaps.
  void Add(int64_t count, int64_t runs, int64_t run_bytes, bool is_dense) {
    if (count == 0) return;
    ++calls_;
    for (int64_t done = 0; done < count; done += kBlockPixels) {
      AddBlock(std::min<int64_t>(count - done, kBlockPixels), runs, run_bytes, is_dense);
    }
  }

  void Finish() const {
    const Context& c = context_;
    c.Add("gemms", calls_);
    c.Add("pixel_blocks", pixel_blocks_);
    c.Add("plain_blocks", plain_blocks_);
    c.Add("blocks", blocks_);
    for (int i = 0; i < 3; ++i) {
      constexpr const char* kFull[] = {"full_16", "full_32", "full_64"};
      c.Add(kFull[i], full_[i]);
    }
    c.Add("rows_48", rows_[0]);
    c.Add("rows_64", rows_[1]);
    c.Add("short_calls", short_calls_);
    c.Add("short_16", short_[0]);
    c.Add("short_32", short_[1]);
    c.Add("long_calls", long_calls_);
    c.Add("threes", threes_);
    c.Add("three_vectors", three_vectors_);
    c.Add("three_runs", three_runs_);
    c.Add("ones", ones_);
    c.Add("one_vectors", one_vectors_);
    c.Add("one_runs", one_runs_);
    c.Add("requantized", requantized_);
    c.Add("requantized_slowly", slowly_);
    c.Add("slow_blocks", slow_blocks_);
    c.Add("rest_blocks", rest_blocks_);
    c.Add("single_outputs", singles_);
  }

 private:
  void AddBlock(int64_t pixels, int64_t runs, int64_t run_bytes, bool is_dense) {
    ++pixel_blocks_;
    const int full = !is_dense || runs != 1 ? -1
                     : run_bytes == 16      ? 0
                     : run_bytes == 32      ? 1
                     : run_bytes == 64      ? 2
                                            : -1;
    const bool is_short = runs == 1 && run_bytes <= kShortBytes && pixels >= kFewestPixels;
    int64_t done = 0;
    if (is_plain_ && runs == 1 && run_bytes <= kShortBytes) {
      const int64_t whole = outputs_ / kBlockOutputs;
      if (full >= 0) {
        full_[full] += whole * pixels;
      } else if (is_short && run_bytes > 2 * kVectorBytes) {
        rows_[Vectors(run_bytes) - 3] += whole * pixels;
      }
      if (full >= 0 || (is_short && run_bytes > 2 * kVectorBytes)) {
        plain_blocks_ += whole;
        requantized_ += whole * pixels;
        done = whole * kBlockOutputs;
      }
    }
    for (; done < outputs_; done += kBlockOutputs) {
      const int64_t outputs = std::min<int64_t>(outputs_ - done, kBlockOutputs);
      ++blocks_;
      Multiply(pixels, runs, run_bytes, full, is_short, outputs);
      Requantize(pixels, outputs);
    }
  }

  void Multiply(int64_t pixels, int64_t runs, int64_t run_bytes, int full, bool is_short,
                int64_t outputs) {
    if (full >= 0 && outputs == kBlockOutputs) {
      full_[full] += pixels;
      return;
    }
    const bool is_pair = run_bytes > kVectorBytes && run_bytes <= 2 * kVectorBytes;
    if (is_short && (outputs == kBlockOutputs || is_pair)) {
      if (run_bytes > 2 * kVectorBytes) {
        rows_[Vectors(run_bytes) - 3] += pixels;
        return;
      }
      // Four rows at a time, or two: those that are there.
      const int64_t calls =
          run_bytes <= kVectorBytes ? CeilDiv<int64_t>(outputs, 4) : PairCalls(outputs);
      short_calls_ += calls;
      short_[run_bytes <= kVectorBytes ? 0 : 1] += calls * pixels;
      return;
    }
    const int64_t halves = outputs > 1 ? 2 : 1;
    const int64_t vectors = runs * Vectors(run_bytes);
    long_calls_ += halves;
    threes_ += halves * (pixels / 3);
    three_vectors_ += halves * (pixels / 3) * vectors;
    three_runs_ += halves * (pixels / 3) * runs;
    ones_ += halves * (pixels % 3);
    one_vectors_ += halves * (pixels % 3) * vectors;
    one_runs_ += halves * (pixels % 3) * runs;
  }

  /// Rows 0, 4, 1 and 5 begin pairs.
  static int64_t PairCalls(int64_t outputs) {
    int64_t calls = 0;
    for (const int64_t row : {0, 4, 1, 5}) calls += row < outputs ? 1 : 0;
    return calls;
  }

  void Requantize(int64_t pixels, int64_t outputs) {
    if (is_fast_) {
      requantized_ += pixels;
      rest_blocks_ += is_plain_ && outputs == kBlockOutputs ? 0 : 1;
      return;
    }
    ++slow_blocks_;
    slowly_ += pixels * (outputs / 4);
    slowly_ += pixels;  // put in order
    singles_ += pixels * (outputs % 4);
  }

  const Context& context_;
  int64_t outputs_;
  bool is_plain_ = false;
  bool is_fast_ = false;
  int64_t calls_ = 0, pixel_blocks_ = 0, plain_blocks_ = 0, blocks_ = 0;
  int64_t full_[3] = {}, rows_[2] = {}, short_calls_ = 0, short_[2] = {};
  int64_t long_calls_ = 0, threes_ = 0, three_vectors_ = 0, three_runs_ = 0;
  int64_t ones_ = 0, one_vectors_ = 0, one_runs_ = 0;
  int64_t requantized_ = 0, slowly_ = 0, slow_blocks_ = 0, rest_blocks_ = 0, singles_ = 0;
};

/// Rows of a convolution that works in place, which are stored a few at a time.
class InPlaceCounts {
 public:
  InPlaceCounts(const Context& context, size_t own_bytes)
      : context_(context),
        is_in_place_(context.operands.kernel().ends_with("_in_place")),
        rows_(context.call().Output().dims[2]) {
    const OpCall& call = context.call();
    if (!is_in_place_) return;
    // As InPlaceRoom.
    using cpu::cortex_m::kWorkspaceStep;
    const size_t bytes = context.facts.workspace_bytes;
    const size_t least = cpu::cortex_m::RoundUpToStep(cpu::InPlaceRowsBytes(call, 1));
    room_ =
        bytes < least + own_bytes ? least : (bytes - own_bytes) / kWorkspaceStep * kWorkspaceStep;
    held_ = cpu::InPlaceHeldRows(call);
    row_bytes_ = static_cast<int64_t>(cpu::InPlaceRowBytes(call));
    at_once_ = static_cast<int>(
        std::clamp<int64_t>(static_cast<int64_t>(room_) / row_bytes_ - held_, 1, rows_));
  }

  /// The bytes of the workspace that are the kernel's own.
  [[nodiscard]] size_t OwnBytes() const { return context_.facts.workspace_bytes - room_; }
  [[nodiscard]] bool is_in_place() const { return is_in_place_; }

  /// Calls `run(first, count)` for the rows of each image.
  template <typename Run>
  void ForEach(int images, const Run& run) const {
    if (!is_in_place_) {
      for (int image = 0; image < images; ++image) run(0, rows_);
      return;
    }
    for (int image = 0; image < images; ++image) {
      for (int first = 0; first < rows_; first += at_once_)
        run(first, std::min(at_once_, rows_ - first));
    }
  }
  /// What works in place does what it does elsewhere, and copies rows: the model is the same.
  void NameModel() const {
    constexpr std::string_view kInPlace = "_in_place";
    std::string& model = context_.terms.model;
    if (is_in_place_) model.erase(model.find(kInPlace), kInPlace.size());
  }
  [[nodiscard]] int64_t Turns(int images) const {
    return int64_t{images} * CeilDiv(rows_, at_once_);
  }
  [[nodiscard]] int64_t StoredBytes(int images) const {
    return int64_t{images} * rows_ * row_bytes_;
  }
  [[nodiscard]] int64_t HeldBytes(int images) const {
    return Turns(images) * std::min(held_, rows_) * row_bytes_;
  }

 private:
  const Context& context_;
  bool is_in_place_;
  int rows_;
  size_t room_ = 0;
  int held_ = 0;
  int64_t row_bytes_ = 0;
  int at_once_ = 1;
};

}  // namespace tenon::converter::instructions::helium
