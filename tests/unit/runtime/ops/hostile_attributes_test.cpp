// Shape rules meet attributes of any bits: they must refuse or give a valid type, and touch
// nothing that is not theirs (the sanitizer presets watch this test).
#include <doctest/doctest.h>

#include <array>
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "runtime/ops/host/op_host_row.hpp"
#include "runtime/ops/host/op_table.hpp"

namespace tenon {
namespace {

constexpr int kRuns = 100'000;

class Random {
 public:
  explicit Random(uint32_t seed) : engine_(seed) {}
  /// Uniform in [low, high].
  int32_t In(int32_t low, int32_t high) {
    const auto range = static_cast<uint64_t>(int64_t{high} - low + 1);
    return static_cast<int32_t>(low + static_cast<int64_t>(Bits() % range));
  }
  bool OneIn(int32_t count) { return In(1, count) == 1; }
  uint32_t Bits() { return static_cast<uint32_t>(engine_()); }

 private:
  std::mt19937 engine_;
};

uint32_t FloatBits(float value) {
  uint32_t bits = 0;
  std::memcpy(&bits, &value, sizeof bits);
  return bits;
}

/// A word that hurts: a limit, a small number, a special float, or anything.
uint32_t HostileWord(Random& random) {
  using Float = std::numeric_limits<float>;
  const std::array<uint32_t, 14> special = {0x80000000U,
                                            0x7FFFFFFFU,
                                            0xFFFFFFFFU,
                                            1U << 16,
                                            1U << 28,
                                            1U << 30,
                                            FloatBits(0.0F),
                                            FloatBits(-0.5F),
                                            FloatBits(2.0F),
                                            FloatBits(Float::quiet_NaN()),
                                            FloatBits(Float::infinity()),
                                            FloatBits(-Float::infinity()),
                                            FloatBits(Float::denorm_min()),
                                            FloatBits(Float::max())};
  switch (random.In(0, 3)) {
    case 0:
      return random.Bits();
    case 1:
      return special[static_cast<size_t>(random.In(0, static_cast<int32_t>(special.size()) - 1))];
    default:
      return static_cast<uint32_t>(random.In(-2, 9));
  }
}

/// Attributes near enough to good ones that rules get past their first checks now and then.
std::vector<uint32_t> HostileAttributes(const OpRow& row, const Shape& x, Random& random) {
  std::vector<uint32_t> words(row.attribute_words);
  if (words.empty()) return words;
  std::memcpy(words.data(), GetOpHostRow(row.kind).text.default_attributes, words.size() * 4);
  for (const AttributeField& field : GetOpHostRow(row.kind).text.fields) {
    for (size_t i = field.offset; i < size_t{field.offset} + field.count; ++i) {
      if (field.kind == FieldKind::kFloat)
        words[i] = FloatBits(static_cast<float>(random.In(1, 2)));
      if (field.kind == FieldKind::kInt && random.OneIn(2)) {
        words[i] = static_cast<uint32_t>(random.In(0, 3));
      }
      if (field.kind == FieldKind::kEnum && random.OneIn(2)) {
        words[i] = static_cast<uint32_t>(random.In(0, field.enum_count - 1));
      }
    }
    if (std::strcmp(field.name, "rank") == 0) words[field.offset] = static_cast<uint32_t>(x.rank);
  }
  const int32_t hits = random.OneIn(8) ? static_cast<int32_t>(words.size()) : random.In(0, 2);
  for (int32_t i = 0; i < hits; ++i) {
    words[static_cast<size_t>(random.In(0, static_cast<int32_t>(words.size()) - 1))] =
        HostileWord(random);
  }
  return words;
}

Shape RandomShape(Random& random, int32_t rank) {
  for (;;) {
    Shape shape;
    shape.rank = rank;
    for (int32_t i = 0; i < rank; ++i) {
      shape[i] = random.OneIn(40) ? random.In(0, INT32_MAX) : random.In(random.OneIn(9) ? 0 : 1, 4);
    }
    if (shape.IsValid()) return shape;
  }
}

/// Operands of random types; mostly alike, since that is what most ops want.
struct HostileOperands {
  std::vector<Shape> shapes;
  std::vector<TensorView> views;
  std::vector<int32_t> input_ids;
};

void MakeVector(HostileOperands& operands, size_t input, int32_t size) {
  operands.shapes[input] = Shape();
  operands.shapes[input].rank = 1;
  operands.shapes[input][0] = size;
  operands.views[input].rank = 1;
  operands.views[input].dtype = DType::kF32;
}

/// Weights of i8 and an input of bytes, as the vectors that go with them want it.
void MakeStoredForms(const OpRow& row, HostileOperands& operands) {
  const size_t scale = row.kind == OpKind::kConv ? 4 : 3;
  const auto has = [&](size_t i) {
    return i < operands.input_ids.size() && operands.input_ids[i] >= 0;
  };
  const Shape& w = operands.shapes[1];
  if (w.rank < 2 || operands.shapes[0].rank < 2) return;
  if (has(scale)) {
    operands.views[1].dtype = DType::kI8;
    MakeVector(operands, scale, row.kind == OpKind::kConv ? w[0] : w[w.rank - 1]);
  }
  if (has(scale + 1)) {
    operands.views[0].dtype = DType::kU8;
    MakeVector(operands, scale + 1, operands.shapes[0][1]);
  }
}

/// One operand as a quantized op wants it, mostly.
struct Usual {
  DType dtype;
  int32_t count = 0;  ///< of a vector; 0: the shape stays
};

/// What inputs 1 and up of a quantized op are like, given x; input 0 is of bytes or f32.
std::vector<Usual> UsualInputs(OpKind kind, const Shape& x, DType byte, Random& random) {
  const bool fixed_point = random.OneIn(2);
  const int32_t along = x.rank > 0 ? x[random.In(0, x.rank - 1)] : 1;
  const int32_t channels = x.rank == 0 ? 1 : kind == OpKind::kQuantizedConv ? x[0] : x[x.rank - 1];
  const int32_t many = random.OneIn(2) ? 1 : channels;
  switch (kind) {
    case OpKind::kQuantize:
    case OpKind::kDequantize:
      return {{DType::kF32, random.OneIn(2) ? 1 : along}, {byte, random.OneIn(2) ? 1 : along}};
    case OpKind::kLookup:
      return {{byte, 256}};
    case OpKind::kQuantizedConv:
    case OpKind::kQuantizedMatMul:
      return {{byte, 0},
              {DType::kI32, channels},
              {fixed_point ? DType::kI32 : DType::kF32, many},
              {DType::kI8, many},
              {byte, 1},
              {byte, random.OneIn(2) ? 1 : channels}};
    case OpKind::kQuantizedBinary:
      return {{byte, 0}};
    default:
      return {};
  }
}

/// Makes quantized ops' operands usual ones, so that rules get far enough now and then.
void SuitQuantized(const OpRow& row, HostileOperands& operands, Random& random) {
  if (!TraitsOf(row.kind).quantized || operands.views.empty() || random.OneIn(8)) return;
  const DType byte = random.OneIn(2) ? DType::kI8 : DType::kU8;
  operands.views[0].dtype = row.kind == OpKind::kQuantize ? DType::kF32 : byte;
  const std::vector<Usual> usual = UsualInputs(row.kind, operands.shapes[0], byte, random);
  for (size_t i = 1; i < operands.views.size() && i <= usual.size(); ++i) {
    const Usual& wanted = usual[i - 1];
    operands.views[i].dtype = wanted.dtype;
    if (i == 4 && random.OneIn(2)) operands.input_ids[i] = -1;  // a shift
    if (wanted.count > 0) operands.shapes[i] = Shape({wanted.count});
    if (wanted.count == 0 && !random.OneIn(4)) operands.shapes[i] = operands.shapes[0];
    operands.views[i].rank = static_cast<uint8_t>(operands.shapes[i].rank);
  }
}

void SetOperand(HostileOperands& operands, size_t i, DType dtype, const Shape& shape) {
  operands.shapes[i] = shape;
  operands.views[i].rank = static_cast<uint8_t>(shape.rank);
  operands.views[i].dtype = dtype;
}

/// Makes the operands of what is chosen by value usual ones, whose shapes hang together.
void SuitSelection(const OpRow& row, HostileOperands& operands, Random& random) {
  if (operands.views.size() < 3 || random.OneIn(8)) return;
  const DType index = random.OneIn(2) ? DType::kI32 : DType::kI64;
  const Shape x = operands.shapes[0];
  if (row.kind == OpKind::kScatter && x.rank > 0) {
    const int32_t count = random.In(0, 5);
    Shape updates = x;
    updates[0] = count;
    SetOperand(operands, 1, index, Shape({count}));
    SetOperand(operands, 2, operands.views[0].dtype, updates);
  }
  if (row.kind == OpKind::kNonMaxSuppression) {
    const int32_t images = random.In(0, 3);
    const int32_t boxes = random.In(0, 9);
    const Shape scores({images, random.In(0, 3), boxes});
    SetOperand(operands, 0, DType::kF32, Shape({images, boxes, 4}));
    SetOperand(operands, 1, DType::kF32, scores);
    SetOperand(operands, 2, index, scores);
  }
}

/// Makes the operands of what samples images usual ones.
void SuitGrid(const OpRow& row, HostileOperands& operands, Random& random) {
  if (row.kind != OpKind::kGridSample || operands.views.size() < 2 || random.OneIn(8)) return;
  const int32_t images = random.In(0, 3);
  SetOperand(operands, 0, DType::kF32,
             Shape({images, random.In(0, 3), random.In(0, 5), random.In(0, 5)}));
  SetOperand(operands, 1, DType::kF32, Shape({images, random.In(0, 5), random.In(0, 5), 2}));
}

/// Makes the operands of a product with a range of run time usual ones.
void SuitDynamicProduct(const OpRow& row, HostileOperands& operands, Random& random) {
  const bool fits = row.kind == OpKind::kDynamicMatMul && operands.views.size() > 3;
  if (!fits || operands.shapes[0].rank < 2 || random.OneIn(8)) return;
  const Shape& a = operands.shapes[0];
  const int32_t columns = random.In(0, 5);
  const DType byte = random.OneIn(2) ? DType::kI8 : DType::kU8;
  operands.views[0].dtype = DType::kF32;
  SetOperand(operands, 1, byte, Shape({a[a.rank - 1], columns}));
  SetOperand(operands, 2, DType::kF32, Shape({random.OneIn(2) ? 1 : columns}));
  SetOperand(operands, 3, DType::kF32, Shape({random.OneIn(2) ? 1 : columns}));
  if (operands.views.size() > 4) {
    SetOperand(operands, 4, byte, Shape({random.OneIn(2) ? 1 : columns}));
  }
}

HostileOperands RandomOperands(const OpRow& row, Random& random) {
  HostileOperands operands;
  const int32_t most = row.max_inputs < 0 ? 5 : row.max_inputs;
  const int32_t count = random.In(row.min_inputs - (random.OneIn(20) ? 1 : 0), most);
  const bool image = random.OneIn(2);
  const auto common_dtype = static_cast<DType>(random.OneIn(2) ? 0 : random.In(0, kDTypeCount - 1));
  const int32_t rank = image ? 4 : random.In(0, kMaxRank);
  for (int32_t i = 0; i < count; ++i) {
    const bool same = i > 0 && random.OneIn(2);
    const int32_t own_rank = random.OneIn(6) ? random.In(0, kMaxRank) : rank;
    operands.shapes.push_back(same ? operands.shapes[0] : RandomShape(random, own_rank));
    operands.input_ids.push_back(random.OneIn(12) ? -1 : i);
  }
  for (int32_t i = 0; i < count; ++i) {
    const Shape& shape = operands.shapes[static_cast<size_t>(i)];
    TensorView view;
    view.dims = shape.dims;
    view.rank = static_cast<uint8_t>(shape.rank);
    view.dtype = random.OneIn(6) ? static_cast<DType>(random.In(0, kDTypeCount - 1)) : common_dtype;
    operands.views.push_back(view);
  }
  const bool is_gemm = row.kind == OpKind::kConv || row.kind == OpKind::kMatMul;
  if (is_gemm && count > 1 && !random.OneIn(8)) MakeStoredForms(row, operands);
  // A condition or indices in their usual dtype.
  if (row.kind == OpKind::kSelect && count > 0) operands.views[0].dtype = DType::kBool;
  if (row.kind == OpKind::kGather && count > 1) operands.views[1].dtype = DType::kI32;
  SuitQuantized(row, operands, random);
  SuitSelection(row, operands, random);
  SuitDynamicProduct(row, operands, random);
  SuitGrid(row, operands, random);
  return operands;
}

/// Checks one accepted type, and that the work formulas survive what the rule accepted.
void CheckAccepted(const OpRow& row, const OpCall& call, HostileOperands& operands,
                   const OutputType& output) {
  REQUIRE(IsValidDType(static_cast<int>(output.dtype)));
  REQUIRE(output.shape.IsValid());
  TensorView view;
  view.dims = output.shape.dims;
  view.rank = static_cast<uint8_t>(output.shape.rank);
  view.dtype = output.dtype;
  operands.views.push_back(view);
  const auto output_id = static_cast<int32_t>(operands.views.size()) - 1;
  OpCall complete = call;
  complete.tensors = operands.views.data();
  complete.output_ids = {&output_id, 1};
  REQUIRE(CheckOpCall(row, complete).ok());
  const OpWork work = GetOpHostRow(row.kind).work(complete);
  REQUIRE(work.multiply_accumulates >= 0);
  REQUIRE(work.elementary_ops >= 0);
  REQUIRE(work.bytes_read >= 0);
  REQUIRE(work.bytes_written == output.shape.Elements() * DTypeBytes(output.dtype));
}

TEST_CASE("Shape rules: attributes of any bits are refused or give a valid type") {
  for (int kind = 0; kind < kOpKindCount; ++kind) {
    const OpRow& row = GetOpRow(static_cast<OpKind>(kind));
    CAPTURE(std::string(row.name));
    Random random(static_cast<uint32_t>(kind) + 1);
    int accepted = 0;
    for (int run = 0; run < kRuns; ++run) {
      HostileOperands operands = RandomOperands(row, random);
      const Shape x = operands.shapes.empty() ? Shape() : operands.shapes[0];
      const std::vector<uint32_t> words = HostileAttributes(row, x, random);
      // An allocation of exactly the struct's size, so that the sanitizer sees reads beyond it.
      const auto exact = std::make_unique<uint32_t[]>(words.size());
      if (!words.empty()) std::memcpy(exact.get(), words.data(), words.size() * 4);
      OpCall call;
      call.tensors = operands.views.data();
      call.input_ids = {operands.input_ids.data(), operands.input_ids.size()};
      call.attributes = exact.get();
      OutputType outputs[kMaxOutputs];
      const Status status = InferOutputs(row, call, outputs);
      if (!status.ok()) {
        REQUIRE(status.code() == StatusCode::kInvalidArgument);
        continue;
      }
      ++accepted;
      CheckAccepted(row, call, operands, outputs[0]);
    }
    // Enough must come through, or the test shows nothing about what is accepted.
    CHECK(accepted > kRuns / 1000);
    CHECK(accepted < kRuns);
  }
}

}  // namespace
}  // namespace tenon
