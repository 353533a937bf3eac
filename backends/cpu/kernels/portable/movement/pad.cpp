#include <algorithm>
#include <cstring>

#include "backends/cpu/kernels/portable/elementwise/convert.hpp"
#include "backends/cpu/kernels/portable/kernels.hpp"
#include "backends/cpu/kernels/portable/strided.hpp"
#include "runtime/base/config.hpp"
#include "runtime/ops/attributes.hpp"

namespace tenon::cpu::portable {
namespace {

/// How one dimension of y maps to x: index i of y shows index i - begin of x, if that is among the
/// elements [first, last] that stay.
struct PadDimension {
  int32_t size;  ///< of y
  int32_t begin;
  int32_t first;
  int32_t last;
  ptrdiff_t to_stride;  ///< bytes
  ptrdiff_t from_stride;

  [[nodiscard]] bool IsPadded() const { return first + begin != 0 || last + begin != size - 1; }
};

struct PadPlan {
  int rank = 0;
  PadDimension dims[kMaxRank];
  PadMode mode = PadMode::kConstant;
};

/// Index of x that index `i` of y shows, or -1 for the constant.
int32_t SourceIndex(const PadDimension& dim, PadMode mode, int32_t i) {
  const int32_t at = i - dim.begin;
  if (at >= dim.first && at <= dim.last) return at;
  if (mode == PadMode::kConstant) return -1;
  if (mode == PadMode::kEdge) return at < dim.first ? dim.first : dim.last;
  return at < dim.first ? 2 * dim.first - at : 2 * dim.last - at;
}

/// Dimensions in the order of y's memory, largest stride first.
PadPlan MakePlan(const PadAttributes& attributes, const TensorView& y, const TensorView& x) {
  PadPlan plan;
  plan.mode = attributes.mode;
  for (int k = 0; k < y.rank; ++k) {
    const int32_t begin = attributes.begins[k];
    const int32_t end = attributes.ends[k];
    const PadDimension dim = {y.dims[k],
                              begin,
                              begin < 0 ? -begin : 0,
                              x.dims[k] - 1 + (end < 0 ? end : 0),
                              ByteStride(y, k),
                              ByteStride(x, k)};
    if (dim.size == 1 && !dim.IsPadded() && x.dims[k] == 1) continue;
    int at = plan.rank++;
    for (; at > 0 && plan.dims[at - 1].to_stride < dim.to_stride; --at) {
      plan.dims[at] = plan.dims[at - 1];
    }
    plan.dims[at] = dim;
  }
  return plan;
}

/// Merges the innermost dimension into its neighbour while nothing pads it and both sides pass
/// evenly: channels-last images then have rows of width times channels.
void MergeInnermost(PadPlan& plan) {
  while (plan.rank >= 2) {
    PadDimension& outer = plan.dims[plan.rank - 2];
    const PadDimension& inner = plan.dims[plan.rank - 1];
    const bool evenly = outer.to_stride == inner.to_stride * inner.size &&
                        outer.from_stride == inner.from_stride * inner.size;
    if (inner.begin != 0 || inner.IsPadded() || !evenly) return;
    if (plan.mode != PadMode::kConstant && outer.IsPadded()) return;
    outer.first *= inner.size;
    outer.last = (outer.last + 1) * inner.size - 1;
    outer.begin *= inner.size;
    outer.size *= inner.size;
    outer.to_stride = inner.to_stride;
    outer.from_stride = inner.from_stride;
    --plan.rank;
  }
}

template <typename T>
void FillRow(char* to, ptrdiff_t stride, T value, int count) {
  using Word [[gnu::may_alias]] = T;
  auto* const words = reinterpret_cast<Word*>(to);
  if (stride == sizeof(T)) {
    for (ptrdiff_t i = 0; i < count; ++i) words[i] = value;
    return;
  }
  for (ptrdiff_t i = 0; i < count; ++i) *reinterpret_cast<Word*>(to + i * stride) = value;
}

/// One row of y; `from` is x's row, null where all is constant.
template <typename T>
void PadRow(const PadDimension& dim, PadMode mode, char* to, const char* from, T value) {
  if (from == nullptr) return FillRow<T>(to, dim.to_stride, value, dim.size);
  const int32_t inside_first = std::clamp<int32_t>(dim.first + dim.begin, 0, dim.size);
  const int32_t inside_end = std::clamp<int32_t>(dim.last + dim.begin + 1, inside_first, dim.size);
  const auto border = [&](int32_t i, int32_t end) {
    if (mode == PadMode::kConstant) {
      return FillRow<T>(to + i * dim.to_stride, dim.to_stride, value, end - i);
    }
    for (; i < end; ++i) {
      const int32_t at = SourceIndex(dim, mode, i);
      T element = value;
      if (at >= 0) std::memcpy(&element, from + at * dim.from_stride, sizeof(T));
      std::memcpy(to + i * dim.to_stride, &element, sizeof(T));
    }
  };
  border(0, inside_first);
  if (inside_end > inside_first) {
    CopyRow<T>(to + inside_first * dim.to_stride, dim.to_stride,
               from + (inside_first - dim.begin) * dim.from_stride, dim.from_stride,
               inside_end - inside_first);
  }
  border(inside_end, dim.size);
}

/// The innermost dimensions of y where they are so short that starting a row costs more than its
/// elements: where these come from is found once.
class PadPattern {
 public:
  PadPattern(const PadPlan& plan, int element_bytes) : outer_(plan.rank) {
    constexpr int32_t kShortRow = 16;
    constexpr int64_t kMany = 16;  // pieces, for which this is worth it
    if (plan.dims[plan.rank - 1].size > kShortRow) return;
    int count = 1;
    while (outer_ > 0 && int64_t{count} * plan.dims[outer_ - 1].size <= kMost) {
      count *= plan.dims[--outer_].size;
    }
    int64_t pieces = 1;
    for (int k = 0; k < outer_; ++k) pieces *= plan.dims[k].size;
    for (int i = 0; i < count && pieces >= kMany; ++i) Add(plan, i);
    FindRuns(plan, element_bytes);
  }

