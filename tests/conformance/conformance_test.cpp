// Every ONNX operator test of the shared folder: either it passes, or the importer refuses the
// model with a reason. A wrong result is a failure, always.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <regex>
#include <set>
#include <string>
#include <vector>

#include "tests/conformance/tensor_file.hpp"
#include "tests/support/convert_and_run.hpp"
#include "tests/support/shared_folder.hpp"

namespace tenon::test {
namespace {

namespace fs = std::filesystem;

/// Cases whose stored result is not what the operator's definition says, with the reason. One that
/// passes after all fails the test: then it must leave this list.
const std::map<std::string, std::string> kExpectedDifferences = {
    {"test_cast_FLOAT_to_BFLOAT16", "the file truncates, the definition rounds to nearest even"},
    {"test_castlike_FLOAT_to_BFLOAT16", "the file truncates, the definition rounds"},
    {"test_castlike_FLOAT_to_BFLOAT16_expanded", "the file truncates, the definition rounds"},
};

enum class Outcome { kPassed, kRefused, kWrong, kSkipped };

struct CaseResult {
  Outcome outcome = Outcome::kSkipped;
  std::string detail;
};

struct Case {
  fs::path model;
  std::vector<std::string> input_names;
  std::vector<TensorFile> inputs;
  std::vector<TensorFile> outputs;
};

/// Nothing if the case has operands that are no tensors (sequences, optionals, strings).
std::optional<Case> LoadCase(const fs::path& folder) {
  Case result;
  result.model = folder / "model.onnx";
  result.input_names = ModelInputNames(result.model);
  const fs::path data = folder / "test_data_set_0";
  for (int i = 0; fs::exists(data / ("input_" + std::to_string(i) + ".pb")); ++i) {
    auto tensor = ReadTensorFile(data / ("input_" + std::to_string(i) + ".pb"));
    if (!tensor.has_value()) return std::nullopt;
    result.inputs.push_back(std::move(*tensor));
  }
  for (int i = 0; fs::exists(data / ("output_" + std::to_string(i) + ".pb")); ++i) {
    auto tensor = ReadTensorFile(data / ("output_" + std::to_string(i) + ".pb"));
    if (!tensor.has_value()) return std::nullopt;
    result.outputs.push_back(std::move(*tensor));
  }
  if (result.inputs.size() != result.input_names.size() || result.outputs.empty()) {
    return std::nullopt;
  }
  return result;
}

/// Which inputs become constants in the n-th attempt: none; integers (shapes, axes, sizes) but the
/// first; all small tensors but the first; all but the first; all.
bool FrozenInAttempt(int attempt, size_t index, const TensorFile& input) {
  if (attempt == 4) return true;
  if (attempt == 0 || index == 0) return false;
  const bool integer = input.value.dtype == DType::kI64 || input.value.dtype == DType::kI32;
  if (attempt == 1) return integer;
  if (attempt == 2) return integer || input.value.shape.Elements() <= 8;
  return true;
}
constexpr int kAttempts = 5;

/// NonMaxSuppression here has as many rows as could be taken: those behind the expected ones must
/// be -1, and are cut off.
std::vector<std::byte> WithoutUnusedRows(std::vector<std::byte> got, const TensorFile& expected) {
  const size_t size = expected.value.bytes.size();
  const bool is_longer = expected.value.dtype == DType::kI64 && got.size() > size;
  const bool is_unused =
      is_longer && std::all_of(got.begin() + static_cast<ptrdiff_t>(size), got.end(),
                               [](std::byte byte) { return byte == std::byte{0xFF}; });
  if (is_unused) got.resize(size);
  return got;
}

bool SameValues(const std::vector<std::byte>& got, const TensorFile& expected, std::string& why) {
  if (got.size() != expected.value.bytes.size()) {
    why = "output has " + std::to_string(got.size()) + " bytes, expected " +
          std::to_string(expected.value.bytes.size());
    return false;
  }
  if (expected.value.dtype != DType::kF32 && expected.value.dtype != DType::kF64) {
    if (got == expected.value.bytes) return true;
    if (expected.value.dtype != DType::kF16 && expected.value.dtype != DType::kBf16) {
      why = "bytes differ";
      return false;
    }
  }
  const auto element = static_cast<size_t>(DTypeBytes(expected.value.dtype));
  const auto value = [&](const std::vector<std::byte>& bytes, size_t at) -> double {
    if (element == 8) {
      double result = 0;
      std::memcpy(&result, bytes.data() + at, 8);
      return result;
    }
    if (element == 2) {
      uint16_t half = 0;
      std::memcpy(&half, bytes.data() + at, 2);
      if (expected.value.dtype == DType::kBf16) {
        const uint32_t wide = static_cast<uint32_t>(half) << 16;
        float widened = 0;
        std::memcpy(&widened, &wide, 4);
        return static_cast<double>(widened);
      }
      if ((half & 0x7C00) == 0x7C00) {
        const double infinity = (half & 0x8000) != 0 ? -INFINITY : INFINITY;
        return (half & 1023) != 0 ? NAN : infinity;
      }
      const double magnitude = (half & 0x7C00) == 0
                                   ? std::ldexp(half & 1023, -24)
                                   : std::ldexp((half & 1023) + 1024, ((half >> 10) & 31) - 25);
      return (half & 0x8000) != 0 ? -magnitude : magnitude;
    }
    float result = 0;
    std::memcpy(&result, bytes.data() + at, 4);
    return static_cast<double>(result);
  };
  double largest = 0;
  for (size_t at = 0; at < got.size(); at += element) {
    const double wanted = std::abs(value(expected.value.bytes, at));
    if (std::isfinite(wanted)) largest = std::max(largest, wanted);
  }
  const double tolerance = (element == 2 ? 1e-3 : 1e-5) + (element == 2 ? 1e-3 : 1e-4) * largest;
  for (size_t at = 0; at < got.size(); at += element) {
    const double x = value(got, at);
    const double y = value(expected.value.bytes, at);
    if (x == y || (std::isnan(x) && std::isnan(y))) continue;
    if (std::abs(x - y) <= tolerance) continue;
    why = "element " + std::to_string(at / element) + ": got " + std::to_string(x) + ", expected " +
          std::to_string(y);
    return false;
  }
  return true;
}

CaseResult RunOnce(const Case& test, const converter::Conversion& conversion,
                   const std::vector<std::vector<std::byte>>& inputs, bool portable) {
  RunSettings settings;
  settings.portable = portable;
  const RunResult run = RunPlan(conversion.plan, inputs, settings);
  if (!run.error.empty()) return {Outcome::kWrong, "run: " + run.error};
  if (run.outputs.size() != test.outputs.size()) return {Outcome::kWrong, "number of outputs"};
  for (size_t i = 0; i < run.outputs.size(); ++i) {
    std::string why;
    std::vector<std::byte> got = run.outputs[i];
    if (test.model.string().find("nonmaxsuppression") != std::string::npos) {
      got = WithoutUnusedRows(std::move(got), test.outputs[i]);
    }
    if (!SameValues(got, test.outputs[i], why)) {
      return {Outcome::kWrong, std::string(portable ? "portable: " : "") + why};
    }
  }
  return {Outcome::kPassed, ""};
}

CaseResult RunCase(const fs::path& folder) {
  const std::optional<Case> test = LoadCase(folder);
  if (!test.has_value()) return {Outcome::kSkipped, "operands that are no tensors"};
  std::string refusal;
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    converter::ConvertOptions options = OptionsFor();
    options.model = test->model;
    std::vector<std::vector<std::byte>> inputs;
    for (size_t i = 0; i < test->inputs.size(); ++i) {
      if (FrozenInAttempt(attempt, i, test->inputs[i])) {
        options.import.freeze[test->input_names[i]] = test->inputs[i].value;
      } else {
        inputs.push_back(test->inputs[i].value.bytes);
      }
    }
    const converter::Result<converter::Conversion> conversion = converter::Convert(options);
    if (!conversion.ok()) {
      if (conversion.error().kind == converter::ErrorKind::kInternal) {
        return {Outcome::kWrong, "internal error: " + conversion.error().message};
      }
      refusal = conversion.error().message;
      for (const std::string& detail : conversion.error().details) refusal += "; " + detail;
      continue;
    }
    const CaseResult result = RunOnce(*test, *conversion, inputs, /*portable=*/false);
    if (result.outcome != Outcome::kPassed) return result;
    return RunOnce(*test, *conversion, inputs, /*portable=*/true);
  }
  return {Outcome::kRefused, refusal};
}

/// Rows of the table of refusals in docs/results-operators.md: number of cases by what their names
/// begin with (after "test_").
std::map<std::string, size_t> RefusalsInDocs() {
  const char* source = std::getenv("TENON_SOURCE_DIR");
  std::ifstream page(fs::path(source == nullptr ? "." : source) / "docs/results-operators.md");
  const std::regex row(R"(\| `(\w+)` \| (\d+) \| .+ \|)");
  std::map<std::string, size_t> rows;
  std::smatch found;
  for (std::string line; std::getline(page, line);) {
    if (std::regex_match(line, found, row)) rows[found[1]] = std::stoul(found[2]);
  }
  return rows;
}

/// Every refused case is in one row, and the rows have as many as they say.
void CheckRefusals(const std::vector<std::string>& refused) {
  std::map<std::string, size_t> expected = RefusalsInDocs();
  CHECK(!expected.empty());
  for (const std::string& name : refused) {
    size_t rows = 0;
    for (auto& [prefix, count] : expected) {
      if (name.rfind("test_" + prefix, 0) != 0) continue;
      ++rows;
      --count;
    }
    CHECK_MESSAGE(rows == 1, name << " is in " << rows << " rows of docs/results-operators.md");
  }
  for (const auto& [prefix, left] : expected) CHECK_MESSAGE(left == 0, prefix);
}

/// Returns the names of the cases that were refused.
std::vector<std::string> RunFolder(const std::string& name, size_t at_least) {
  const fs::path folder = SharedPath("conformance/" + name);
  if (folder.empty()) return {};
  std::vector<std::string> refused;
  std::vector<fs::path> cases;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
    if (fs::exists(entry.path() / "model.onnx")) cases.push_back(entry.path());
  }
  std::sort(cases.begin(), cases.end());
  std::map<Outcome, size_t> counts;
  for (const fs::path& test : cases) {
    const CaseResult result = RunCase(test);
    const auto expected = kExpectedDifferences.find(test.filename().string());
    if (expected != kExpectedDifferences.end()) {
      MESSAGE(expected->first << " differs as expected: " << expected->second);
      CHECK(result.outcome == Outcome::kWrong);
      continue;
    }
    ++counts[result.outcome];
    if (result.outcome == Outcome::kWrong) {
      FAIL_CHECK(test.filename().string() << ": " << result.detail);
    }
    if (result.outcome == Outcome::kRefused) refused.push_back(test.filename().string());
    if (result.outcome == Outcome::kRefused && std::getenv("TENON_VERBOSE") != nullptr) {
      MESSAGE(test.filename().string() << " refused: " << result.detail);
    }
  }
  MESSAGE(name << ": " << counts[Outcome::kPassed] << " passed, " << counts[Outcome::kRefused]
               << " refused with a reason, " << counts[Outcome::kSkipped]
               << " skipped (operands that are no tensors), " << counts[Outcome::kWrong]
               << " wrong");
  // What passes today must pass tomorrow.
  CHECK(counts[Outcome::kPassed] >= at_least);
  return refused;
}

