// Models through a whole conversion, with options that the first bytes choose: it is refused in
// words, or the plan passes the check, can be inspected and emitted, and runs in the memory that it
// asks for.
#define DOCTEST_CONFIG_IMPLEMENT
#include "tests/fuzz/plan_attempt.hpp"
#include "tests/fuzz/targets/abort_on_check.hpp"
#include "tests/fuzz/targets/convert_options.hpp"
#include "tests/fuzz/targets/fuzz_file.hpp"
#include "tests/fuzz/targets/model_changes.hpp"

namespace {

using tenon::ConvertError;
using tenon::ConvertRequest;
using tenon::fuzz::AbortWith;
using tenon::fuzz::kOptionBytes;

/// Ends the program unless an error is one of what the user gave.
void CheckRefusal(const char* what, const ConvertError& error) {
  if (error.kind != ConvertError::Kind::kInternal && error.kind != ConvertError::Kind::kBackend) {
    return;
  }
  AbortWith(std::string(what) + ": " + error.message);
}

/// True if the CPU of any machine runs all of the board's plans.
bool IsRunByCpu(const ConvertRequest& request) {
  if (!request.input_from.empty() && request.input_from[0].second != "memory") return false;
  return request.board.find("cortex") == 0 || request.board == "x86-64-avx2" ||
         request.board == "npu-3unit";
}

/// True if the inputs, which hold any bytes, name a place that a tensor does not have.
bool IsOfPlaces(const tenon::test::Outcome& outcome) {
  if (!outcome.loaded || outcome.status != TENON_INVALID_ARGUMENT) return false;
  return outcome.error.find(": index ") != std::string::npos ||
         outcome.error.find(": there is no box ") != std::string::npos;
}

void Run(const std::vector<uint8_t>& plan, const ConvertRequest& request) {
  if (!IsRunByCpu(request)) return;
  const tenon::test::Outcome outcome = tenon::test::Attempt(plan, tenon_backend_cpu()).Run(7);
  if (outcome.status == TENON_OK || outcome.status == TENON_FAILED_PRECONDITION) return;
  if (IsOfPlaces(outcome)) return;
  AbortWith("the plan does not run: " + outcome.error);
}

}  // namespace

extern "C" int LLVMFuzzerInitialize(int*, char***) {
  tenon::fuzz::AbortOnFailedChecks();
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t bytes) {
  if (bytes <= kOptionBytes) return 0;
  const uint8_t* model = data + kOptionBytes;
  const size_t model_bytes = bytes - kOptionBytes;
  onnx::ModelProto parsed;  // nothing where it is no model
  (void)parsed.ParseFromArray(model, static_cast<int>(model_bytes));
  const tenon::fuzz::FuzzFile file(model, model_bytes);
  ConvertRequest request = tenon::fuzz::RequestOf(data, parsed.graph());
  request.model = file.path();
  const auto converted = tenon::Convert(request);
  if (!converted) {
    CheckRefusal("convert", converted.error());
    return 0;
  }
  const auto recorded = tenon::RecordDecisions(converted->bytes, converted->decisions_json);
  if (!recorded) AbortWith("the record: " + recorded.error().message);
  const auto inspection = tenon::InspectPlan(*recorded);
  if (!inspection) AbortWith("the converter's own plan: " + inspection.error().message);
  const auto source = tenon::EmitCSource(converted->bytes, "net", "net.h");
  if (!source) CheckRefusal("emit", source.error());
  Run(converted->bytes, request);
  return 0;
}

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t bytes, size_t most, unsigned seed) {
  std::mt19937 random(seed);
  if (bytes <= kOptionBytes || most <= kOptionBytes) return LLVMFuzzerMutate(data, bytes, most);
  if (random() % 3 == 0) {
    for (size_t count = 1 + random() % 3; count > 0; --count) {
      data[random() % kOptionBytes] = static_cast<uint8_t>(random() % 2 == 0 ? 0 : random());
    }
    if (random() % 2 == 0) return bytes;
  }
  return kOptionBytes + tenon::fuzz::ChangeModel(data + kOptionBytes, bytes - kOptionBytes,
                                                 most - kOptionBytes, random);
}

/// Both graphs in one, with the options of the first.
extern "C" size_t LLVMFuzzerCustomCrossOver(const uint8_t* first, size_t first_bytes,
                                            const uint8_t* second, size_t second_bytes,
                                            uint8_t* out, size_t most, unsigned seed) {
  std::mt19937 random(seed);
  if (std::min({first_bytes, second_bytes, most}) <= kOptionBytes) return 0;
  const size_t joined = tenon::fuzz::JoinModels(first + kOptionBytes, first_bytes - kOptionBytes,
                                                second + kOptionBytes, second_bytes - kOptionBytes,
                                                out + kOptionBytes, most - kOptionBytes, random);
  std::memcpy(out, first, kOptionBytes);
  return joined > 0 ? kOptionBytes + joined : 0;
}