  [[nodiscard]] int size() const { return copied_ + constants_; }
  /// How many dimensions are outside.
  [[nodiscard]] int outer() const { return outer_; }

  /// `end` is where x ends.
  template <typename T>
  void Run(char* to, const char* from, T value, const char* end) const {
    if (runs_ > 0 && from != nullptr && end - from >= read_) return RunWide<T>(to, from, value);
    using Word [[gnu::may_alias]] = T;
    const auto at = [&](ptrdiff_t offset) -> Word& {
      return *reinterpret_cast<Word*>(to + offset);
    };
    const int copied = copied_;  // copies, which y cannot be part of
    const int constants = constants_;
    if (from == nullptr) {
      for (int i = 0; i < copied; ++i) at(to_[i]) = value;
    } else {
      for (int i = 0; i < copied; ++i) {
        at(to_[i]) = *reinterpret_cast<const Word*>(from + from_[i]);
      }
    }
    for (int i = 0; i < constants; ++i) at(constant_to_[i]) = value;
  }

 private:
  static constexpr int kMost = 64;
  static constexpr int kWide = 16;  // bytes of a register

  /// Copies runs of a register or less whole: what lies behind them is stored after them.
  template <typename T>
  void RunWide(char* to, const char* from, T value) const {
    using Word [[gnu::may_alias]] = T;
    const int runs = runs_;
    const int constants = constants_;
    for (int i = 0; i < runs; ++i) std::memcpy(to + run_to_[i], from + run_from_[i], kWide);
    for (int i = 0; i < constants; ++i) *reinterpret_cast<Word*>(to + constant_to_[i]) = value;
  }

  /// Finds elements that lie next to each other on both sides, where a piece of y has no gaps.
  void FindRuns(const PadPlan& plan, int element_bytes) {
    ptrdiff_t piece = element_bytes;
    for (int k = plan.rank - 1; k >= outer_; --k) {
      if (plan.dims[k].to_stride != piece) return;
      piece *= plan.dims[k].size;
    }
    int runs = 0;
    ptrdiff_t bytes = 0;
    for (int i = 0; i < copied_; ++i, bytes += element_bytes) {
      const bool goes_on = i > 0 && to_[i] == run_to_[runs - 1] + bytes &&
                           from_[i] == run_from_[runs - 1] + bytes && bytes < kWide;
      if (goes_on) continue;
      if (to_[i] + kWide > piece || from_[i] < 0) return;
      run_to_[runs] = to_[i];
      run_from_[runs++] = from_[i];
      read_ = std::max(read_, from_[i] + kWide);
      bytes = 0;
    }
    if (2 * runs <= copied_) runs_ = runs;
  }

  void Add(const PadPlan& plan, int element) {
    ptrdiff_t to = 0;
    ptrdiff_t from = 0;
    bool is_constant = false;
    for (int k = plan.rank - 1; k >= outer_; --k) {
      const PadDimension& dim = plan.dims[k];
      const int32_t i = element % dim.size;
      const int32_t at = SourceIndex(dim, plan.mode, i);
      element /= dim.size;
      to += i * dim.to_stride;
      from += at * dim.from_stride;
      is_constant = is_constant || at < 0;
    }
    if (is_constant) {
      constant_to_[constants_++] = to;
      return;
    }
    to_[copied_] = to;
    from_[copied_++] = from;
  }

