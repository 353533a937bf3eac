// The TFLite models of the shared folder, converted and run: integers against the bits of TFLite's
// reference kernels on the stored inputs, floats against the stored outputs.
#include <doctest/doctest.h>

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "converter/ir/elements.hpp"
#include "runtime/format/plan_view.hpp"
#include "runtime/ops/op_kind.hpp"
#include "tests/support/convert_and_run.hpp"
#include "tests/support/shared_folder.hpp"

namespace tenon::test {
namespace {

struct TfliteModel {
  const char* file;
  const char* input;
  const char* output;
  /// Integers: FNV-1a of the bytes that TFLite's reference kernels give (LiteRT 2.3, BUILTIN_REF;
  /// litert_test.py compares with them live). 0: floats, within 1e-4 of the stored output.
  uint64_t reference;
};

constexpr TfliteModel kTfliteModels[] = {
    {"mlperf_resnet8_cifar10/resnet8_float.tflite", "resnet8_float.input_0.npy",
     "resnet8_float.output_0.npy", 0},
    {"mlperf_ad01_autoencoder/ad01_float.tflite", "ad01_float.input_0.npy",
     "ad01_float.output_0.npy", 0},
    {"kwt1_transformer/kwt1_float.tflite", "model.input_0.npy", "model.output_0.npy", 0},
    {"mlperf_kws_dscnn/kws_int8.tflite", "kws_int8.input_0.npy", "kws_int8.output_0.npy",
     0xce5922fd39c24451},
    {"mlperf_resnet8_cifar10/resnet8_int8.tflite", "resnet8_int8.input_0.npy",
     "resnet8_int8.output_0.npy", 0x9c5005c550c8a0bb},
    {"mlperf_ad01_autoencoder/ad01_int8.tflite", "ad01_int8.input_0.npy", "ad01_int8.output_0.npy",
     0x99b0ef7cbee2c662},
    {"mobilenet_v2_224/model_ptq_uint8io.tflite", "model_ptq_uint8io.input_0.npy",
     "model_ptq_uint8io.output_0.npy", 0x77aef939177918e9},
    // Weights in int8, everything else in floats: what the model of floats computes.
    {"mlperf_kws_dscnn/kws_dynrange.tflite", "model_fp32.input_0.npy", "model_fp32.output_0.npy",
     0},
};

/// A .npy file of format 1.0.
struct Array {
  DType dtype = DType::kF32;
  std::vector<std::byte> bytes;
};

Array ReadArray(const std::filesystem::path& path) {
  std::ifstream stream(path, std::ios::binary);
  const std::string file(std::istreambuf_iterator<char>(stream), {});
  REQUIRE(file.size() > 10);
  const size_t header =
      10 + static_cast<unsigned char>(file[8]) + 256U * static_cast<unsigned char>(file[9]);
  REQUIRE(file.size() > header);
  const std::string description = file.substr(0, header);
  Array array;
  if (description.find("'|i1'") != std::string::npos) array.dtype = DType::kI8;
  if (description.find("'|u1'") != std::string::npos) array.dtype = DType::kU8;
  for (size_t i = header; i < file.size(); ++i) {
    array.bytes.push_back(static_cast<std::byte>(file[i]));
  }
  return array;
}

std::vector<double> Values(DType dtype, const std::vector<std::byte>& bytes) {
  const auto size = static_cast<size_t>(DTypeBytes(dtype));
  std::vector<double> values;
  for (size_t i = 0; i < bytes.size(); i += size) {
    values.push_back(converter::ReadElement(dtype, bytes.data() + i));
  }
  return values;
}

uint64_t Fnv1a(const std::vector<std::byte>& bytes) {
  uint64_t hash = 0xcbf29ce484222325U;
  for (const std::byte byte : bytes) {
    hash = (hash ^ static_cast<uint64_t>(byte)) * 0x100000001b3U;
  }
  return hash;
}

void CheckFloats(const std::vector<double>& actual, const std::vector<double>& expected) {
  REQUIRE(actual.size() == expected.size());
  double largest = 1.0;
  double worst = 0.0;
  for (size_t i = 0; i < expected.size(); ++i) {
    largest = std::max(largest, std::abs(expected[i]));
    worst = std::max(worst, std::abs(actual[i] - expected[i]));
  }
  CHECK(worst <= 1e-4 * largest);
}

TEST_CASE(
    "TFLite models: integers have the reference kernels' bits, floats agree, portable and fast") {
  const std::filesystem::path models = SharedPath("models");
  if (models.empty()) return;
  for (const TfliteModel& model : kTfliteModels) {
    const std::filesystem::path path = models / model.file;
    CAPTURE(model.file);
    converter::ConvertOptions options = OptionsFor();
    options.model = path;
    const Array input = ReadArray(path.parent_path() / model.input);
    const Array expected = ReadArray(path.parent_path() / model.output);
    for (const bool portable : {false, true}) {
      CAPTURE(portable);
      options.board.units[0].portable_kernels_only = portable;
      const auto conversion = converter::Convert(options);
      REQUIRE_MESSAGE(conversion.ok(), conversion.error().message);
      const RunResult result = RunPlan(conversion->plan, {input.bytes}, {portable, 2});
      REQUIRE_MESSAGE(result.error.empty(), result.error);
      if (model.reference != 0) {
        CHECK(result.outputs[0].size() == expected.bytes.size());
        CHECK(Fnv1a(result.outputs[0]) == model.reference);
      } else {
        CheckFloats(Values(expected.dtype, result.outputs[0]),
                    Values(expected.dtype, expected.bytes));
      }
    }
  }
}

/// Ops of a plan that only move elements.
size_t Moves(const std::vector<uint8_t>& plan) {
  const PlanBytes bytes(plan);
  const auto view = PlanView::Open({static_cast<const uint8_t*>(bytes.data()), bytes.size()});
  REQUIRE(view.ok());
  const ProgramView program = view->program(0);
  REQUIRE(program.op_count() > 0);
  size_t count = 0;
  for (size_t i = 0; i < program.op_count(); ++i) {
    const auto kind = static_cast<OpKind>(program.op(i).kind);
    if (kind == OpKind::kCopy || kind == OpKind::kTranspose || kind == OpKind::kReshape) ++count;
  }
  return count;
}

TEST_CASE("TFLite models: images stay channels last from input to output, nothing is moved") {
  const std::filesystem::path models = SharedPath("models");
  if (models.empty()) return;
  for (const char* file :
       {"mlperf_resnet8_cifar10/resnet8_float.tflite", "mlperf_resnet8_cifar10/resnet8_int8.tflite",
        "mlperf_kws_dscnn/kws_int8.tflite", "mobilenet_v2_224/model_ptq_uint8io.tflite"}) {
    CAPTURE(file);
    converter::ConvertOptions options = OptionsFor();
    options.model = models / file;
    const auto conversion = converter::Convert(options);
    REQUIRE_MESSAGE(conversion.ok(), conversion.error().message);
    CAPTURE(conversion->graph_text);
    CHECK(Moves(conversion->plan) == 0);
  }
}

}  // namespace
}  // namespace tenon::test