/// Every case whose name has one of these words, none left out.
void RunQuantized() {
  const fs::path folder = SharedPath("conformance/node");
  if (folder.empty()) return;
  size_t cases = 0;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
    const std::string name = entry.path().filename().string();
    const auto has = [&](const char* word) { return name.find(word) != std::string::npos; };
    if (!has("quantize") && !has("qlinear") && !has("integer")) continue;
    const CaseResult result = RunCase(entry.path());
    CHECK_MESSAGE(result.outcome == Outcome::kPassed, name << ": " << result.detail);
    ++cases;
  }
  CHECK(cases >= 17);
}

}  // namespace
}  // namespace tenon::test

TEST_CASE("Conformance: every test of a quantized operator passes") { tenon::test::RunQuantized(); }

TEST_CASE("Conformance: operator tests pass or are refused, none gives a wrong result") {
  const std::vector<std::string> refused = tenon::test::RunFolder("node", 853);
  if (!refused.empty()) tenon::test::CheckRefusals(refused);
}

TEST_CASE("Conformance: simple models pass or are refused, none gives a wrong result") {
  tenon::test::RunFolder("simple", 7);
}

TEST_CASE("Conformance: operators exported from PyTorch pass or are refused") {
  tenon::test::RunFolder("pytorch-operator", 35);
}

TEST_CASE("Conformance: models exported from PyTorch pass or are refused") {
  tenon::test::RunFolder("pytorch-converted", 69);
}
