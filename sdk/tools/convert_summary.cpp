#include "sdk/tools/convert_summary.hpp"

#include <fmt/format.h>

#include <iostream>
#include <map>

#include "sdk/tools/quantize_summary.hpp"

namespace tenon::tool {
namespace {

double Milliseconds(converter::Picoseconds time) {
  constexpr double kPerMillisecond = 1e9;
  return static_cast<double>(time) / kPerMillisecond;
}

void PrintSplits(const converter::Conversion& conversion) {
  const converter::SplitReport& ops = conversion.op_splits;
  if (ops.ops_split > 0) {
    std::cout << fmt::format("split: {} ops into {} parts\n", ops.ops_split, ops.parts);
  }
  for (const converter::SplitChain& chain : conversion.chain_splits.chains) {
    std::cout << fmt::format("split: {} ops from {} to {} into {} patches by {}\n", chain.ops,
                             chain.first_op, chain.last_op, chain.patching.parts,
                             Name(chain.dimension));
  }
}

/// Which backends run how many ops, where there is a choice.
void PrintMapping(const converter::Conversion& conversion) {
  const std::map<std::string, size_t>& ops = conversion.ops_by_backend;
  const converter::SegmentReport& segments = conversion.segments;
  if (segments.segments == 0 && ops.size() < 2) return;
  std::string line = "mapping:";
  const char* separator = "";
  for (const auto& [backend, count] : ops) {
    line += fmt::format("{} {} ops on {}", separator, count, backend);
    separator = ",";
  }
  if (segments.device_ops > 0) {
    line += fmt::format("; {} start(s) of devices for {} ops, {} wait(s)", segments.device_starts,
                        segments.device_ops, segments.waits);
  }
  std::cout << line << "\n";
}

/// The table's mapping beside the one that a search found.
void PrintOptimal(const converter::MappingReport& report) {
  if (report.mode != converter::MappingMode::kOptimal) return;
  std::cout << fmt::format("optimal mapping: {:.3f} ms{}, by the table {:.3f} ms: {} is kept{}\n",
                           Milliseconds(report.optimal),
                           report.for_period ? " between results" : "", Milliseconds(report.table),
                           report.chose_optimal ? "the optimal one" : "the table's",
                           report.exact ? " (exact by the model)" : "");
}

void PrintPipeline(const converter::PipelineReport& pipeline) {
  std::string line = "pipeline:";
  const char* separator = "";
  for (const converter::PipelineReport::Stage& stage : pipeline.stages) {
    line += fmt::format("{} {} {:.3f} ms", separator, stage.unit, Milliseconds(stage.time));
    separator = ",";
  }
  std::cout << fmt::format("{}; a result every {:.3f} ms (predicted), arenas {} bytes\n", line,
                           Milliseconds(pipeline.period), pipeline.memory_bytes);
}

/// Where the plan stores weights of ops in f32 in fewer bits.
void PrintWeights(const converter::WeightsReport& weights) {
  if (weights.stored == 0) return;
  std::string loss = "exactly";
  if (weights.largest_error > 0) {
    loss = fmt::format("off by {:.2g}% of a channel's largest at most, {:.1f} dB in '{}'",
                       100 * weights.largest_error, weights.least_snr_db, weights.least_snr_tensor);
  }
  std::cout << fmt::format("weights: {} of {} tensors in fewer bits, {} to {} bytes, {}\n",
                           weights.stored, weights.tensors, weights.bytes_before,
                           weights.bytes_after, loss);
}

/// Where bytes from a device are read as they are, and where not.
void PrintInputFormats(const std::vector<converter::PassReport>& passes) {
  for (const converter::PassReport& pass : passes) {
    if (pass.name != "fold-input-formats" || pass.changed + pass.declined.size() == 0) continue;
    std::cout << fmt::format("input format: taken by {} op(s) that read the input\n", pass.changed);
    for (const converter::Declined& entry : pass.declined) {
      std::cout << fmt::format("input format: before '{}' the data is converted: {}\n", entry.op,
                               entry.reason);
    }
  }
}

void PrintParallel(const converter::Conversion& conversion) {
  const converter::ParallelReport& parallel = conversion.parallel;
  if (parallel.choice.candidates.empty()) return;
  std::cout << fmt::format("parallel: {}: {}\n", converter::ParallelModeName(parallel.choice.mode),
                           parallel.choice.reason);
  if (parallel.pipeline) PrintPipeline(*parallel.pipeline);
}

}  // namespace

void PrintSummary(const converter::Conversion& conversion, const SummaryOptions& options) {
  const converter::MemoryReport& memory = conversion.memory;
  const double gap = memory.lower_bound == 0
                         ? 0.0
                         : 100.0 * static_cast<double>(memory.arena_bytes - memory.lower_bound) /
                               static_cast<double>(memory.lower_bound);
  std::cout << fmt::format("{}: {} bytes, {} ops (of {} imported), in {:.2f} s\n", options.plan,
                           conversion.plan.size(), conversion.ops_executed, conversion.ops_imported,
                           options.seconds);
  std::cout << fmt::format(
      "{}: arena {} bytes ({:.2f}% above the lower bound{}), constants {} "
      "bytes\n",
      memory.space, memory.arena_bytes, gap, memory.proven_optimal ? ", proven optimal" : "",
      memory.constants_bytes);
  for (const converter::ArenaBeside& arena : memory.beside) {
    std::cout << fmt::format("{}: arena {} bytes, which ops work in too\n", arena.space,
                             arena.bytes);
  }
  PrintInputFormats(conversion.passes);
  PrintWeights(conversion.weights);
  PrintSplits(conversion);
  PrintMapping(conversion);
  PrintOptimal(conversion.mapping_report);
  if (conversion.order.changed && memory.source_order_bytes > memory.arena_bytes) {
    std::cout << fmt::format("order: another than the model's, which needs {} bytes\n",
                             memory.source_order_bytes);
  }
  if (conversion.time.before > conversion.time.after) {
    std::cout << fmt::format("order: another than the model's, which takes {:.3f} ms\n",
                             Milliseconds(conversion.time.before));
  }
  if (conversion.time.after > 0) {
    std::cout << fmt::format(
        "predicted: {:.3f} ms ({})\n", Milliseconds(conversion.time.after),
        conversion.time.measured ? "from measurements" : "from the board's figures");
  }
  PrintParallel(conversion);
  if (conversion.quantization) {
    std::cout << QuantizeSummary(*conversion.quantization, options.verbose);
  }
  if (!options.verbose) return;
  for (const converter::PassReport& pass : conversion.passes) {
    std::cout << fmt::format("pass {}: {} changed, {} declined\n", pass.name, pass.changed,
                             pass.declined.size());
    for (const converter::Declined& entry : pass.declined) {
      std::cout << fmt::format("  {}: {}\n", entry.op, entry.reason);
    }
  }
  std::cout << conversion.graph_text;
}

}  // namespace tenon::tool
