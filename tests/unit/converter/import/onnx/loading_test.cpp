// What a model file may not be.
#include <doctest/doctest.h>

#include <fstream>
#include <stdexcept>

#include "converter/import/onnx/lowering.hpp"
#include "converter/import/value_names.hpp"
#include "tests/unit/converter/import/onnx/evaluate.hpp"
#include "tests/unit/converter/import/onnx/model_builder.hpp"

namespace tenon::converter::test {
namespace {

ModelBuilder ReluModel(int opset = 13) {
  return ModelBuilder(opset).Input("x", {2, 3}).Node("Relu", {"x"}, {"y"}).Output("y");
}

/// Text of the error of importing a file with this content.
std::string ErrorOf(const std::string& content) {
  const TempFolder folder;
  const auto path = folder.path() / "model.onnx";
  std::ofstream(path, std::ios::binary) << content;
  const auto graph = ImportOnnx(path, {}, FoldWithPortableKernels);
  if (graph.ok()) return "imported";
  CHECK(graph.error().kind == ErrorKind::kInput);
  return ErrorText(graph.error(), path);
}

}  // namespace

TEST_CASE("Loading: a missing file is named") {
  const auto graph = ImportOnnx("no/such/model.onnx", {}, FoldWithPortableKernels);

  REQUIRE(!graph.ok());
  CHECK(graph.error().kind == ErrorKind::kInput);
  CHECK(graph.error().message == "no/such/model.onnx: no such file");
}

TEST_CASE("Loading: a folder is refused") {
  const TempFolder folder;

  const auto graph = ImportOnnx(folder.path(), {}, FoldWithPortableKernels);

  REQUIRE(!graph.ok());
  CHECK(ErrorText(graph.error(), folder.path()) == "error: is a directory, a file is wanted");
}

TEST_CASE("Loading: an empty file is refused") { CHECK(ErrorOf("") == "error: the file is empty"); }

TEST_CASE("Loading: what is no protobuf is refused") {
  CHECK(ErrorOf("#!/bin/sh\nexit 1\n") ==
        "error: not an ONNX model, or cut short (malformed protobuf)");
}

TEST_CASE("Loading: a file cut short anywhere is refused, never a crash") {
  const std::string whole = ReluModel().Floats("w", {4}).proto.SerializeAsString();
  int refused = 0;
  for (size_t size = 1; size < whole.size(); ++size) {
    if (ErrorOf(whole.substr(0, size)) != "imported") ++refused;
  }
  // Only a cut between two fields at the end can leave a model that is whole.
  CHECK(refused >= static_cast<int>(whole.size()) - 3);
}

TEST_CASE("Loading: any byte may be wrong without a crash") {
  const std::string whole = ReluModel().Floats("w", {4}).proto.SerializeAsString();
  int imported = 0;
  for (size_t i = 0; i < whole.size(); ++i) {
    std::string broken = whole;
    broken[i] = static_cast<char>(broken[i] ^ 0x5A);
    if (ErrorOf(broken) == "imported") ++imported;
  }
  CHECK(imported < static_cast<int>(whole.size()));
}

TEST_CASE("Loading: all unsupported operators are named at once, with their nodes") {
  auto model = ReluModel();
  model.Node("Foo", {"y"}, {"a"}, "first").Node("Unique", {"a"}, {"b"}, "");
  model.Node("Foo", {"b"}, {"c"}, "second");
  model.graph().mutable_node(3)->set_domain("com.example");
  model.Node("Foo", {"c"}, {"d"}, "third");

  CHECK(model.Text() ==
        "error: the model uses 3 operators that cannot be converted\n"
        "unsupported op Foo (domain ai.onnx): first, third\n"
        "unsupported op Foo (domain com.example): second\n"
        "unsupported op Unique (domain ai.onnx): b");
}

TEST_CASE("Loading: a node without outputs is refused, of operator sets that libonnx lacks too") {
  for (const int opset : {13, 18}) {
    CAPTURE(opset);
    for (const char* op : {"Split", "Relu", "Constant"}) {
      auto model = ReluModel(opset);
      model.Node(op, {"x"}, {}, "mute");
      CHECK(model.Text() == fmt::format("error: node 'mute' ({}) has no outputs", op));
    }
  }
}

TEST_CASE("Loading: every refused node is reported, what follows from it is not") {
  auto model = ModelBuilder(13).Input("x", {2, 3});
  model.Node("Cast", {"x"}, {"a"}, "one").Set("to", 8).Node("Relu", {"a"}, {"b"}, "two");
  model.Node("Mod", {"x", "x"}, {"c"}, "three").Output("b").Output("c");

  CHECK(model.Text() ==
        "error: node 'one' (Cast): element type STRING is not supported\n"
        "node 'three' (Mod): fmod must be 1 for floats");
}

TEST_CASE("Loading: a newer operator set than known is refused with its version") {
  CHECK(ReluModel(kNewestOpset + 1).Text() ==
        "error: the model uses version 29 of the ONNX operator set; versions 1 to 28 are known "
        "(convert it with another opset_version)");
}

TEST_CASE("Loading: a newer operator set than libonnx knows is imported") {
  CHECK(ReluModel(kNewestOpset).Text() ==
        "input %x: f32[2,3]\n"
        "%y: f32[2,3] = unary(%x) {function=relu} \"n\"\n"
        "output %y\n");
}

TEST_CASE("Loading: an operator of a later operator set is refused by the checker") {
  auto model = ModelBuilder(13).Input("x", {2, 3}).Node("HardSwish", {"x"}, {"y"}).Output("y");

  CHECK(model.Text() ==
        "error: node 'n' (HardSwish): No Op registered for HardSwish with domain_version of 13");
}

TEST_CASE("Loading: a name that a hundred thousand values want is given with a suffix to each") {
  ValueNames names;
  names.Take("n_3");
  CHECK(names.Fresh("n") == "n");
  CHECK(names.Fresh("n") == "n_2");
  CHECK(names.Fresh("n") == "n_4");
  for (int i = 0; i < 99996; ++i) (void)names.Fresh("n");
  CHECK(names.Fresh("n") == "n_100001");
}

TEST_CASE("Loading: nodes in any order are sorted") {
  auto model = ModelBuilder(13).Input("x", {2}).Node("Relu", {"a"}, {"y"}, "second");
  model.Node("Abs", {"x"}, {"a"}, "first").Output("y");

  CHECK(model.Text() ==
        "input %x: f32[2]\n"
        "%a: f32[2] = unary(%x) {function=abs} \"first\"\n"
        "%y: f32[2] = unary(%a) {function=relu} \"second\"\n"
        "output %y\n");
}

TEST_CASE("Loading: a cycle is refused") {
  auto model = ModelBuilder(13).Input("x", {2}).Node("Add", {"x", "b"}, {"a"}, "first");
  model.Node("Relu", {"a"}, {"b"}, "second").Output("b");

  CHECK(model.Text() ==
        "error: the graph has a cycle through node 'first' (Add), or one before it");
}

TEST_CASE("Loading: a value with two producers is refused") {
  auto model = ReluModel();
  model.Node("Abs", {"x"}, {"y"}, "again");

  CHECK(model.Text() == "error: two producers of the value 'y', the second is node 'again' (Abs)");
}

TEST_CASE("Loading: a value that nothing makes is refused") {
  auto model = ModelBuilder(13).Input("x", {2}).Node("Add", {"x", "w"}, {"y"}).Output("y");

  CHECK(model.Text() == "error: node 'n' (Add): nothing makes its input 'w'");
}

TEST_CASE("Loading: an output that nothing makes is refused") {
  CHECK(ReluModel().Output("z").Text() == "error: nothing makes the graph output 'z'");
}

TEST_CASE("Loading: a model without outputs is refused") {
  CHECK(ModelBuilder(13).Input("x", {2}).Text() == "error: the graph has no outputs");
}

TEST_CASE("Loading: an initialiser with too few values is refused") {
  CHECK(ReluModel().Floats("w", {2, 2}, {1, 2, 3}).Text() ==
        "error: initialiser 'w': wrong data size: 3 values, its dims want 4");
}

TEST_CASE("Loading: an initialiser of absurd size is refused before anything is allocated") {
  CHECK(ReluModel().Floats("w", {1 << 20, 1000}, {1}).Text() ==
        "error: initialiser 'w': wrong data size: 1 values, its dims want 1048576000");
  CHECK(ReluModel().Floats("w", {int64_t{1} << 31}, {1}).Text() ==
        "error: initialiser 'w': dimension 0 is 2147483648, out of range");
  CHECK(ReluModel().Floats("w", {1 << 20, 1 << 20, 1 << 30}, {1}).Text() ==
        "error: initialiser 'w': 2^31 elements or more");
}

TEST_CASE("Loading: more than 8 dimensions are refused") {
  CHECK(ReluModel().Floats("w", {1, 1, 1, 1, 1, 1, 1, 1, 1}, {1}).Text() ==
        "error: initialiser 'w': 9 dimensions, at most 8 are supported");
}

TEST_CASE("Loading: a wrong attribute type is refused") {
  auto model = ModelBuilder(22).Input("x", {2, 3}).Node("Softmax", {"x"}, {"y"}).Output("y");
  model.Set("axis", 1.0F);

  CHECK(model.Text() == "error: node 'n' (Softmax): attribute 'axis' has the wrong type");
}

TEST_CASE("Loading: an attribute beyond 32 bits is refused") {
  auto model = ModelBuilder(13).Input("x", {1, 1, 2, 2}).Floats("w", {1, 1, 1, 1});
  model.Node("Conv", {"x", "w"}, {"y"}).Set("group", int64_t{1} << 40).Output("y");

  CHECK(model.Text().starts_with("error: node 'n' (Conv): "));
}

TEST_CASE("Loading: unnamed nodes are called after their first output") {
  auto model = ModelBuilder(13).Input("x", {2}).Node("Abs", {"x"}, {"a"}, "");
  model.Node("MatMul", {"a", "x"}, {"y"}, "").Output("y");

  const auto graph = model.Import();

  REQUIRE(graph.ok());
  std::vector<std::string> names;
  for (OpId op : graph->OpOrder()) names.push_back(graph->op(op).name);
  CHECK(names == std::vector<std::string>{"a", "y/reshape", "y/reshape_2", "y/matmul", "y"});
}

TEST_CASE("Loading: names made up here give way to the model's own") {
  auto model = ModelBuilder(13).Input("x", {2}).Node("MatMul", {"x", "x"}, {"y"});
  model.Node("Relu", {"x"}, {"n/reshape"}, "r").Output("y").Output("n/reshape");

  const auto graph = model.Import();

  REQUIRE(graph.ok());
  CHECK(graph->outputs()[1].name == "n/reshape");
  CHECK(graph->tensor(graph->outputs()[1].tensor).name == "n/reshape");
}

TEST_CASE("Loading: what the folder refuses or throws is the import's error") {
  auto model = ModelBuilder(13).Input("x", {4}).Ints("s", {2}).Node("Abs", {"s"}, {"t"}, "abs");
  model.Node("Reshape", {"x", "t"}, {"y"}).Output("y");
  const TempFolder folder;
  const auto path = folder.path() / "model.onnx";
  model.Save(path);
  const auto fails = [](Graph&, const std::vector<TensorId>&) -> Status {
    return InternalError("no kernel");
  };
  const auto throws = [](Graph&, const std::vector<TensorId>&) -> Status {
    throw std::runtime_error("thrown");
  };

  const auto failed = ImportOnnx(path, {}, fails);
  const auto thrown = ImportOnnx(path, {}, throws);

  REQUIRE(!failed.ok());
  CHECK(failed.error().message == "node 'n' (Reshape): no kernel");
  REQUIRE(!thrown.ok());
  CHECK(ErrorText(thrown.error(), path) == "error: thrown");
}

TEST_CASE("Loading: every operator of the table is found, in the default domain only") {
  CHECK(FindLowering("", "Abs") != nullptr);
  CHECK(FindLowering("ai.onnx", "Xor") != nullptr);
  CHECK(FindLowering("com.microsoft", "Abs") == nullptr);
  CHECK(FindLowering("", "Unique") == nullptr);
  CHECK(FindLowering("", "") == nullptr);
  CHECK(FindLowering("", "Zzz") == nullptr);
}

}  // namespace tenon::converter::test
