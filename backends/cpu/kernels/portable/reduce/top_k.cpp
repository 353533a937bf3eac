#include <cstddef>
#include <cstdint>
#include <cstring>

#include "backends/cpu/kernels/portable/indexing.hpp"
#include "backends/cpu/kernels/portable/kernels.hpp"
#include "backends/cpu/kernels/portable/strided.hpp"
#include "runtime/ops/attributes.hpp"

namespace tenon::cpu::portable {
namespace {

template <typename T>
T Load(const char* at) {
  T value;
  std::memcpy(&value, at, sizeof(T));
  return value;
}

/// The bits of a float as an integer in the order of the numbers, both zeros alike, NaN above all.
template <typename Bits, typename T>
int64_t KeyOfFloat(const char* at) {
  const T value = Load<T>(at);
  if (value != value) return INT64_MAX;  // NOLINT(misc-redundant-expression)
  const auto bits = Load<Bits>(at);
  constexpr Bits kSign = static_cast<Bits>(Bits{1} << (8 * sizeof(Bits) - 1));
  const auto size = static_cast<int64_t>(bits & static_cast<Bits>(~kSign));
  return (bits & kSign) != 0 ? -size : size;
}

template <typename T>
int64_t KeyOfInteger(const char* at) {
  return Load<T>(at);
}

/// f32 apart, whose keys are found in place, all dtypes share the code.
struct F32Key {
  int64_t operator()(const char* at) const { return KeyOfFloat<uint32_t, float>(at); }
};
struct AnyKey {
  int64_t (*key)(const char*);
  int64_t operator()(const char* at) const { return key(at); }
};

AnyKey KeyFor(DType dtype) {
  switch (dtype) {
    case DType::kF64:
      return {KeyOfFloat<uint64_t, double>};
    case DType::kI8:
      return {KeyOfInteger<int8_t>};
    case DType::kU8:
      return {KeyOfInteger<uint8_t>};
    case DType::kI32:
      return {KeyOfInteger<int32_t>};
    default:
      return {KeyOfInteger<int64_t>};
  }
}

/// A row of elements and the indices into it that the output row holds.
template <typename Key>
struct Row {
  Key key;
  const char* x;
  ptrdiff_t x_stride;  ///< bytes
  int64_t* y;
  ptrdiff_t y_stride;
  bool smallest;

  [[nodiscard]] int64_t& At(int32_t place) const { return y[place * y_stride]; }

  [[nodiscard]] int64_t KeyAt(int64_t element) const {
    return key(x + static_cast<ptrdiff_t>(element) * x_stride);
  }

  /// True if element `a` comes before element `b`: a total order.
  [[nodiscard]] bool IsBefore(int64_t a, int64_t b) const {
    const int64_t u = KeyAt(a);
    const int64_t v = KeyAt(b);
    if (u != v) return (u > v) != smallest;
    return a < b;
  }
};

/// Heap of the first `count` places whose root is the last of them in order: lets the entry at
/// `place` sink.
template <typename Key>
void Sink(const Row<Key>& row, int32_t place, int32_t count) {
  const int64_t entry = row.At(place);
  for (;;) {
    const int64_t child = 2 * int64_t{place} + 1;
    if (child >= count) break;
    auto next = static_cast<int32_t>(child);
    if (next + 1 < count && row.IsBefore(row.At(next), row.At(next + 1))) ++next;
    if (!row.IsBefore(entry, row.At(next))) break;
    row.At(place) = row.At(next);
    place = next;
  }
  row.At(place) = entry;
}

/// Keeps the best in a heap, then sorts it: n log k steps, in the output's own memory.
template <typename Key>
void SelectRow(const Row<Key>& row, int32_t size, int32_t count) {
  for (int32_t i = 0; i < count; ++i) row.At(i) = i;
  for (int32_t i = count / 2 - 1; i >= 0; --i) Sink(row, i, count);
  // Of equal ones the earlier stays: the later has to be better than the worst that is kept.
  int64_t worst = row.KeyAt(row.At(0));
  for (int32_t i = count; i < size; ++i) {
    const int64_t key = row.KeyAt(i);
    if (row.smallest ? key >= worst : key <= worst) continue;
    row.At(0) = i;
    Sink(row, 0, count);
    worst = row.KeyAt(row.At(0));
  }
  for (int32_t left = count - 1; left > 0; --left) {
    const int64_t last = row.At(0);
    row.At(0) = row.At(left);
    row.At(left) = last;
    Sink(row, 0, left);
  }
}

/// Of at most so many the best are kept in order: what is better than the last moves up to its
/// place.
constexpr int32_t kFew = 32;

template <bool kSmallest, typename Key>
void SelectFew(const Row<Key>& row, int32_t size, int32_t count) {
  const auto is_better = [](int64_t a, int64_t b) { return kSmallest ? a < b : a > b; };
  int64_t keys[kFew];
  int64_t places[kFew];
  int32_t kept = 0;
  for (int32_t i = 0; i < size; ++i) {
    const int64_t key = row.KeyAt(i);
    if (kept == count && !is_better(key, keys[count - 1])) continue;
    int32_t place = kept < count ? kept++ : count - 1;
    for (; place > 0 && is_better(key, keys[place - 1]); --place) {
      keys[place] = keys[place - 1];
      places[place] = places[place - 1];
    }
    keys[place] = key;
    places[place] = i;
  }
  for (int32_t i = 0; i < count; ++i) row.At(i) = places[i];
}

/// Without a branch on what is better: over the classes of pixels none could be foreseen.
template <bool kSmallest, typename Key>
void SelectOne(const Row<Key>& row, int32_t size) {
  int64_t best = row.KeyAt(0);
  int64_t place = 0;
  for (int64_t i = 1; i < size; ++i) {
    const int64_t key = row.KeyAt(i);
    const bool is_better = kSmallest ? key < best : key > best;
    best = is_better ? key : best;
    place = is_better ? i : place;
  }
  row.At(0) = place;
}

template <typename Key>
void Select(const Row<Key>& row, int32_t size, int32_t count) {
  if (count == 1) return row.smallest ? SelectOne<true>(row, size) : SelectOne<false>(row, size);
  if (count > kFew) return SelectRow(row, size, count);
  return row.smallest ? SelectFew<true>(row, size, count) : SelectFew<false>(row, size, count);
}

template <typename Key>
void TopK(const KernelCall& call, const Key& key) {
  const auto& attributes = call.op.AttributesAs<TopKAttributes>();
  const TensorView& x = call.op.Input(0);
  const TensorView& y = call.op.Output();
  const int axis = attributes.axis;
  const int32_t size = x.dims[axis];
  const auto rows = static_cast<int>(x.Elements() / size);
  ParallelForWork(call.parallel, rows, int64_t{8} * size, [&](int begin, int end) {
    for (int r = begin; r < end; ++r) {
      const Row<Key> row = {key,
                            x.As<char>() + OffsetWithout(axis, r, x) * DTypeBytes(x.dtype),
                            ByteStride(x, axis),
                            y.As<int64_t>() + OffsetWithout(axis, r, y),
                            y.strides[axis],
                            attributes.smallest != 0};
      Select(row, size, attributes.count);
    }
  });
}

}  // namespace

Status TopKRun(const KernelCall& call) {
  if (call.op.Output().Elements() == 0) return OkStatus();
  const DType dtype = call.op.Input(0).dtype;
  if (dtype == DType::kF32) {
    TopK(call, F32Key{});
  } else {
    TopK(call, KeyFor(dtype));
  }
  return OkStatus();
}

}  // namespace tenon::cpu::portable