  int outer_;
  int copied_ = 0;
  int constants_ = 0;
  ptrdiff_t to_[kMost];
  ptrdiff_t from_[kMost];
  ptrdiff_t constant_to_[kMost];
  int runs_ = 0;
  ptrdiff_t read_ = 0;  ///< bytes from where a piece begins in x to where its last run is read
  ptrdiff_t run_to_[kMost];
  ptrdiff_t run_from_[kMost];
};

/// Where x begins for the position `index` in the `outer` outermost dimensions of y, or null where
/// one of these gives the constant.
const char* SourceRow(const PadPlan& plan, int outer, const char* x, const int32_t* index) {
  for (int k = 0; k < outer; ++k) {
    const int32_t at = SourceIndex(plan.dims[k], plan.mode, index[k]);
    if (at < 0) return nullptr;
    x += at * plan.dims[k].from_stride;
  }
  return x;
}

/// Calls `body(to, from)` for every position in the `outer` outermost dimensions of y, of which
/// each has `size` elements; `from` is null where all of these are the constant.
template <typename Body>
void ForEachPiece(const PadPlan& plan, int outer, int64_t size, char* y, char* x,
                  const ParallelRunner* parallel, const Body& body) {
  LoopNest<2> nest;
  nest.rank = outer;
  bool is_padded = false;  // in one of the outer dimensions
  for (int k = 0; k < outer; ++k) {
    nest.dims[k] = plan.dims[k].size;
    nest.strides[0][k] = plan.dims[k].to_stride;
    is_padded = is_padded || plan.dims[k].begin != 0 || plan.dims[k].IsPadded();
  }
  const bool goes_along = !is_padded && x != nullptr;
  for (int k = 0; k < outer && goes_along; ++k) nest.strides[1][k] = plan.dims[k].from_stride;
  const int64_t pieces = nest.Elements();
  ParallelFor(pieces * size >= kParallelElements ? parallel : nullptr, static_cast<int>(pieces),
              [&](int begin, int end) {
                Odometer<2> odometer(nest, outer, {{y, x}}, begin);
                for (int i = begin; i < end; ++i, odometer.Next()) {
                  const char* from = odometer.cursor().at[1];
                  if (is_padded && x != nullptr) from = SourceRow(plan, outer, x, odometer.index());
                  body(odometer.cursor().at[0], from);
                }
              });
}

template <typename T>
void PadAll(const PadPlan& plan, char* y, char* x, T value, const ParallelRunner* parallel) {
  if constexpr (kHasWorkers) {  // firmware's images do without
    const PadPattern pattern(plan, sizeof(T));
    if (pattern.size() > 0) {
      auto bytes = static_cast<ptrdiff_t>(sizeof(T));
      for (int k = 0; k < plan.rank; ++k) bytes += plan.dims[k].last * plan.dims[k].from_stride;
      const char* const end = x == nullptr ? nullptr : x + bytes;
      return ForEachPiece(
          plan, pattern.outer(), pattern.size(), y, x, parallel,
          [&](char* to, const char* from) { pattern.Run<T>(to, from, value, end); });
    }
  }
  const PadDimension& row = plan.dims[plan.rank - 1];
  ForEachPiece(plan, plan.rank - 1, row.size, y, x, parallel,
               [&](char* to, const char* from) { PadRow<T>(row, plan.mode, to, from, value); });
}

/// The bits of `value` as an element of `dtype`; the shape rule has checked that it is one.
uint64_t ElementBits(float value, DType dtype) {
  uint64_t bits = 0;
  switch (dtype) {
    case DType::kF32:
      return math::BitsOf(value);
    case DType::kF16:
      return FloatToHalf(value);
    case DType::kBf16:
      return FloatToBfloat16(value);
    case DType::kF64: {
      const auto wide = static_cast<double>(value);
      std::memcpy(&bits, &wide, sizeof(bits));
      return bits;
    }
    case DType::kU64:
      return SaturateToInteger<uint64_t>(value);
    default:
      return static_cast<uint64_t>(SaturateToInteger<int64_t>(value));
  }
}

}  // namespace

Status PadRun(const KernelCall& call) {
  const auto& attributes = call.op.AttributesAs<PadAttributes>();
  const TensorView& x = call.op.Input(0);
  const TensorView& y = call.op.Output();
  if (y.Elements() == 0) return OkStatus();
  PadPlan plan = MakePlan(attributes, y, x);
  MergeInnermost(plan);
  if (plan.rank == 0) {
    plan.rank = 1;
    plan.dims[0] = {1, 0, 0, 0, 0, 0};
  }
  const uint64_t bits = ElementBits(attributes.value, y.dtype);
  char* from = x.Elements() == 0 ? nullptr : x.As<char>();
  WithWord(DTypeBytes(y.dtype), [&](auto word) {
    PadAll(plan, y.As<char>(), from, static_cast<decltype(word)>(bits), call.parallel);
  });
  return OkStatus();
}

}  // namespace tenon::cpu::portable
