// Attention operators of com.microsoft against the same in plain loops, and as the graph that the
// pass FuseAttention knows.
#include <doctest/doctest.h>

#include <cmath>
#include <cstring>

#include "tests/unit/converter/import/onnx/ops/microsoft.hpp"
#include "tests/unit/converter/import/onnx/run_model.hpp"

namespace tenon::converter::test {
namespace {

using Names = std::vector<std::string>;
using Dims = std::vector<int64_t>;

Floats Numbers(int64_t count, int seed) {
  Floats values;
  for (int64_t i = 0; i < count; ++i) {
    values.push_back(static_cast<float>((i * 37 + seed * 11) % 101 - 50) / 50.0F);
  }
  return values;
}

/// [B, length, heads * size].
struct Operand {
  Floats values;
  int64_t length;
};

constexpr int64_t kBatches = 2;
constexpr int64_t kHeads = 2;
constexpr int64_t kSize = 2;
constexpr int64_t kHidden = kHeads * kSize;

/// What is added to the score of a query and a key of a batch.
using Mask = float (*)(int64_t batch, int64_t query, int64_t key);

float NoMask(int64_t /*batch*/, int64_t /*query*/, int64_t /*key*/) { return 0; }

/// Attention of operands [B, L, heads * size].
Floats Reference(const Operand& q, const Operand& k, const Operand& v, float scale, Mask mask) {
  const auto at = [](const Operand& x, int64_t b, int64_t head, int64_t i, int64_t j) {
    return x.values[static_cast<size_t>((b * x.length + i) * kHidden + head * kSize + j)];
  };
  Floats y(q.values.size());
  for (int64_t b = 0; b < kBatches; ++b) {
    for (int64_t head = 0; head < kHeads; ++head) {
      for (int64_t i = 0; i < q.length; ++i) {
        std::vector<double> shares;
        double sum = 0;
        for (int64_t t = 0; t < k.length; ++t) {
          double score = 0;
          for (int64_t j = 0; j < kSize; ++j) score += at(q, b, head, i, j) * at(k, b, head, t, j);
          shares.push_back(std::exp(score * scale + mask(b, i, t)));
          sum += shares.back();
        }
        for (int64_t j = 0; j < kSize; ++j) {
          double value = 0;
          for (int64_t t = 0; t < k.length; ++t) {
            value += shares[static_cast<size_t>(t)] / sum * at(v, b, head, t, j);
          }
          y[static_cast<size_t>((b * q.length + i) * kHidden + head * kSize + j)] =
              static_cast<float>(value);
        }
      }
    }
  }
  return y;
}

const float kDefaultScale = 1 / std::sqrt(2.0F);

/// MultiHeadAttention of q, k and v of length 3, with some more inputs.
Floats MultiHead(const Names& more, const char* flag = "num_heads", int64_t value = kHeads) {
  auto model = ModelBuilder(17)
                   .Input("q", {kBatches, 3, kHidden})
                   .Floats("k", {kBatches, 3, kHidden}, Numbers(24, 1))
                   .Floats("v", {kBatches, 3, kHidden}, Numbers(24, 2));
  AddInts(model, "lengths", {2}, {2, 3});
  AddInts(model, "bounds", {4}, {2, 3, 1, 0});
  AddInts(model, "keys", {2, 3}, {1, 0, 1, 0, 1, 1});
  AddInts(model, "pairs", {2, 3, 3}, {1, 0, 1, 0, 1, 1, 1, 1, 1, 1, 0, 0, 0, 1, 0, 0, 0, 1});
  model.Floats("add", {1, 1, 3, 3}, Numbers(9, 3));
  Names inputs = {"q", "k", "v"};
  inputs.insert(inputs.end(), more.begin(), more.end());
  Microsoft(model.Node("MultiHeadAttention", inputs, {"y"})).Set("num_heads", kHeads);
  if (flag != std::string("num_heads")) model.Set(flag, value);
  return Run(model.Output("y"), {Numbers(24, 0)});
}

Floats Wanted(Mask mask, float scale = kDefaultScale) {
  return Reference({Numbers(24, 0), 3}, {Numbers(24, 1), 3}, {Numbers(24, 2), 3}, scale, mask);
}

constexpr float kMasked = -10000;

TEST_CASE("MultiHeadAttention: masks of every form") {
  CheckClose(MultiHead({}), Wanted(NoMask));
  CheckClose(MultiHead({"", "lengths"}), Wanted([](int64_t b, int64_t, int64_t t) {
               return t < (b == 0 ? 2 : 3) ? 0 : kMasked;
             }));
  CheckClose(MultiHead({"", "bounds"}), Wanted([](int64_t b, int64_t, int64_t t) {
               return b == 0 ? (t == 1 ? 0 : kMasked) : 0;
             }));
  CheckClose(MultiHead({"", "keys"}), Wanted([](int64_t b, int64_t, int64_t t) {
               return (b == 0 ? t != 1 : t != 0) ? 0 : kMasked;
             }));
  CheckClose(MultiHead({"", "pairs"}), Wanted([](int64_t b, int64_t i, int64_t t) {
               const int kept[] = {1, 0, 1, 0, 1, 1, 1, 1, 1, 1, 0, 0, 0, 1, 0, 0, 0, 1};
               return kept[b * 9 + i * 3 + t] != 0 ? 0 : kMasked;
             }));
  CheckClose(MultiHead({"", "", "add"}), Wanted([](int64_t, int64_t i, int64_t t) {
               return Numbers(9, 3)[static_cast<size_t>(i * 3 + t)];
             }));
  CheckClose(MultiHead({}, "unidirectional", 1),
             Wanted([](int64_t, int64_t i, int64_t t) { return t <= i ? 0 : 2 * kMasked; }));
}

TEST_CASE("MultiHeadAttention: a query that sees only masked keys still sees no later ones") {
  const Floats y = MultiHead({"", "keys"}, "unidirectional", 1);
  const Floats v = Numbers(24, 2);
  // The first query of the second batch sees the first key alone, which is masked.
  for (size_t j = 0; j < kHidden; ++j) CHECK(y[12 + j] == doctest::Approx(v[12 + j]));
}

TEST_CASE("MultiHeadAttention: keys and values packed, or by head, with bias and past") {
  const Floats q = Numbers(24, 0);
  const Floats k = Numbers(24, 1);
  const Floats v = Numbers(24, 2);
  const auto pack = [](const std::vector<Floats>& parts) {  // [B, L, heads, parts, size]
    Floats packed;
    for (size_t word = 0; word < 12; ++word) {
      for (const Floats& part : parts) {
        packed.insert(packed.end(), part.begin() + static_cast<ptrdiff_t>(word * kSize),
                      part.begin() + static_cast<ptrdiff_t>((word + 1) * kSize));
      }
    }
    return packed;
  };
  const auto wanted = Wanted(NoMask);
  auto all = ModelBuilder(17).Input("x", {kBatches, 3, kHeads, 3, kSize});
  Microsoft(all.Node("MultiHeadAttention", {"x"}, {"y"})).Set("num_heads", kHeads).Output("y");
  CheckClose(Run(all, {pack({q, k, v})}), wanted);

  auto two = ModelBuilder(17)
                 .Input("q", {kBatches, 3, kHidden})
                 .Input("x", {kBatches, 3, kHeads, 2, kSize});
  Microsoft(two.Node("MultiHeadAttention", {"q", "x"}, {"y"})).Set("num_heads", kHeads).Output("y");
  CheckClose(Run(two, {q, pack({k, v})}), wanted);

  auto heads = ModelBuilder(17)
                   .Input("q", {kBatches, 3, kHidden})
                   .Input("k", {kBatches, 3, kHeads, kSize})
                   .Input("v", {kBatches, 3, kHeads, kSize})
                   .Node("Transpose", {"k"}, {"kt"}, "a")
                   .Set("perm", Dims{0, 2, 1, 3})
                   .Node("Transpose", {"v"}, {"vt"}, "b")
                   .Set("perm", Dims{0, 2, 1, 3});
  Microsoft(heads.Node("MultiHeadAttention", {"q", "kt", "vt"}, {"y"}))
      .Set("num_heads", kHeads)
      .Output("y");
  CheckClose(Run(heads, {q, k, v}), wanted);
}

TEST_CASE("MultiHeadAttention: with a bias, behind a past that grows by the new keys") {
  const Floats bias = Numbers(3 * kHidden, 5);
  auto model = ModelBuilder(17)
                   .Input("q", {kBatches, 1, kHidden})
                   .Floats("k", {kBatches, 1, kHidden}, Numbers(8, 1))
                   .Floats("v", {kBatches, 1, kHidden}, Numbers(8, 2))
                   .Floats("b", {3 * kHidden}, bias)
                   .Floats("pk", {kBatches, kHeads, 1, kSize}, Numbers(8, 6))
                   .Floats("pv", {kBatches, kHeads, 1, kSize}, Numbers(8, 7));
  Microsoft(
      model.Node("MultiHeadAttention", {"q", "k", "v", "b", "", "", "pk", "pv"}, {"y", "nk", "nv"}))
      .Set("num_heads", kHeads)
      .Set("unidirectional", 1)
      .Set("scale", 0.5F);
  const auto biased = [&](int part) {
    Floats x = Numbers(8, part);
    for (size_t i = 0; i < 8; ++i) x[i] += bias[static_cast<size_t>(part) * 4 + i % 4];
    return x;
  };
  const auto behind = [&](const Floats& past, const Floats& x) {
    Floats y;  // the past has one word, so that [B, heads, 1, size] is [B, 1, heads * size]
    for (ptrdiff_t b = 0; b < 2; ++b) {
      y.insert(y.end(), past.begin() + b * 4, past.begin() + b * 4 + 4);
      y.insert(y.end(), x.begin() + b * 4, x.begin() + b * 4 + 4);
    }
    return y;
  };
  const Operand keys = {behind(Numbers(8, 6), biased(1)), 2};
  const Operand values = {behind(Numbers(8, 7), biased(2)), 2};
  auto first = model;
  CheckClose(Run(first.Output("y"), {Numbers(8, 0)}),
             Reference({biased(0), 1}, keys, values, 0.5F, NoMask));
  // [B, heads, 2, size]
  Floats present;
  for (const size_t i : {0, 1, 4, 5, 2, 3, 6, 7}) present.push_back(keys.values[i]);
  for (const size_t i : {8, 9, 12, 13, 10, 11, 14, 15}) present.push_back(keys.values[i]);
  CheckClose(Run(model.Output("nk"), {Numbers(8, 0)}), present);
}

/// x w + b of [B, L, hidden], for columns from `begin` on.
Floats Projected(const Floats& x, const Floats& w, const Floats& b, size_t begin) {
  Floats y;
  for (size_t row = 0; row < x.size() / kHidden; ++row) {
    for (size_t j = 0; j < kHidden; ++j) {
      float sum = b[begin + j];
      for (size_t i = 0; i < kHidden; ++i) sum += x[row * kHidden + i] * w[i * 12 + begin + j];
      y.push_back(sum);
    }
  }
  return y;
}

TEST_CASE(
    "Attention: one projection for queries, keys and values; keys and values are its second "
    "output") {
  const Floats x = Numbers(24, 0);
  const Floats w = Numbers(48, 1);
  const Floats b = Numbers(12, 2);
  auto model = ModelBuilder(17)
                   .Input("x", {kBatches, 3, kHidden})
                   .Floats("w", {kHidden, 3 * kHidden}, w)
                   .Floats("b", {3 * kHidden}, b);
  AddInts(model, "m", {2, 3}, {1, 0, 1, 0, 1, 1});
  Microsoft(model.Node("Attention", {"x", "w", "b", "m"}, {"y", "p"})).Set("num_heads", kHeads);
  const Operand keys = {Projected(x, w, b, 4), 3};
  const Operand values = {Projected(x, w, b, 8), 3};
  const Floats wanted = Reference({Projected(x, w, b, 0), 3}, keys, values, kDefaultScale,
                                  [](int64_t batch, int64_t, int64_t t) {
                                    return (batch == 0 ? t != 1 : t != 0) ? 0 : kMasked;
                                  });
  auto first = model;
  CheckClose(Run(first.Output("y"), {x}), wanted);

  Floats present;  // [2, B, heads, L, size]
  for (const Operand* half : {&keys, &values}) {
    for (size_t batch = 0; batch < 2; ++batch) {
      for (size_t head = 0; head < 2; ++head) {
        for (size_t t = 0; t < 3; ++t) {
          const size_t at = (batch * 3 + t) * kHidden + head * kSize;
          present.push_back(half->values[at]);
          present.push_back(half->values[at + 1]);
        }
      }
    }
  }
  CheckClose(Run(model.Output("p"), {x}), present);
}

TEST_CASE("Attention: a past goes before keys and values") {
  const Floats x = Numbers(8, 0);
  const Floats w = Numbers(48, 1);
  const Floats b = Numbers(12, 2);
  auto model = ModelBuilder(17)
                   .Input("x", {kBatches, 1, kHidden})
                   .Floats("w", {kHidden, 3 * kHidden}, w)
                   .Floats("b", {3 * kHidden}, b)
                   .Floats("p", {2, kBatches, kHeads, 1, kSize}, Numbers(16, 3));
  Microsoft(model.Node("Attention", {"x", "w", "b", "", "p"}, {"y"}))
      .Set("num_heads", kHeads)
      .Set("unidirectional", 1)
      .Output("y");
  const Floats past = Numbers(16, 3);
  const auto behind = [&](ptrdiff_t half, const Floats& now) {
    Floats y;
    for (ptrdiff_t batch = 0; batch < 2; ++batch) {
      const auto begin = past.begin() + half * 8 + batch * 4;
      y.insert(y.end(), begin, begin + 4);
      y.insert(y.end(), now.begin() + batch * 4, now.begin() + batch * 4 + 4);
    }
    return y;
  };
  CheckClose(Run(model, {x}),
             Reference({Projected(x, w, b, 0), 1}, {behind(0, Projected(x, w, b, 4)), 2},
                       {behind(1, Projected(x, w, b, 8)), 2}, kDefaultScale, NoMask));
}

TEST_CASE("QAttention: the projection is one of integers") {
  auto model = ModelBuilder(17)
                   .Input("x", {kBatches, 3, kHidden})
                   .Floats("s", {}, {0.125F})
                   .Floats("t", {}, {0.25F})
                   .Floats("b", {3 * kHidden}, Numbers(12, 2));
  std::vector<int32_t> weights;
  for (int32_t i = 0; i < 48; ++i) weights.push_back(i * 7 % 11);
  AddInts(model, "w", {kHidden, 3 * kHidden}, weights, onnx::TensorProto::UINT8);
  AddInts(model, "zx", {}, {128}, onnx::TensorProto::UINT8);
  AddInts(model, "zw", {}, {5}, onnx::TensorProto::UINT8);
  model.Node("QuantizeLinear", {"x", "s", "zx"}, {"q"}, "begin");
  Microsoft(model.Node("QAttention", {"q", "w", "b", "s", "t", "", "zx", "zw"}, {"y"}))
      .Set("num_heads", kHeads)
      .Output("y");
  Floats x = Numbers(24, 0);
  for (float& value : x) value = std::round(value * 8) / 8;  // which the scale holds exactly
  Floats w;
  for (const int32_t value : weights) w.push_back(static_cast<float>(value - 5) * 0.25F);
  const Floats b = Numbers(12, 2);
  CheckClose(Run(model, {x}), Reference({Projected(x, w, b, 0), 3}, {Projected(x, w, b, 4), 3},
                                        {Projected(x, w, b, 8), 3}, kDefaultScale, NoMask));
}

TEST_CASE("RotaryEmbedding: pairs are turned, side by side or half apart") {
  const auto run = [](bool interleaved, const Floats& x) {
    auto model = ModelBuilder(17)
                     .Input("x", {1, 2, 4})
                     .Floats("c", {3, 1}, {1, 0, -1})
                     .Floats("s", {3, 1}, {0, 1, 0})
                     .Ints("p", {1});
    Microsoft(model.Node("RotaryEmbedding", {"x", "p", "c", "s"}, {"y"}))
        .Set("interleaved", interleaved ? 1 : 0)
        .Set("num_heads", 1)
        .Set("rotary_embedding_dim", 2);
    return Run(model.Output("y"), {x});
  };
  // The first word stands at 1 (a quarter turn), the second at 2 (a half); two numbers stay.
  const Floats x = {1, 2, 3, 4, 5, 6, 7, 8};
  CheckClose(run(false, x), {-2, 1, 3, 4, -5, -6, 7, 8});
  CheckClose(run(true, x), {-2, 1, 3, 4, -5, -6, 7, 8});
  auto wide = ModelBuilder(17)
                  .Input("x", {1, 1, 4})
                  .Floats("c", {1, 2}, {0, 1})
                  .Floats("s", {1, 2}, {1, 0})
                  .Ints("p", {0});
  Microsoft(wide.Node("RotaryEmbedding", {"x", "p", "c", "s"}, {"y"}));
  auto side = wide;
  side.Set("interleaved", 1);
  CheckClose(Run(wide.Output("y"), {{1, 2, 3, 4}}), {-3, 2, 1, 4});
  CheckClose(Run(side.Output("y"), {{1, 2, 3, 4}}), {-2, 1, 3, 4});
}

// The buffer has room for three words: two of the first batch went before, one of the second.
TEST_CASE("GroupQueryAttention: heads share keys, new words go behind those of the buffer") {
  const auto make = [](const std::string& output) {
    auto model = ModelBuilder(17)
                     .Input("q", {kBatches, 1, kHidden})
                     .Floats("k", {kBatches, 1, kSize}, Numbers(4, 1))
                     .Floats("v", {kBatches, 1, kSize}, Numbers(4, 2))
                     .Floats("pk", {kBatches, 1, 3, kSize}, Numbers(12, 3))
                     .Floats("pv", {kBatches, 1, 3, kSize}, Numbers(12, 4));
    AddInts(model, "last", {2}, {2, 1});
    AddInts(model, "total", {1}, {3});
    Microsoft(model.Node("GroupQueryAttention", {"q", "k", "v", "pk", "pv", "last", "total"},
                         {"y", "nk", "nv"}))
        .Set("num_heads", kHeads)
        .Set("kv_num_heads", 1);
    return model.Output(output);
  };
  const auto present = [](const Floats& past, const Floats& now) {
    return Floats{past[0], past[1], past[2], past[3], now[0], now[1],
                  past[6], past[7], now[2],  now[3],  0,      0};
  };
  const auto twice = [](const Floats& x) {  // one head as two equal ones
    Floats y;
    for (size_t i = 0; i < x.size(); i += 2) y.insert(y.end(), {x[i], x[i + 1], x[i], x[i + 1]});
    return y;
  };
  const Floats keys = present(Numbers(12, 3), Numbers(4, 1));
  const Floats values = present(Numbers(12, 4), Numbers(4, 2));
  const Floats q = Numbers(8, 0);
  CheckClose(Run(make("nk"), {q}), keys);
  CheckClose(Run(make("nv"), {q}), values);
  CheckClose(Run(make("y"), {q}), Reference({q, 1}, {twice(keys), 3}, {twice(values), 3},
                                            kDefaultScale, [](int64_t b, int64_t, int64_t t) {
                                              return b == 1 && t == 2 ? kMasked : 0;
                                            }));
}

TEST_CASE("GroupQueryAttention: a prompt, packed, with a window and turned by place") {
  const Floats q = Numbers(24, 0);
  const Floats k = Numbers(24, 1);
  const Floats v = Numbers(24, 2);
  Floats packed;
  for (size_t word = 0; word < 6; ++word) {
    for (const Floats* part : {&q, &k, &v}) {
      const auto begin = part->begin() + static_cast<ptrdiff_t>(word * kHidden);
      packed.insert(packed.end(), begin, begin + kHidden);
    }
  }
  auto model = ModelBuilder(17)
                   .Input("x", {kBatches, 3, 3 * kHidden})
                   .Floats("c", {3, 1}, {1, 0, -1})
                   .Floats("s", {3, 1}, {0, 1, 0});
  AddInts(model, "last", {2}, {2, 2});
  AddInts(model, "total", {1}, {3});
  Microsoft(model.Node("GroupQueryAttention", {"x", "", "", "", "", "last", "total", "c", "s"},
                       {"y", "nk", "nv"}))
      .Set("num_heads", kHeads)
      .Set("kv_num_heads", kHeads)
      .Set("local_window_size", 2)
      .Set("do_rotary", 1);
  const auto turned = [](Floats x) {  // by no turn, a quarter and a half
    for (size_t i = 0; i < x.size(); i += 2) {
      const float a = x[i];
      const float b = x[i + 1];
      const size_t word = i / kHidden % 3;
      x[i] = word == 0 ? a : word == 1 ? -b : -a;
      x[i + 1] = word == 0 ? b : word == 1 ? a : -b;
    }
    return x;
  };
  CheckClose(
      Run(model.Output("y"), {packed}),
      Reference({turned(q), 3}, {turned(k), 3}, {v, 3}, kDefaultScale,
                [](int64_t, int64_t i, int64_t t) { return t <= i && t > i - 2 ? 0 : kMasked; }));
}

TEST_CASE("MultiHeadAttention: of more keys than words that see earlier ones, the last sees all") {
  auto model = ModelBuilder(17)
                   .Input("q", {1, 3, 1})
                   .Floats("k", {1, 4, 1}, {1, 1, 1, 1})
                   .Floats("v", {1, 4, 1}, {1, 2, 6, 7});
  Microsoft(model.Node("MultiHeadAttention", {"q", "k", "v"}, {"y"}))
      .Set("num_heads", 1)
      .Set("unidirectional", 1);
  CheckClose(Run(model.Output("y"), {{0, 0, 0}}), {1, 1.5F, 4});
}

TEST_CASE("Attention: what is not supported is said") {
  const auto error = [](const char* attribute, int64_t value) {
    auto model =
        ModelBuilder(17).Input("x", {kBatches, 3, kHidden}).Floats("w", {kHidden, 3 * kHidden});
    AddInts(model, "m", {2, 2, 3, 3}, std::vector<int32_t>(36, 1));
    Names inputs = {"x", "w"};
    if (attribute == std::string("mask")) inputs.insert(inputs.end(), {"", "m"});
    Microsoft(model.Node("Attention", inputs, {"y"})).Set("num_heads", kHeads);
    if (inputs.size() == 2) model.Set(attribute, value);
    return model.Output("y").Text();
  };
  CHECK(error("do_rotary", 1) == "error: node 'n' (Attention): do_rotary 1 is not supported");
  CHECK(error("mask", 0) ==
        "error: node 'n' (Attention): a mask of shape 2x2x3x3 for 2 batches, 3 queries and 3 keys "
        "does not fit");
}

}  // namespace
}  // namespace tenon::converter::test
