#include "sdk/tools/self_test.hpp"

#include <iostream>
#include <nlohmann/json.hpp>

#include "converter/json_text.hpp"
#include "sdk/tools/files.hpp"
#include "sdk/tools/terminal_line.hpp"
#include "sdk/tools/tool.hpp"

namespace tenon::tool {
namespace {

void PrintMemory(const TestedBackend& backend) {
  std::cout << fmt::format("  memory  {} bytes, both polarities: ", backend.memory_bytes);
  if (backend.wrong_bytes == 0) {
    std::cout << "right";
  } else {
    std::cout << fmt::format("{} wrong, the first at {}", backend.wrong_bytes, backend.first_wrong);
  }
  std::cout << fmt::format("; written with {:.2f}, read with {:.2f} GB/s\n",
                           backend.write_bytes_per_s / 1e9, backend.read_bytes_per_s / 1e9);
}

void PrintOps(const TestedOps& kind) {
  std::cout << fmt::format("  {:<24} {:>3} right", kind.kind, kind.right);
  if (kind.wrong > 0) std::cout << fmt::format(", {} WRONG", kind.wrong);
  if (kind.failed > 0) std::cout << fmt::format(", {} FAILED", kind.failed);
  if (kind.elsewhere > 0) std::cout << fmt::format(", {} elsewhere", kind.elsewhere);
  if (kind.worst_error > 0) std::cout << fmt::format("; worst error {:.1e}", kind.worst_error);
  if (!kind.reason.empty()) std::cout << "; " << kind.reason;
  std::cout << '\n';
}

void Print(const TestedBackend& backend) {
  std::cout << fmt::format("{}: {}\n", backend.backend, backend.passed() ? "passed" : "FAILED");
  if (!backend.failure.empty()) {
    std::cout << "  " << backend.failure << '\n';
    return;
  }
  PrintMemory(backend);
  for (const TestedOps& kind : backend.ops) PrintOps(kind);
  for (const auto& [name, value] : backend.counters) {
    std::cout << fmt::format("  counter {:<28} {}\n", name, value);
  }
}

nlohmann::json ToJson(const TestedBackend& backend) {
  nlohmann::json ops = nlohmann::json::array();
  for (const TestedOps& kind : backend.ops) {
    ops.push_back({{"kind", kind.kind},
                   {"right", kind.right},
                   {"wrong", kind.wrong},
                   {"failed", kind.failed},
                   {"elsewhere", kind.elsewhere},
                   {"worst_error", kind.worst_error},
                   {"reason", kind.reason}});
  }
  nlohmann::json counters = nlohmann::json::object();
  for (const auto& [name, value] : backend.counters) counters[name] = value;
  return {{"backend", backend.backend},
          {"passed", backend.passed()},
          {"failure", backend.failure},
          {"memory",
           {{"bytes", backend.memory_bytes},
            {"wrong_bytes", backend.wrong_bytes},
            {"first_wrong", backend.first_wrong},
            {"write_bytes_per_s", backend.write_bytes_per_s},
            {"read_bytes_per_s", backend.read_bytes_per_s}}},
          {"ops", ops},
          {"counters", counters}};
}

}  // namespace

void RunSelfTest(const SelfTestRequest& given, const std::string& output, bool quiet) {
  SelfTestRequest request = given;
  TerminalLine line;
  if (!quiet) {
    request.progress = [&](const std::string& backend, const std::string& test, int index,
                           int count) {
      line.Show(fmt::format("[{} {}/{}] {}", backend, index + 1, count, test));
    };
  }
  const Outcome<std::vector<TestedBackend>> tested = SelfTest(request);
  line.Clear();
  if (!tested) FailWith(tested.error());
  nlohmann::json json = nlohmann::json::array();
  const TestedBackend* failed = nullptr;
  for (const TestedBackend& backend : *tested) {
    if (!quiet) Print(backend);
    json.push_back(ToJson(backend));
    if (!backend.passed() && failed == nullptr) failed = &backend;
  }
  if (!output.empty()) {
    WriteFile(output,
              JsonText(nlohmann::json{{"board", request.board}, {"backends", json}}) + "\n");
  }
  if (failed == nullptr) return;
  if (!failed->failure.empty()) Fail(kDeviceFailure, "{}", failed->failure);
  Fail(kNo, "backend '{}' failed its self-test", failed->backend);
}

}  // namespace tenon::tool
