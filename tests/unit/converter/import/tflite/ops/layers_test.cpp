// RNN, SVDF, suppression of boxes, branches and loops: small ones worked out by hand, and what is
// refused. litert_layers_test.py compares larger ones with LiteRT.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "tests/unit/converter/import/tflite/run_steps.hpp"

namespace tenon::converter::test {
namespace {

using Op = format::BuiltinOperator;
using format::ActivationFunctionType;
using format::BuiltinOptions;
using format::TensorType;

/// One unit: h = relu(2 x + 0.5 h - 1), over two steps, forward or both ways.
struct Rnn : TfliteBuilder {
  explicit Rnn(bool both) {
    const int32_t x = Input("x", TensorType::FLOAT32, {1, 2, 1});
    std::vector<int32_t> inputs = {x};
    for (int way = 0; way < (both ? 2 : 1); ++way) {
      const std::string suffix = std::to_string(way);
      inputs.push_back(Floats("w" + suffix, {1, 1}, {2.0F}));
      inputs.push_back(Floats("r" + suffix, {1, 1}, {0.5F}));
      inputs.push_back(Floats("b" + suffix, {1}, {-1.0F}));
      inputs.push_back(Variable("h" + suffix, {1, 1}));
    }
    std::vector<int32_t> outputs = {Output("y", TensorType::FLOAT32, {1, 2, 1})};
    if (!both) {
      const auto options =
          format::CreateSequenceRNNOptions(flat, false, ActivationFunctionType::RELU);
      Node(Op::UNIDIRECTIONAL_SEQUENCE_RNN, inputs, outputs, BuiltinOptions::SequenceRNNOptions,
           options.Union());
      return;
    }
    inputs.insert(inputs.end(), {-1, -1, -1});
    outputs.push_back(Output("z", TensorType::FLOAT32, {1, 2, 1}));
    const auto options =
        format::CreateBidirectionalSequenceRNNOptions(flat, false, ActivationFunctionType::RELU);
    Node(Op::BIDIRECTIONAL_SEQUENCE_RNN, inputs, outputs,
         BuiltinOptions::BidirectionalSequenceRNNOptions, options.Union());
  }
};

TEST_CASE("TFLite RNN: steps begin with what the last inference left") {
  Rnn model(false);
  const PortValues found = RunStep(model, {{"x", {1.0F, 3.0F}}, {"h0", {4.0F}}});
  CHECK(found.at("y") == std::vector<float>{3.0F, 6.5F});
  CHECK(found.at("h0.next") == std::vector<float>{6.5F});
}

TEST_CASE("TFLite RNN both ways: the way back begins with the last step") {
  Rnn model(true);
  const PortValues found = RunStep(model, {{"x", {1.0F, 3.0F}}, {"h0", {4.0F}}, {"h1", {2.0F}}});
  CHECK(found.at("y") == std::vector<float>{3.0F, 6.5F});
  CHECK(found.at("z") == std::vector<float>{4.0F, 6.0F});
  CHECK(found.at("h1.next") == std::vector<float>{4.0F});
}

/// Two filters of one unit (rank 2), which remember two products.
TEST_CASE("TFLite SVDF: the oldest is forgotten, the newest remembered, filters are summed") {
  TfliteBuilder model;
  const int32_t x = model.Input("x", TensorType::FLOAT32, {1, 2});
  const int32_t features = model.Floats("f", {2, 2}, {1, 2, -1, 3});
  const int32_t times = model.Floats("t", {2, 2}, {10, 1, 20, 2});
  const int32_t memory = model.Variable("m", {1, 4});
  const int32_t y = model.Output("y", TensorType::FLOAT32, {1, 1});
  model.Node(Op::SVDF, {x, features, times, -1, memory}, {y}, BuiltinOptions::SVDFOptions,
             format::CreateSVDFOptions(model.flat, 2).Union());
  const PortValues found = RunStep(model, {{"x", {1.0F, 1.0F}}, {"m", {5, 6, 7, 8}}});
  CHECK(found.at("m.next") == std::vector<float>{6, 3, 8, 2});
  CHECK(found.at("y") == std::vector<float>{10 * 6 + 3 + 20 * 8 + 2 * 2});
}

TEST_CASE("TFLite SVDF: a rank that does not divide the filters is refused") {
  TfliteBuilder model;
  const int32_t x = model.Input("x", TensorType::FLOAT32, {1, 1});
  const int32_t features = model.Floats("f", {2, 1}, {1, 2});
  const int32_t times = model.Floats("t", {2, 1}, {1, 2});
  const int32_t memory = model.Variable("m", {1, 2});
  const int32_t y = model.Output("y", TensorType::FLOAT32, {1, 1});
  model.Node(Op::SVDF, {x, features, times, -1, memory}, {y}, BuiltinOptions::SVDFOptions,
             format::CreateSVDFOptions(model.flat, 3).Union());
  CHECK(model.Text().find("rank 3 is out of range") != std::string::npos);
}

/// Three boxes of which the first two overlap by half of their union.
struct Suppression : TfliteBuilder {
  int32_t boxes = Floats("boxes", {3, 4}, {0, 0, 2, 3, 0, 1, 2, 4, 5, 5, 6, 6});
  int32_t scores = Input("scores", TensorType::FLOAT32, {3});
  int32_t kept = Output("kept", TensorType::FLOAT32, {3});

