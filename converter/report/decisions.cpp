#include "converter/report/decisions.hpp"

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

/// Only one backend competes so far, so priorities are 1; times come with the cost model.
Json MappingJson(const Conversion& conversion) {
  Json mapping = Json::array();
  for (const MappedOp& op : conversion.mapping) {
    Json candidates = Json::array();
    for (const Candidate& candidate : op.candidates) {
      candidates.push_back({{"backend", op.backend},
                            {"kernel", candidate.kernel},
                            {"priority", 1},
                            {"ms", nullptr},
                            {"reason", candidate.reason}});
    }
    mapping.push_back({{"op", op.op},
                       {"backend", op.backend},
                       {"kernel", op.candidates.back().kernel},
                       {"candidates", candidates}});
  }
  return mapping;
}

/// `orders` is null where they were too many to count, `tried` the downsets of ops expanded.
Json OrderJson(const OrderReport& report) {
  const MemoryOrder& search = report.search;
  Json subgraphs = Json::array();
  for (const SubgraphOrder& subgraph : search.subgraphs) {
    subgraphs.push_back({{"ops", subgraph.nodes},
                         {"orders", subgraph.orders ? Json(*subgraph.orders) : Json(nullptr)},
                         {"tried", subgraph.expanded},
                         {"exact", subgraph.exact},
                         {"source_live_bytes", subgraph.source_peak},
                         {"live_bytes", subgraph.peak},
                         {"lower_bound", subgraph.lower_bound}});
  }
  const bool searched = report.mode == OrderMode::kSearch;
  return {{"mode", searched ? "search" : "source"},
          {"changed", report.changed},
          {"source_live_bytes", searched ? Json(search.source_peak) : Json(nullptr)},
          {"live_bytes", searched ? Json(search.peak) : Json(nullptr)},
          {"lower_bound", searched ? Json(search.lower_bound) : Json(nullptr)},
          {"exact", searched ? Json(search.exact) : Json(nullptr)},
          {"subgraphs", subgraphs},
          {"seed", report.seed}};
}

}  // namespace

Json DecisionsJson(const Conversion& conversion) {
  const MemoryReport& memory = conversion.memory;
  Json json;
  json["predicted"] = {{"latency_ms", nullptr},
                       {"throughput_per_s", nullptr},
                       {"peak_bytes", {{memory.space, memory.arena_bytes}}}};
  json["passes"] = PassesJson(conversion);
  json["mapping"] = MappingJson(conversion);
  json["splits"] = Json::array();
  json["order"] = OrderJson(conversion.order);
  json["memory"] = {{"space", memory.space},
                    {"arena_bytes", memory.arena_bytes},
                    {"source_order_bytes", memory.source_order_bytes},
                    {"lower_bound", memory.lower_bound},
                    {"gap", memory.arena_bytes - memory.lower_bound},
                    {"proven_optimal", memory.proven_optimal},
                    {"constants_bytes", memory.constants_bytes},
                    {"place_work", memory.place_work}};
  json["plan_bytes"] = conversion.plan.size();
  json["ops"] = {{"imported", conversion.ops_imported}, {"executed", conversion.ops_executed}};
  return json;
}

}  // namespace tenon::converter
