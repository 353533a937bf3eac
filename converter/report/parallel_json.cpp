#include "converter/report/decisions.hpp"

namespace tenon::converter {
namespace {

using Json = nlohmann::ordered_json;

double Milliseconds(Picoseconds time) { return static_cast<double>(time) / 1e9; }
double PerSecond(Picoseconds period) {
  return period > 0 ? 1e12 / static_cast<double>(period) : 0.0;
}

Json CandidateJson(const ParallelCandidate& candidate) {
  Json json = {{"mode", ParallelModeName(candidate.mode)}};
  if (!candidate.why_not.empty()) {
    json["why_not"] = candidate.why_not;
    return json;
  }
  json["threads"] = candidate.threads;
  json["latency_ms"] = Milliseconds(candidate.latency);
  json["throughput_per_s"] = PerSecond(candidate.period);
  json["arena_bytes"] = candidate.memory_bytes;
  return json;
}

Json PipelineJson(const PipelineReport& pipeline) {
  Json json = {{"period_ms", Milliseconds(pipeline.period)},
               {"bound_ms", Milliseconds(pipeline.bound)},
               {"latency_ms", Milliseconds(pipeline.latency)},
               {"arena_bytes", pipeline.memory_bytes},
               {"cut_exact", pipeline.exact},
               {"stages", Json::array()},
               {"channels", Json::array()}};
  for (const PipelineReport::Stage& stage : pipeline.stages) {
    json["stages"].push_back({{"unit", stage.unit},
                              {"ops", stage.ops},
                              {"ms", Milliseconds(stage.time)},
                              {"arena_bytes", stage.arena_bytes}});
  }
  for (const PipelineReport::Channel& channel : pipeline.channels) {
    json["channels"].push_back({{"from", channel.from},
                                {"to", channel.to},
                                {"depth", channel.depth},
                                {"slot_bytes", channel.slot_bytes}});
  }
  return json;
}

}  // namespace

Json ParallelJson(const ParallelReport& report) {
  if (report.choice.candidates.empty()) return nullptr;
  Json json = {{"mode", ParallelModeName(report.choice.mode)},
               {"reason", report.choice.reason},
               {"replicas", report.replicas},
               {"candidates", Json::array()},
               {"pipeline", nullptr},
               {"inter_ms", nullptr}};
  for (const ParallelCandidate& candidate : report.choice.candidates) {
    json["candidates"].push_back(CandidateJson(candidate));
  }
  if (report.pipeline) json["pipeline"] = PipelineJson(*report.pipeline);
  if (report.inter) json["inter_ms"] = Milliseconds(*report.inter);
  return json;
}

double PredictedThroughput(const ParallelReport& report) {
  for (const ParallelCandidate& candidate : report.choice.candidates) {
    if (candidate.mode == report.choice.mode) return PerSecond(candidate.period);
  }
  return 0;
}

}  // namespace tenon::converter
