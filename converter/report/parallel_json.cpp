#include "converter/report/decisions.hpp"

namespace tenon::converter {
namespace {

using Json = nlohmann::ordered_json;

double PerSecond(Picoseconds period) {
  return period > 0 ? 1e12 / static_cast<double>(period) : 0.0;
}

Json CandidateJson(const ParallelCandidate& candidate) {
  Json json = {{"mode", ParallelModeName(candidate.mode)},
               {"replicas", candidate.replicas},
               {"workers", candidate.workers},
               {"threads_per_op", candidate.threads_per_op}};
  if (!candidate.why_not.empty()) {
    json["why_not"] = candidate.why_not;
    return json;
  }
  json["threads"] = candidate.threads;
  if (candidate.shard_rows > 0) json["shard_rows"] = candidate.shard_rows;
  json["latency_ms"] = Milliseconds(candidate.latency);
  json["throughput_per_s"] = PerSecond(candidate.period);
  json["arena_bytes"] = candidate.memory_bytes;
  return json;
}

Json BalanceJson(const PipelineReport& pipeline) {
  Json json = {{"rate", pipeline.balance},
               {"bound", pipeline.balance_bound},
               {"kept_round", pipeline.kept_round},
               {"rounds", Json::array()}};
  for (const BalanceRound& round : pipeline.rounds) {
    json["rounds"].push_back({{"stages", round.stages},
                              {"period_ms", Milliseconds(round.period)},
                              {"rate", round.rate},
                              {"arena_bytes", round.memory_bytes},
                              {"repeated", round.repeated}});
  }
  return json;
}

Json PipelineJson(const PipelineReport& pipeline) {
  Json json = {
      {"period_ms", Milliseconds(pipeline.period)},
      {"bound_ms", Milliseconds(pipeline.bound)},
      {"without_copy_engine_ms", Milliseconds(pipeline.period_without_engine)},
      {"overlap_bound_ms", Milliseconds(pipeline.overlap_bound)},
      {"latency_ms", Milliseconds(pipeline.latency)},
      {"arena_bytes", pipeline.memory_bytes},
      {"cut_exact", pipeline.exact},
      {"best_alone", {{"unit", pipeline.best_alone}, {"ms", Milliseconds(pipeline.alone)}}},
      {"stages", Json::array()},
      {"channels", Json::array()}};
  json["balance"] = BalanceJson(pipeline);
  for (const PipelineReport::Stage& stage : pipeline.stages) {
    json["stages"].push_back({{"unit", stage.unit},
                              {"ops", stage.ops},
                              {"repeated", stage.repeated},
                              {"ms", Milliseconds(stage.time)},
                              {"arena_bytes", stage.arena_bytes},
                              {"copies", stage.copies},
                              {"copies_ms", Milliseconds(stage.copy_time)},
                              {"copy_engine", stage.copy_engine}});
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
               {"threads_per_op", report.threads_per_op},
               {"rows_per_call", report.rows_per_call},
               {"shard_rows", report.shard_rows},
               {"whole_batch", nullptr},
               {"candidates", Json::array()},
               {"pipeline", nullptr},
               {"inter_ms", nullptr}};
  if (!report.why_whole_batch.empty()) json["whole_batch"] = report.why_whole_batch;
  for (const ParallelCandidate& candidate : report.choice.candidates) {
    json["candidates"].push_back(CandidateJson(candidate));
  }
  if (report.pipeline) json["pipeline"] = PipelineJson(*report.pipeline);
  if (report.inter) json["inter_ms"] = Milliseconds(*report.inter);
  return json;
}

double PredictedThroughput(const ParallelReport& report) {
  const ParallelChoice& choice = report.choice;
  return choice.candidates.empty() ? 0 : PerSecond(choice.candidates[choice.chosen].period);
}

}  // namespace tenon::converter
