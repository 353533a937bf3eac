#include "converter/solve/stage/choose_parallel.hpp"

#include <array>
#include <utility>

namespace tenon::converter {
namespace {

constexpr std::array<std::pair<ParallelMode, const char*>, 5> kNames = {{
    {ParallelMode::kAuto, "auto"},
    {ParallelMode::kIntra, "intra"},
    {ParallelMode::kInter, "inter"},
    {ParallelMode::kReplicas, "replicas"},
    {ParallelMode::kPipeline, "pipeline"},
}};

double Milliseconds(Picoseconds time) { return static_cast<double>(time) / 1e9; }

}  // namespace

Result<ParallelMode> ParseParallelMode(std::string_view text) {
  for (const auto& [mode, name] : kNames) {
    if (text == name) return mode;
  }
  return UsageError("parallel '{}': there are auto, intra, inter, replicas and pipeline", text);
}

const char* ParallelModeName(ParallelMode mode) {
  for (const auto& [known, name] : kNames) {
    if (known == mode) return name;
  }
  return "";
}

Result<ParallelChoice> ChooseParallel(std::vector<ParallelCandidate> candidates,
                                      bool for_throughput, ParallelMode asked) {
  constexpr double kWorthIt = 0.98;
  const auto time = [&](const ParallelCandidate& candidate) {
    return for_throughput ? candidate.period : candidate.latency;
  };
  ParallelChoice choice;
  const ParallelCandidate* best = nullptr;
  for (const ParallelCandidate& candidate : candidates) {
    if (asked != ParallelMode::kAuto) {
      if (candidate.mode != asked) continue;
      if (!candidate.why_not.empty()) {
        return UsageError("parallel '{}' is not possible: {}", ParallelModeName(asked),
                          candidate.why_not);
      }
      best = &candidate;
      break;
    }
    if (!candidate.why_not.empty()) continue;
    if (best == nullptr) {
      best = &candidate;
      continue;
    }
    const bool plain = best->mode == ParallelMode::kIntra;
    const double limit = static_cast<double>(time(*best)) * (plain ? kWorthIt : 1.0);
    const auto own = static_cast<double>(time(candidate));
    if (own < limit || (!plain && own == limit && candidate.memory_bytes < best->memory_bytes)) {
      best = &candidate;
    }
  }
  if (best == nullptr) {
    return UsageError("parallel '{}' is not possible here", ParallelModeName(asked));
  }
  choice.mode = best->mode;
  choice.reason =
      asked != ParallelMode::kAuto
          ? std::string("asked for")
          : fmt::format("{} of {:.3g} ms predicted, the shortest",
                        for_throughput ? "a period" : "a latency", Milliseconds(time(*best)));
  choice.candidates = std::move(candidates);
  return choice;
}

}  // namespace tenon::converter
