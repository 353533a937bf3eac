#include "converter/solve/stage/choose_parallel.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace tenon::converter {
namespace {

constexpr std::array<std::pair<ParallelMode, const char*>, 9> kNames = {{
    {ParallelMode::kAuto, "auto"},
    {ParallelMode::kIntra, "intra"},
    {ParallelMode::kInter, "inter"},
    {ParallelMode::kInterIntra, "inter+intra"},
    {ParallelMode::kReplicas, "replicas"},
    {ParallelMode::kReplicasIntra, "replicas+intra"},
    {ParallelMode::kReplicasInter, "replicas+inter"},
    {ParallelMode::kReplicasInterIntra, "replicas+inter+intra"},
    {ParallelMode::kPipeline, "pipeline"},
}};

/// Returns the parts of "a+b+c", in order of the alphabet.
std::vector<std::string_view> PartsOf(std::string_view text) {
  std::vector<std::string_view> parts;
  while (true) {
    const size_t plus = text.find('+');
    parts.push_back(text.substr(0, plus));
    if (plus == std::string_view::npos) break;
    text.remove_prefix(plus + 1);
  }
  std::sort(parts.begin(), parts.end());
  return parts;
}

bool HasPart(ParallelMode mode, std::string_view part) {
  const std::vector<std::string_view> parts = PartsOf(ParallelModeName(mode));
  return std::find(parts.begin(), parts.end(), part) != parts.end();
}

/// Keeps the candidate that is better by the rules of ChooseParallel.
class Best {
 public:
  explicit Best(bool for_throughput) : for_throughput_(for_throughput) {}

  [[nodiscard]] Picoseconds TimeOf(const ParallelCandidate& candidate) const {
    return for_throughput_ ? candidate.period : candidate.latency;
  }
  void Take(const ParallelCandidate& candidate) {
    constexpr double kWorthIt = 0.98;
    if (best_ == nullptr) {
      best_ = &candidate;
      return;
    }
    const bool plain = best_->mode == ParallelMode::kIntra;
    const double limit = static_cast<double>(TimeOf(*best_)) * (plain ? kWorthIt : 1.0);
    const auto own = static_cast<double>(TimeOf(candidate));
    const bool less_memory = candidate.memory_bytes < best_->memory_bytes;
    if (own < limit || (!plain && own == limit && less_memory)) best_ = &candidate;
  }
  [[nodiscard]] const ParallelCandidate* best() const { return best_; }

 private:
  bool for_throughput_;
  const ParallelCandidate* best_ = nullptr;
};

}  // namespace

Result<ParallelMode> ParseParallelMode(std::string_view text) {
  for (const auto& [mode, name] : kNames) {
    if (PartsOf(text) == PartsOf(name)) return mode;
  }
  return UsageError(
      "parallel '{}': there are auto, pipeline, and intra, inter and replicas alone or joined by "
      "'+'",
      text);
}

const char* ParallelModeName(ParallelMode mode) {
  for (const auto& [known, name] : kNames) {
    if (known == mode) return name;
  }
  return "";
}

bool RunsBetweenOps(ParallelMode mode) { return HasPart(mode, "inter"); }
bool RunsReplicas(ParallelMode mode) { return HasPart(mode, "replicas"); }
bool RunsInsideOps(ParallelMode mode) { return HasPart(mode, "intra"); }

Result<ParallelChoice> ChooseParallel(std::vector<ParallelCandidate> candidates,
                                      bool for_throughput, ParallelMode asked) {
  Best best(for_throughput);
  const ParallelCandidate* refused = nullptr;
  for (const ParallelCandidate& candidate : candidates) {
    if (asked != ParallelMode::kAuto && candidate.mode != asked) continue;
    if (candidate.why_not.empty()) {
      best.Take(candidate);
    } else if (refused == nullptr) {
      refused = &candidate;
    }
  }
  if (best.best() == nullptr) {
    const std::string why = refused == nullptr ? " here" : ": " + refused->why_not;
    Error error = UsageError("parallel '{}' is not possible{}", ParallelModeName(asked), why);
    if (refused != nullptr && refused->too_large) {
      error.kind = ErrorKind::kDoesNotFit;
      error.details.push_back("without --parallel a mode is chosen that fits");
    }
    return error;
  }
  ParallelChoice choice;
  choice.mode = best.best()->mode;
  choice.chosen = static_cast<size_t>(best.best() - candidates.data());
  choice.reason = asked != ParallelMode::kAuto
                      ? std::string("asked for")
                      : fmt::format("{} of {:.3g} ms predicted, the shortest",
                                    for_throughput ? "a period" : "a latency",
                                    Milliseconds(best.TimeOf(*best.best())));
  choice.candidates = std::move(candidates);
  return choice;
}

}  // namespace tenon::converter
