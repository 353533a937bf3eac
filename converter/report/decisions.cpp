#include "converter/report/decisions.hpp"

#include <set>
#include <string>

#include "converter/cost/instruction_bound.hpp"
#include "converter/emit/firmware_plan.hpp"

namespace tenon::converter {
namespace {

using Json = nlohmann::ordered_json;

Json PassesJson(const Conversion& conversion) {
  Json passes = Json::array();
  for (const PassReport& pass : conversion.passes) {
    Json declined = Json::array();
    for (const Declined& entry : pass.declined) {
      declined.push_back({{"op", entry.op}, {"reason", entry.reason}});
    }
    passes.push_back({{"name", pass.name}, {"changed", pass.changed}, {"declined", declined}});
  }
  return passes;
}

/// `priority` is null where the board's table does not give the op to that backend, `ms` where no
/// cost is known, `reason` empty for the candidate chosen.
Json MappingJson(const Conversion& conversion) {
  Json mapping = Json::array();
  for (const MappedOp& op : conversion.mapping) {
    Json candidates = Json::array();
    for (const Candidate& candidate : op.candidates) {
      candidates.push_back(
          {{"backend", candidate.backend},
           {"kernel", candidate.kernel.empty() ? Json(nullptr) : Json(candidate.kernel)},
           {"priority", candidate.priority == 0 ? Json(nullptr) : Json(candidate.priority)},
           {"ms", candidate.ms ? Json(*candidate.ms) : Json(nullptr)},
           {"reason", candidate.reason}});
    }
    mapping.push_back({{"op", op.op},
                       {"backend", op.backend},
                       {"kernel", op.kernel},
                       {"candidates", candidates}});
  }
  return mapping;
}

Json OrNull(const std::optional<Picoseconds>& time) {
  return time ? Json(Milliseconds(*time)) : Json(nullptr);
}

/// `orders` is null where they were too many to count, `tried` the downsets of ops expanded.
/// The memory program, in milliseconds; null if none was needed.
Json ProgramJson(const ProgramReport& program) {
  if (!program.used) return nullptr;
  const auto ms = [](Picoseconds time) { return static_cast<double>(time) * 1e-9; };
  Json json = {{"limit", program.limit},
               {"repeated", program.repeated},
               {"moves", program.moves},
               {"rounds", program.rounds},
               {"windows", program.windows},
               {"proved", program.proved},
               {"stopped", program.stopped},
               {"ms_once", ms(program.time_once)},
               {"ms", ms(program.time)},
               {"bound_ms", nullptr},
               {"gap", nullptr}};
  if (program.bound > 0) {
    json["bound_ms"] = ms(program.bound);
    json["gap"] =
        static_cast<double>(program.time - program.bound) / static_cast<double>(program.bound);
  }
  return json;
}

Json MemorySubgraphs(const MemoryOrder& search) {
  Json subgraphs = Json::array();
  for (const SubgraphOrder& subgraph : search.subgraphs) {
    subgraphs.push_back({{"ops", subgraph.nodes},
                         {"orders", subgraph.orders ? Json(*subgraph.orders) : Json(nullptr)},
                         {"tried", subgraph.expanded},
                         {"exact", subgraph.exact},
                         {"shared", subgraph.shared},
                         {"source_live_bytes", subgraph.source_peak},
                         {"live_bytes", subgraph.peak},
                         {"lower_bound", subgraph.lower_bound}});
  }
  return subgraphs;
}

/// `tried` counts orders; `shared`: searched once with an identical subgraph.
Json TimeSubgraphs(const TimeOrder& search) {
  Json subgraphs = Json::array();
  for (const TimeSubgraph& subgraph : search.subgraphs) {
    subgraphs.push_back({{"ops", subgraph.tasks},
                         {"orders", subgraph.orders ? Json(*subgraph.orders) : Json(nullptr)},
                         {"tried", subgraph.tried},
                         {"exact", subgraph.exact},
                         {"shared", subgraph.shared}});
  }
  return subgraphs;
}

/// Null if the table gives the mapping.
Json OptimalMappingJson(const MappingReport& report) {
  if (report.mode == MappingMode::kTable) return nullptr;
  return {{"objective", report.for_period ? "throughput" : "latency"},
          {"chosen", report.chose_optimal ? "optimal" : "table"},
          {"table_ms", Milliseconds(report.table)},
          {"optimal_ms", Milliseconds(report.optimal)},
          {"lower_bound_ms", Milliseconds(report.bound)},
          {"exact", report.exact},
          {"tried", report.tried}};
}

/// Null where no device is started per segment.
Json SegmentsJson(const SegmentReport& report) {
  if (report.segments == 0) return nullptr;
  return {{"count", report.segments},
          {"fewest", report.fewest},
          {"fewest_is_exact", report.fewest_is_exact},
          {"in_source_order", report.source_order},
          {"ops", report.ops},
          {"device_starts", report.device_starts},
          {"device_ops", report.device_ops},
          {"waits", report.waits},
          {"ms", Milliseconds(report.time)},
          {"one_start_per_op_ms", Milliseconds(report.per_op_time)}};
}

/// `depth`: ops on the longest path, below which the number of starts cannot be.
Json BranchesJson(const BranchReport& report) {
  Json groups = Json::array();
  for (const BranchReport::Group& group : report.groups) {
    groups.push_back({{"ops", group.ops}, {"alone_us", group.alone_us}, {"us", group.us}});
  }
  Json refusals = Json::array();
  for (const BranchReport::Refusal& refusal : report.refusals) {
    refusals.push_back({{"kind", refusal.kind}, {"ops", refusal.ops}, {"reason", refusal.reason}});
  }
  return {{"fuse", report.asked ? "auto" : "off"},
          {"ops", report.ops},
          {"starts", report.starts},
          {"depth", report.depth},
          {"groups_found", report.groups_found},
          {"groups", groups},
          {"refusals", refusals}};
}

/// Describes the order, which is searched for time on concurrent units and for memory on one unit.
Json OrderJson(const OrderReport& report) {
  const MemoryOrder& memory = report.search;
  const TimeOrder& time = report.time;
  const bool for_time = time.chosen.has_value();
  const bool for_memory = !memory.subgraphs.empty();
  Json json = {{"mode", Name(report.mode)},
               {"changed", report.changed},
               {"key_nodes", report.key_nodes},
               {"source_live_bytes", for_memory ? Json(memory.source_peak) : Json(nullptr)},
               {"live_bytes", for_memory ? Json(memory.peak) : Json(nullptr)},
               {"lower_bound", for_memory ? Json(memory.lower_bound) : Json(nullptr)},
               {"exact", for_memory ? Json(memory.exact) : Json(nullptr)}};
  if (for_time) {
    json["exact"] = time.exact;
    json["tried"] = time.tried;
    json["orders"] = time.orders ? Json(*time.orders) : Json(nullptr);
    json["ms"] = {{"source", OrNull(time.source)},
                  {"random", OrNull(time.random)},
                  {"list", OrNull(time.list)},
                  {"chosen", OrNull(time.chosen)},
                  {"lower_bound", Milliseconds(time.bound.bound)}};
  }
  json["target_met"] = report.target_met ? Json(*report.target_met) : Json(nullptr);
  json["subgraphs"] = for_time ? TimeSubgraphs(time) : MemorySubgraphs(memory);
  // Identical subgraphs are searched once.
  size_t searched = 0;
  for (const Json& subgraph : json["subgraphs"]) searched += subgraph["shared"] == true ? 0 : 1;
  json["subgraphs_searched"] = searched;
  json["seed"] = report.seed;
  return json;
}

/// Lists single ops first, then chains of ops (`op` is the first of them, `last_op` the last).
Json SplitsJson(const Conversion& conversion) {
  Json splits = Json::array();
  for (const SplitRecord& split : conversion.op_splits.splits) {
    splits.push_back({{"op", split.op},
                      {"dimension", split.dimension},
                      {"parts", split.parts},
                      {"bytes_before", split.bytes_before},
                      {"bytes_after", split.bytes_after},
                      {"limit", split.limit},
                      {"reason", split.reason}});
  }
  for (const SplitChain& chain : conversion.chain_splits.chains) {
    Json split = {{"op", chain.first_op},
                  {"last_op", chain.last_op},
                  {"ops", chain.ops},
                  {"dimension", Name(chain.dimension)},
                  {"parts", chain.patching.parts},
                  {"halo", Name(chain.patching.policy)},
                  {"bytes_before", chain.peak_before},
                  {"bytes_after", chain.peak_after},
                  {"copied_bytes", chain.copied_bytes},
                  {"recomputed_work", chain.recomputed_work},
                  {"reason", chain.reason}};
    if (chain.patching.steps > 1) split["steps"] = chain.patching.steps;
    if (chain.patching.tiles > 1) {
      split["tiles"] = chain.patching.tiles;
      split["tile_halo"] = Name(chain.patching.tile_policy);
    }
    splits.push_back(std::move(split));
  }
  return splits;
}

/// Says how the plan stores the weights of f32 ops.
Json WeightsJson(const WeightsReport& weights) {
  Json json = {{"form", Name(weights.form)},         {"tensors", weights.tensors},
               {"stored", weights.stored},           {"bytes_before", weights.bytes_before},
               {"bytes_after", weights.bytes_after}, {"largest_error", weights.largest_error}};
  if (!weights.least_snr_tensor.empty()) {
    json["least_snr_db"] = weights.least_snr_db;
    json["least_snr_tensor"] = weights.least_snr_tensor;
  }
  return json;
}

/// Predicted times of one inference, in the model's own order and in the plan's.
Json TimeJson(const TimeReport& time) {
  Json units = Json::array();
  for (const UnitTime& unit : time.units) {
    units.push_back({{"unit", unit.unit},
                     {"busy_ms_before", Milliseconds(unit.before)},
                     {"busy_ms", Milliseconds(unit.after)}});
  }
  Json json = {{"source_order_ms", Milliseconds(time.before)},
               {"ms", Milliseconds(time.after)},
               {"lower_bound_ms", Milliseconds(time.lower_bound)},
               {"costs", time.measured ? "measured" : "analytic"},
               {"sources", nullptr},
               {"units", units},
               {"op_ms", Json::array()}};
  for (const Picoseconds op : time.ops) json["op_ms"].push_back(Milliseconds(op));
  if (time.measured) {
    json["sources"] = {{"measured_ms", Milliseconds(time.sources.measured)},
                       {"calibrated_ms", Milliseconds(time.sources.calibrated)},
                       {"analytic_ms", Milliseconds(time.sources.analytic)},
                       {"op_error", time.sources.op_error}};
  }
  return json;
}

/// Adds the memory that firmware provides in addition to arenas, if it can run the plan.
void AddFirmwareMemory(const std::vector<uint8_t>& plan, Json& memory) {
  const auto view = PlanView::Open({plan.data(), plan.size()}, /*skip_section_crc=*/true);
  if (!view.ok() || !FirmwareKernels(*view).ok()) return;
  memory["firmware_state_bytes"] = FirmwareStateBytes(*view);
  memory["firmware_scratch_bytes"] = FirmwareScratchBytes(*view);
}

/// Null on boards without an accelerator.
Json AcceleratorJson(const Conversion& conversion) {
  if (conversion.codes.empty() && conversion.not_accelerated.empty()) return nullptr;
  Json json = {{"segments", Json::array()}, {"not", Json::array()}};
  for (const SegmentCodeReport& code : conversion.codes) {
    Json layers = Json::array();
    for (const fpga::LayerCycles& layer : code.layers) {
      layers.push_back({{"op", layer.name},
                        {"multiply_accumulates", layer.multiply_accumulates},
                        {"cycles", layer.cycles},
                        {"waits_for", layer.waits_for}});
    }
    json["segments"].push_back({{"program", code.program},
                                {"ops", code.ops},
                                {"code_bytes", code.code_bytes},
                                {"constants_bytes", code.constants_bytes},
                                {"cycles", code.cycles},
                                {"array_use", code.use},
                                {"layers", std::move(layers)}});
  }
  for (const OpBesideAccelerator& op : conversion.not_accelerated) {
    json["not"].push_back(
        {{"op", op.op}, {"kind", op.kind}, {"backend", op.backend}, {"reason", op.reason}});
  }
  return json;
}

}  // namespace

const char* Name(OrderMode mode) {
  switch (mode) {
    case OrderMode::kSource:
      return "source";
    case OrderMode::kSearch:
      return "search";
    case OrderMode::kRandom:
      return "random";
    case OrderMode::kGiven:
      return "given";
  }
  return "";
}

Json DecisionsJson(const Conversion& conversion) {
  const MemoryReport& memory = conversion.memory;
  Json json;
  const double latency_ms = Milliseconds(conversion.time.after);
  double throughput = PredictedThroughput(conversion.parallel);
  if (throughput <= 0 && latency_ms > 0) throughput = 1e3 / latency_ms;
  json["predicted"] = {{"latency_ms", latency_ms},
                       {"throughput_per_s", throughput > 0 ? Json(throughput) : Json(nullptr)},
                       {"peak_bytes", {{memory.space, memory.arena_bytes + memory.packed_bytes}}}};
  for (const ArenaBeside& arena : memory.beside) {
    json["predicted"]["peak_bytes"][arena.space] = arena.bytes;
  }
  if (const auto bound = BoundInstructions(conversion.plan)) {
    json["predicted"]["most_instructions"] = bound->most ? Json(*bound->most) : Json(nullptr);
  }
  json["passes"] = PassesJson(conversion);
  json["mapping"] = MappingJson(conversion);
  json["optimal_mapping"] = OptimalMappingJson(conversion.mapping_report);
  json["segments"] = SegmentsJson(conversion.segments);
  json["branches"] = BranchesJson(conversion.branches);
  json["accelerator"] = AcceleratorJson(conversion);
  json["splits"] = SplitsJson(conversion);
  json["order"] = OrderJson(conversion.order);
  json["time"] = TimeJson(conversion.time);
  json["parallel"] = ParallelJson(conversion.parallel);
  json["quantization"] = QuantizationJson(conversion.quantization);
  json["memory"] = {{"space", memory.space},
                    {"arena_bytes", memory.arena_bytes},
                    {"source_order_bytes", memory.source_order_bytes},
                    {"unsplit_bytes", memory.unsplit_bytes},
                    {"packed_bytes", memory.packed_bytes},
                    {"lean_kernels", conversion.lean_kernels},
                    {"lower_bound", memory.lower_bound},
                    {"gap", memory.arena_bytes - memory.lower_bound},
                    {"proven_optimal", memory.proven_optimal},
                    {"constants_bytes", memory.constants_bytes},
                    {"place_work", memory.place_work}};
  if (!memory.largest_op.empty()) {
    json["memory"]["largest_op"] = {{"op", memory.largest_op}, {"bytes", memory.largest_op_bytes}};
  }
  if (memory.least_patched > 0) {
    json["memory"]["least_patched"] = {{"bytes", memory.least_patched},
                                       {"reason", memory.least_patched_reason}};
  }
  for (const OutsideInputReport& input : conversion.outside) {
    json["memory"]["outside"].push_back(
        {{"input", input.input}, {"bytes", input.bytes}, {"rows", input.rows}});
  }
  if (conversion.cut_short) json["cut_short"] = true;
  if (conversion.relaxed_limit > 0) json["memory"]["relaxed_limit"] = conversion.relaxed_limit;
  json["memory"]["program"] = ProgramJson(conversion.program);
  if (!conversion.only_unit.empty()) json["memory"]["only_unit"] = conversion.only_unit;
  AddFirmwareMemory(conversion.plan, json["memory"]);
  json["weights"] = WeightsJson(conversion.weights);
  json["plan_bytes"] = conversion.plan.size();
  std::set<std::string> kernels;  // what equal ops share
  for (const MappedOp& op : conversion.mapping) kernels.insert(op.kernel);
  json["kernels"] = {{"ops", conversion.mapping.size()}, {"distinct", kernels.size()}};
  json["ops"] = {{"imported", conversion.ops_imported}, {"executed", conversion.ops_executed}};
  return json;
}

}  // namespace tenon::converter