  Suppression(float overlap, float sigma, float least = 0.25F) {
    const int32_t places = Value("places", TensorType::INT32, {3});
    const int32_t count = Value("count", TensorType::INT32, {});
    const std::vector<int32_t> inputs = {boxes,
                                         scores,
                                         Ints("most", {}, {3}),
                                         Floats("overlap", {}, {overlap}),
                                         Floats("least", {}, {least}),
                                         Floats("sigma", {}, {sigma})};
    Node(Op::NON_MAX_SUPPRESSION_V5, inputs, {places, kept, count});
  }
};

TEST_CASE("TFLite suppression: a box of just the overlap goes, one of just the score too") {
  Suppression just(0.5F, 0.0F);
  CHECK(RunStep(just, {{"scores", {0.5F, 0.75F, 0.25F}}}).at("kept") ==
        std::vector<float>{0.75F, 0, 0});
  Suppression more(0.51F, 0.0F);
  CHECK(RunStep(more, {{"scores", {0.5F, 0.75F, 0.3F}}}).at("kept") ==
        std::vector<float>{0.75F, 0.5F, 0.3F});
}

TEST_CASE("TFLite suppression: an overlap of 0, which all boxes have, leaves one") {
  Suppression none(0.0F, 0.0F);
  CHECK(RunStep(none, {{"scores", {0.5F, 0.75F, 0.3F}}}).at("kept") ==
        std::vector<float>{0.75F, 0, 0});
}

TEST_CASE("TFLite suppression: a least score of minus infinity, TensorFlow's default, takes all") {
  const float infinity = std::numeric_limits<float>::infinity();
  Suppression all(0.51F, 0.0F, -infinity);
  CHECK(RunStep(all, {{"scores", {-0.5F, -7.5F, -3e30F}}}).at("kept") ==
        std::vector<float>{-0.5F, -7.5F, -3e30F});
  CHECK(Suppression(0.5F, 0.0F, infinity).Text().find("input 4 is not one finite number") !=
        std::string::npos);
}

TEST_CASE("TFLite suppression: scores that overlaps lower are refused") {
  CHECK(Suppression(0.5F, 0.5F).Text().find("(sigma) are not supported") != std::string::npos);
}

/// y = x + x or x * x, by a constant.
struct Branch : TfliteBuilder {
  explicit Branch(bool taken) {
    const int32_t x = Input("x", TensorType::FLOAT32, {2});
    const int32_t y = Output("y", TensorType::FLOAT32, {2});
    const int32_t inner = Value("inner", TensorType::FLOAT32, {2});
    const int32_t result = Value("result", TensorType::FLOAT32, {2});
    const int32_t condition = Bytes("condition", TensorType::BOOL, {}, {taken ? 1 : 0}, {});
    const int32_t sum = Graph({inner}, {result}, [&] { Node(Op::ADD, {inner, inner}, {result}); });
    const int32_t product = Graph({inner}, {result}, [&] {
      Node(Op::MUL, {inner, inner}, {result});
    });
    Node(Op::IF, {condition, x}, {y}, BuiltinOptions::IfOptions,
         format::CreateIfOptions(flat, sum, product).Union());
  }
};

TEST_CASE("TFLite IF: the branch that a known condition takes stands in its place") {
  Branch sum(true);
  CHECK(RunStep(sum, {{"x", {3.0F, -4.0F}}}).at("y") == std::vector<float>{6, -8});
  Branch product(false);
  CHECK(RunStep(product, {{"x", {3.0F, -4.0F}}}).at("y") == std::vector<float>{9, 16});
}

/// y = x + x, or what `in_else` gives, by whether x[0] is above 0.
struct ComputedBranch : TfliteBuilder {
  explicit ComputedBranch(bool alike) {
    const int32_t x = Input("x", TensorType::FLOAT32, {2});
    const int32_t y = Output("y", TensorType::FLOAT32, {2});
    const int32_t inner = Value("inner", TensorType::FLOAT32, {2});
    const int32_t result = Value("result", TensorType::FLOAT32, {2});
    const int32_t longer = Value("longer", TensorType::FLOAT32, {4});
    const int32_t first = Value("first", TensorType::FLOAT32, {1});
    const int32_t above = Value("above", TensorType::BOOL, {1});
    Node(Op::SLICE, {x, Ints("begin", {1}, {0}), Ints("size", {1}, {1})}, {first});
    Node(Op::GREATER, {first, Floats("zero", {}, {0})}, {above});
    const int32_t sum = Graph({inner}, {result}, [&] { Node(Op::ADD, {inner, inner}, {result}); });
    const int32_t other = Graph({inner}, {alike ? result : longer}, [&] {
      if (alike) return Node(Op::MUL, {inner, inner}, {result});
      Node(Op::CONCATENATION, {inner, inner}, {longer}, BuiltinOptions::ConcatenationOptions,
           format::CreateConcatenationOptions(flat, 0).Union());
    });
    Node(Op::IF, {above, x}, {y}, BuiltinOptions::IfOptions,
         format::CreateIfOptions(flat, sum, other).Union());
  }
};

TEST_CASE("TFLite IF: of a condition that is computed the plan has both branches, and it chooses") {
  ComputedBranch model(true);
  CHECK(RunStep(model, {{"x", {3.0F, -4.0F}}}).at("y") == std::vector<float>{6, -8});
  ComputedBranch again(true);
  CHECK(RunStep(again, {{"x", {-3.0F, -4.0F}}}).at("y") == std::vector<float>{9, 16});
}

TEST_CASE("TFLite IF: a warning says that both branches are in the plan, and what input decides") {
  ComputedBranch model(true);
  std::vector<std::string> said;
  ImportOptions options;
  options.warnings = &said;
  REQUIRE(ImportBytes(model.File(), options).ok());
  REQUIRE(said.size() == 1);
  CHECK(said[0].find("(IF): both branches are in the plan") != std::string::npos);
  CHECK(said[0].find("--freeze x=FILE.npy") != std::string::npos);
}

/// y = the elements of x at `places`, or -x, by whether x[0] is above 0.
struct GuardedIndices : TfliteBuilder {
  GuardedIndices() {
    const int32_t x = Input("x", TensorType::FLOAT32, {2});
    const int32_t places = Input("places", TensorType::FLOAT32, {2});
    const int32_t at = Value("at", TensorType::INT32, {2});
    const int32_t y = Output("y", TensorType::FLOAT32, {2});
    const int32_t inner = Value("inner", TensorType::FLOAT32, {2});
    const int32_t indices = Value("indices", TensorType::INT32, {2});
    const int32_t result = Value("result", TensorType::FLOAT32, {2});
    const int32_t first = Value("first", TensorType::FLOAT32, {1});
    const int32_t above = Value("above", TensorType::BOOL, {1});
    Node(Op::SLICE, {x, Ints("begin", {1}, {0}), Ints("size", {1}, {1})}, {first});
    Node(Op::GREATER, {first, Floats("zero", {}, {0})}, {above});
    Node(Op::CAST, {places}, {at});
    const int32_t taken = Graph({inner, indices}, {result}, [&] {
      Node(Op::GATHER, {inner, indices}, {result});
    });
    const int32_t other =
        Graph({inner, indices}, {result}, [&] { Node(Op::NEG, {inner}, {result}); });
    Node(Op::IF, {above, x, at}, {y}, BuiltinOptions::IfOptions,
         format::CreateIfOptions(flat, taken, other).Union());
  }
};

TEST_CASE("TFLite IF: an index out of range in the branch that is not taken does no harm") {
  GuardedIndices taken;
  CHECK(RunStep(taken, {{"x", {3.0F, -4.0F}}, {"places", {1, 0}}}).at("y") ==
        std::vector<float>{-4, 3});
  GuardedIndices other;
  CHECK(RunStep(other, {{"x", {-3.0F, -4.0F}}, {"places", {100, -7}}}).at("y") ==
        std::vector<float>{3, 4});
}

TEST_CASE("TFLite IF: branches of other shapes are refused where the condition is computed") {
  const std::string text = ComputedBranch(false).Text();
  CHECK(text.starts_with("error: node 'y' (IF): "));
  CHECK(text.find("--freeze x=FILE.npy") != std::string::npos);
  CHECK(text.find("its branches give [2] and [4]") != std::string::npos);
}

TEST_CASE("TFLite IF: graphs that double at each call are refused before they fill the memory") {
  TfliteBuilder model;
  const int32_t x = model.Input("x", TensorType::BOOL, {});
  const int32_t y = model.Output("y", TensorType::BOOL, {});
  const int32_t inner = model.Value("inner", TensorType::BOOL, {});
  const int32_t result = model.Value("result", TensorType::BOOL, {});
  const auto branch = [&](int32_t condition, int32_t to, int32_t graph) {
    model.Node(Op::IF, {condition, condition}, {to}, BuiltinOptions::IfOptions,
               format::CreateIfOptions(model.flat, graph, graph).Union());
  };
  constexpr int32_t kGraphs = 30;
  for (int32_t i = 1; i < kGraphs; ++i) {
    REQUIRE(model.Graph({inner}, {result}, [&] { branch(inner, result, i + 1); }) == i);
  }
  model.Graph({inner}, {result}, [&] { model.Node(Op::LOGICAL_NOT, {inner}, {result}); });
  branch(x, y, 1);
  CHECK(model.Text().find("its graphs unroll to more than") != std::string::npos);
}

TEST_CASE("TFLite IF: graphs that are not there, and such that call each other, are refused") {
  TfliteBuilder missing;
  const int32_t x = missing.Input("x", TensorType::FLOAT32, {2});
  const int32_t y = missing.Output("y", TensorType::FLOAT32, {2});
  const int32_t yes = missing.Bytes("yes", TensorType::BOOL, {}, {1}, {});
  missing.Node(Op::IF, {yes, x}, {y}, BuiltinOptions::IfOptions,
               format::CreateIfOptions(missing.flat, 1, 0).Union());
  CHECK(missing.Text() == "error: malformed: IF names graph 1 of 1");

  TfliteBuilder endless;
  const int32_t z = endless.Output("y", TensorType::BOOL, {});
  const int32_t inner = endless.Value("inner", TensorType::BOOL, {});
  const int32_t result = endless.Value("result", TensorType::BOOL, {});
  const int32_t always = endless.Bytes("yes", TensorType::BOOL, {}, {1}, {});
  const auto branch = [&](int32_t from, int32_t to) {
    endless.Node(Op::IF, {always, from}, {to}, BuiltinOptions::IfOptions,
                 format::CreateIfOptions(endless.flat, 1, 1).Union());
  };
  REQUIRE(endless.Graph({inner}, {result}, [&] { branch(inner, result); }) == 1);
  branch(endless.Input("x", TensorType::BOOL, {}), z);
  CHECK(endless.Text().find("its graphs call each other without an end") != std::string::npos);
}

/// x doubled while a counter is below `rounds`, which is a constant or an input.
struct Loop : TfliteBuilder {
  Loop(int32_t rounds, bool known) {
    const int32_t x = Input("x", TensorType::FLOAT32, {2});
    const int32_t y = Output("y", TensorType::FLOAT32, {2});
    const int32_t most = known ? Ints("most", {}, {rounds}) : Input("most", TensorType::INT32, {});
    const auto value = [&](const char* name, TensorType type) {
      return Value(name, type,
                   type == TensorType::FLOAT32 ? std::vector<int32_t>{2} : std::vector<int32_t>{});
    };
    const int32_t count = value("count", TensorType::INT32);
    const int32_t limit = value("limit", TensorType::INT32);
    const int32_t carried = value("carried", TensorType::FLOAT32);
    const int32_t again = value("again", TensorType::BOOL);
    const int32_t next = value("next", TensorType::INT32);
    const int32_t doubled = value("doubled", TensorType::FLOAT32);
    const int32_t one = Ints("one", {}, {1});
    const int32_t condition = Graph({count, limit, carried}, {again}, [&] {
      Node(Op::LESS, {count, limit}, {again});
    });
    const int32_t body = Graph({count, limit, carried}, {next, limit, doubled}, [&] {
      Node(Op::ADD, {count, one}, {next});
      Node(Op::ADD, {carried, carried}, {doubled});
    });
    const int32_t done = value("done", TensorType::INT32);
    const int32_t kept = value("kept", TensorType::INT32);
    Node(Op::WHILE, {Ints("zero", {}, {0}), most, x}, {done, kept, y}, BuiltinOptions::WhileOptions,
         format::CreateWhileOptions(flat, condition, body).Union());
  }
};

TEST_CASE("TFLite WHILE: rounds that are known stand one behind the other") {
  for (const int32_t rounds : {0, 1, 3}) {
    Loop model(rounds, true);
    const float factor = static_cast<float>(1 << rounds);
    CHECK(RunStep(model, {{"x", {1.0F, -3.0F}}}).at("y") ==
          std::vector<float>{factor, -3.0F * factor});
  }
}

/// Ops from which the tensors are computed.
size_t OpsBehind(const Graph& graph, std::vector<TensorId> pending) {
  std::set<OpId> ops;
  while (!pending.empty()) {
    const TensorId id = pending.back();
    pending.pop_back();
    if (graph.tensor(id).IsConstant() || !ops.insert(graph.tensor(id).producer).second) continue;
    for (const TensorId input : graph.op(graph.tensor(id).producer).inputs)
      pending.push_back(input);
  }
  return ops.size();
}

TEST_CASE("TFLite WHILE: a round's condition does not compute the rounds before it again") {
  Loop model(20, true);
  size_t most = 0;
  const auto fold = [&](Graph& graph, const std::vector<TensorId>& tensors) {
    most = std::max(most, OpsBehind(graph, tensors));
    return FoldWithPortableKernels(graph, tensors);
  };
  CHECK(ImportBytes(model.File(), {}, fold).ok());
  CHECK(most == 1);
}

TEST_CASE("TFLite WHILE: without an end, or with one that is computed, it is refused") {
  CHECK(Loop(1 << 30, true).Text().find("more than 1024 rounds") != std::string::npos);
  CHECK(Loop(3, false).Text().find("--freeze most=FILE.npy") != std::string::npos);
}

}  // namespace
}  // namespace tenon::converter::test
