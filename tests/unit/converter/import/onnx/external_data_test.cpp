// Weights that lie in files beside the model.
#include <doctest/doctest.h>

#include <cstring>
#include <fstream>

#include "converter/ir/text.hpp"
#include "tests/unit/converter/import/onnx/evaluate.hpp"
#include "tests/unit/converter/import/onnx/model_builder.hpp"

namespace tenon::converter::test {
namespace {

struct External {
  std::string location = "weights.bin";
  std::string offset = "4";
  std::string length = "8";
};

/// y = x + w with w = {2, 3} stored in `folder`/weights.bin after another number.
std::string ImportWith(const External& external, const TempFolder& folder) {
  const float numbers[] = {1, 2, 3};
  std::ofstream(folder.path() / "weights.bin", std::ios::binary)
      .write(reinterpret_cast<const char*>(numbers), sizeof numbers);
  auto model = ModelBuilder(13).Input("x", {2}).Node("Add", {"x", "w"}, {"y"}).Output("y");
  model.Floats("w", {2}, {});
  auto& tensor = *model.graph().mutable_initializer(0);
  tensor.set_data_location(onnx::TensorProto::EXTERNAL);
  const auto add = [&](const char* key, const std::string& value) {
    if (value.empty()) return;
    auto& entry = *tensor.add_external_data();
    entry.set_key(key);
    entry.set_value(value);
  };
  add("location", external.location);
  add("offset", external.offset);
  add("length", external.length);
  const auto path = folder.path() / "model.onnx";
  model.Save(path);
  const auto graph = ImportOnnx(path, {}, FoldWithPortableKernels);
  return graph.ok() ? PrintGraph(*graph) : ErrorText(graph.error(), path);
}

}  // namespace

TEST_CASE("External data: is read from its offset") {
  const TempFolder folder;

  CHECK(ImportWith({}, folder).find("const %w: f32[2] = [2, 3]") != std::string::npos);
}

TEST_CASE("External data: offset and length may be left out") {
  const TempFolder folder;

  const std::string text = ImportWith({"weights.bin", "", ""}, folder);

  CHECK(text.find("const %w: f32[2] = [1, 2]") != std::string::npos);
}

TEST_CASE("External data: a missing file is named") {
  const TempFolder folder;

  CHECK(ImportWith({"other.bin", "0", "8"}, folder) ==
        "error: initialiser 'w': external data file 'other.bin' is missing");
}

TEST_CASE("External data: data beyond the end of the file is refused") {
  const TempFolder folder;

  CHECK(ImportWith({"weights.bin", "8", "8"}, folder) ==
        "error: initialiser 'w': wrong data size: 8 bytes wanted, external data file "
        "'weights.bin' has 4 from offset 8 (length 8)");
  CHECK(ImportWith({"weights.bin", "18446744073709551615", "8"}, folder)
            .starts_with("error: initialiser 'w': wrong data size"));
}

TEST_CASE("External data: a length that is not the tensor's is refused") {
  const TempFolder folder;

  CHECK(ImportWith({"weights.bin", "0", "12"}, folder)
            .starts_with("error: initialiser 'w': wrong data size: 8 bytes wanted"));
}

TEST_CASE("External data: an offset that is no number is refused") {
  const TempFolder folder;

  CHECK(ImportWith({"weights.bin", "-4", "8"}, folder) ==
        "error: initialiser 'w': external data has the bad offset or length '-4'");
}

TEST_CASE("External data: absolute paths and paths that climb are refused") {
  const TempFolder folder;
  const std::string inside = (folder.path() / "weights.bin").string();

  for (const std::string& location : {inside, std::string("../weights.bin"),
                                      std::string("a/../../weights.bin"), std::string("")}) {
    CAPTURE(location);
    CHECK(ImportWith({location, "0", "8"}, folder).ends_with("' is not inside the model's folder"));
  }
}

TEST_CASE("External data: a link that leads out of the folder is refused") {
  const TempFolder outside;
  const TempFolder folder;
  std::ofstream(outside.path() / "secret.bin") << "12345678";
  std::filesystem::create_symlink(outside.path() / "secret.bin", folder.path() / "link.bin");

  CHECK(ImportWith({"link.bin", "0", "8"}, folder) ==
        "error: initialiser 'w': external data 'link.bin' is not inside the model's folder");
}

TEST_CASE("External data: a device or pipe is not read") {
  const TempFolder folder;
  std::filesystem::create_symlink("/dev/zero", folder.path() / "zero.bin");

  CHECK(ImportWith({"zero.bin", "0", "8"}, folder).starts_with("error: initialiser 'w'"));
}

}  // namespace tenon::converter::test
