#include <algorithm>

#include "backends/cpu/kernels/portable/kernels.hpp"
#include "backends/cpu/kernels/portable/movement/indices.hpp"
#include "backends/cpu/kernels/portable/strided.hpp"
#include "runtime/ops/attributes.hpp"

namespace tenon::cpu::portable {
namespace {

using Input = NonMaxSuppressionInput;

struct Box {
  float low[2];
  float high[2];

  [[nodiscard]] float Area() const { return (high[0] - low[0]) * (high[1] - low[1]); }
};

class Suppression {
 public:
  explicit Suppression(const OpCall& call)
      : boxes_(call.Input(Input::kBoxes)),
        scores_(call.Input(Input::kScores)),
        order_(call.Input(Input::kOrder)),
        y_(call.Output()),
        attributes_(call.AttributesAs<NonMaxSuppressionAttributes>()) {}

  /// Looks at every index before anything is written, so that a refused run has no effect.
  [[nodiscard]] Status CheckOrder() const {
    for (int32_t image = 0; image < scores_.dims[0]; ++image) {
      for (int32_t of = 0; of < scores_.dims[1]; ++of) {
        for (int32_t i = 0; i < scores_.dims[2]; ++i) {
          const int64_t box = OrderAt(image, of, i);
          TENON_ENSURE(box >= 0 && box < boxes_.dims[1], kInvalidArgument,
                       "non_max_suppression: there is no box {0} of {1}", box, boxes_.dims[1]);
        }
      }
    }
    return OkStatus();
  }

  void Run() {
    for (int32_t image = 0; image < scores_.dims[0]; ++image) {
      for (int32_t of = 0; of < scores_.dims[1]; ++of) TakeClass(image, of);
    }
    for (; row_ < attributes_.rows; ++row_) SetRow(-1, -1, -1);
  }

 private:
  [[nodiscard]] int64_t OrderAt(int32_t image, int32_t of, int32_t place) const {
    const ptrdiff_t offset =
        image * ByteStride(order_, 0) + of * ByteStride(order_, 1) + place * ByteStride(order_, 2);
    return ReadIndex(order_.As<char>() + offset, order_.dtype);
  }
  [[nodiscard]] ptrdiff_t RowOffset(int32_t row, int column) const {
    return ptrdiff_t{row} * y_.strides[0] + column * y_.strides[1];
  }
  void SetRow(int64_t image, int64_t of, int64_t box) const {
    y_.As<int64_t>()[RowOffset(row_, 0)] = image;
    y_.As<int64_t>()[RowOffset(row_, 1)] = of;
    y_.As<int64_t>()[RowOffset(row_, 2)] = box;
  }

  [[nodiscard]] Box BoxAt(int32_t image, int64_t box) const {
    float value[4];
    for (int i = 0; i < 4; ++i) {
      value[i] = boxes_.As<float>()[image * ptrdiff_t{boxes_.strides[0]} +
                                    static_cast<ptrdiff_t>(box) * boxes_.strides[1] +
                                    i * ptrdiff_t{boxes_.strides[2]}];
    }
    Box result;
    for (int i = 0; i < 2; ++i) {
      const float half = value[2 + i] / 2;
      const float a = attributes_.by_center != 0 ? value[i] - half : value[i];
      const float b = attributes_.by_center != 0 ? value[i] + half : value[2 + i];
      result.low[i] = std::min(a, b);
      result.high[i] = std::max(a, b);
    }
    return result;
  }

  [[nodiscard]] bool Overlap(const Box& a, const Box& b) const {
    float common = 1;
    for (int i = 0; i < 2; ++i) {
      const float side = std::min(a.high[i], b.high[i]) - std::max(a.low[i], b.low[i]);
      if (!(side > 0)) return false;
      common *= side;
    }
    const float all = a.Area() + b.Area() - common;
    return a.Area() > 0 && b.Area() > 0 && all > 0 && common / all > attributes_.overlap;
  }

  void TakeClass(int32_t image, int32_t of) {
    const int32_t first = row_;
    for (int32_t i = 0; i < scores_.dims[2]; ++i) {
      if (row_ == attributes_.rows || row_ - first == attributes_.most_of_class) return;
      const int64_t box = OrderAt(image, of, i);
      const float score = scores_.As<float>()[image * ptrdiff_t{scores_.strides[0]} +
                                              of * ptrdiff_t{scores_.strides[1]} +
                                              static_cast<ptrdiff_t>(box) * scores_.strides[2]];
      if (attributes_.by_score != 0 && !(score > attributes_.least_score)) continue;
      const Box candidate = BoxAt(image, box);
      bool is_dropped = false;
      for (int32_t row = first; row < row_ && !is_dropped; ++row) {
        is_dropped = Overlap(BoxAt(image, y_.As<int64_t>()[RowOffset(row, 2)]), candidate);
      }
      if (is_dropped) continue;
      SetRow(image, of, box);
      ++row_;
    }
  }

  const TensorView& boxes_;
  const TensorView& scores_;
  const TensorView& order_;
  const TensorView& y_;
  const NonMaxSuppressionAttributes& attributes_;
  int32_t row_ = 0;
};

}  // namespace

Status NonMaxSuppressionRun(const KernelCall& call) {
  Suppression suppression(call.op);
  TENON_RETURN_IF_ERROR(suppression.CheckOrder());
  suppression.Run();
  return OkStatus();
}

}  // namespace tenon::cpu::portable
