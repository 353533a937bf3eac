#include "converter/driver/kernel_list.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "converter/json_text.hpp"
#include "converter/map/backends.hpp"
#include "runtime/ops/kernel_caps.hpp"
#include "runtime/ops/op_kind.hpp"

namespace tenon::converter {
namespace {

constexpr OpKind kKinds[] = {
#define TENON_OP(Op, name, number) OpKind::k##Op,
#include "runtime/ops/ops.inc"
};

/// The last part of "cpu.conv.portable", without what stands before it.
std::string NameIn(const std::string& id) { return id.substr(id.rfind('.') + 1); }

std::vector<std::string> KernelsOf(const BackendCaps& backend, OpKind kind) {
  std::vector<std::string> names;
  for (const KernelCaps& caps : backend.kernels) {
    if (caps.kind != kind) continue;
    const std::string name = NameIn(caps.id);
    if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
  }
  return names;
}

}  // namespace

std::string KernelTable() {
  const std::vector<BackendCaps> backends = BuiltInBackends();
  std::string text = "| op |";
  std::string line = "| --- |";
  for (const BackendCaps& backend : backends) {
    text += fmt::format(" {} |", backend.name);
    line += " --- |";
  }
  text += "\n" + line + "\n";
  for (const OpKind kind : kKinds) {
    text += fmt::format("| {} |", OpName(kind));
    for (const BackendCaps& backend : backends) {
      text += fmt::format(" {} |", fmt::join(KernelsOf(backend, kind), ", "));
    }
    text += "\n";
  }
  return text;
}

std::string KernelJson() {
  const std::vector<BackendCaps> backends = BuiltInBackends();
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const OpKind kind : kKinds) {
    nlohmann::ordered_json kernels;
    for (const BackendCaps& backend : backends) {
      kernels[std::string(backend.name)] = KernelsOf(backend, kind);
    }
    list.push_back({{"op", OpName(kind)}, {"kernels", kernels}});
  }
  return JsonText(nlohmann::ordered_json{{"kernels", list}}) + "\n";
}

}  // namespace tenon::converter
