// The converter from a program: what a request's options do.
#include <doctest/doctest.h>

#include <cstdlib>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>

#include "tenon/converter.hpp"
#include "tests/support/shared_folder.hpp"

namespace {

using tenon::ConvertError;
using tenon::ConvertRequest;

ConvertRequest Digits() {
  const char* root = std::getenv("TENON_SOURCE_DIR");
  ConvertRequest request;
  request.model =
      (std::filesystem::path(root != nullptr ? root : ".") / "sdk/models/digits" / "digits.onnx")
          .string();
  request.board = "x86-64";
  request.batch = 1;
  return request;
}

nlohmann::json DecisionsOf(const ConvertRequest& request) {
  const auto converted = tenon::Convert(request);
  REQUIRE_MESSAGE(converted, converted.error().message);
  return nlohmann::json::parse(converted->decisions_json);
}

ConvertError ErrorOf(const ConvertRequest& request) {
  const auto converted = tenon::Convert(request);
  REQUIRE_FALSE(converted);
  return converted.error();
}

TEST_CASE("A request's order, seed and budget are those of the conversion") {
  ConvertRequest request = Digits();
  request.seed = 77;
  request.order = ConvertRequest::Order::kSource;
  CHECK(DecisionsOf(request)["order"]["mode"] == "source");
  request.order = ConvertRequest::Order::kRandom;
  const auto random = DecisionsOf(request);
  CHECK(random["order"]["mode"] == "random");
  CHECK(random["order"]["seed"] == 77);
  request.order = ConvertRequest::Order::kSearch;
  CHECK(DecisionsOf(request)["order"]["mode"] == "search");
  request.order_budget = -1;
  CHECK(ErrorOf(request).kind == ConvertError::Kind::kUsage);
}

TEST_CASE("A request with samples makes the model compute with integers") {
  ConvertRequest request = Digits();
  ConvertRequest::Constant samples{"f32", {4, 1, 8, 8}, {}};
  for (int i = 0; i < 4 * 64; ++i) {
    const float value = static_cast<float>(i * 37 % 64) / 64;
    const auto* bytes = reinterpret_cast<const std::byte*>(&value);
    samples.bytes.insert(samples.bytes.end(), bytes, bytes + sizeof value);
  }
  request.quantize.emplace();
  request.quantize->samples["images"] = samples;
  request.quantize->keep = {"dense"};
  const auto decisions = DecisionsOf(request);
  CHECK(decisions["quantization"]["samples"] == 4);
  CHECK(decisions["quantization"]["integer_layers"] == 3);
  CHECK(DecisionsOf(Digits())["quantization"].is_null());
  request.quantize->ranges = "wide";
  CHECK(ErrorOf(request).kind == ConvertError::Kind::kUsage);
  request.quantize->ranges = "mse";
  request.quantize->samples["images"].bytes.resize(8);
  CHECK(ErrorOf(request).kind == ConvertError::Kind::kUsage);
}

TEST_CASE("The graph is searched part by part unless the request says no") {
  const auto model = tenon::test::SharedPath("models/squeezenet1.1/model_fp32.onnx");
  if (model.empty()) return;
  ConvertRequest request = Digits();
  request.model = model.string();
  request.batch = 0;
  CHECK(DecisionsOf(request)["order"]["subgraphs"].size() > 1);
  request.key_nodes = false;
  CHECK(DecisionsOf(request)["order"]["subgraphs"].size() == 1);
}

TEST_CASE("What does not fit is split, or refused without splits") {
  ConvertRequest request = Digits();
  request.memory_limits["ram"] = 20 * 1024;
  CHECK_FALSE(DecisionsOf(request)["splits"].empty());
  request.split = false;
  CHECK(ErrorOf(request).kind == ConvertError::Kind::kDoesNotFit);
}

TEST_CASE("The memory objective gives a smaller arena than the latency objective") {
  ConvertRequest request = Digits();
  const auto fast = DecisionsOf(request);
  request.objective = ConvertRequest::Objective::kMemory;
  const auto small = DecisionsOf(request);
  CHECK(small["predicted"]["peak_bytes"]["ram"] < fast["predicted"]["peak_bytes"]["ram"]);
}

TEST_CASE("A frozen input becomes a constant of the plan") {
  ConvertRequest request = Digits();
  request.batch = 0;  // the only input's first dimension is no longer free
  request.freeze["image"] = {"f32", {1, 1, 8, 8}, std::vector<std::byte>(256)};
  // Everything depends on it: all is folded, and next to nothing is left to run.
  const auto frozen = DecisionsOf(request);
  CHECK(frozen["ops"]["executed"] < DecisionsOf(Digits())["ops"]["executed"]);
}

TEST_CASE("A frozen constant that cannot be is refused by its input's name") {
  const std::vector<std::byte> bytes(256);
  for (const auto& [name, constant] : std::map<std::string, ConvertRequest::Constant>{
           {"image", {"float", {1, 1, 8, 8}, bytes}},
           {"none such", {"f32", {1, 1, 8, 8}, bytes}}}) {
    ConvertRequest request = Digits();
    request.batch = 0;
    request.freeze[name] = constant;
    const ConvertError error = ErrorOf(request);
    CHECK(error.kind == ConvertError::Kind::kUsage);
    CHECK(error.message.find(name) != std::string::npos);
  }
  for (const ConvertRequest::Constant& constant :
       std::vector<ConvertRequest::Constant>{{"i32", {1, 1, 8, 8}, bytes},
                                             {"f32", {1, 1, 64}, bytes},
                                             {"f32", {1, 1, 8, -8}, bytes},
                                             {"f32", {1, 1, 8, int64_t{1} << 40}, bytes},
                                             {"f32", std::vector<int64_t>(40, 1), bytes},
                                             {"f32", {1, 1, 8, 8}, std::vector<std::byte>(255)}}) {
    ConvertRequest request = Digits();
    request.batch = 0;
    request.freeze["image"] = constant;
    CHECK(ErrorOf(request).kind == ConvertError::Kind::kUsage);
  }
}

TEST_CASE("A profile that cannot be read is refused by its name") {
  ConvertRequest request = Digits();
  request.profile = "no-such-profile.json";
  const ConvertError error = ErrorOf(request);
  CHECK(error.kind == ConvertError::Kind::kInput);
  CHECK(error.message.find("no-such-profile.json") != std::string::npos);
}

}  // namespace
