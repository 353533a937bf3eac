#include "converter/report/summary.hpp"

#include <algorithm>
#include <map>

#include "converter/cost/instruction_bound.hpp"

namespace tenon::converter {
namespace {

/// Tiles may be parts of the whole, or of patches.
std::string PartsOf(const Patching& patching, SplitDimension dimension) {
  const std::string tiles = fmt::format("{} tiles by width", patching.tiles);
  if (patching.tiles > 1 && patching.parts == 1) return tiles;
  const std::string patches = fmt::format("{} patches by {}", patching.parts, Name(dimension));
  return patching.tiles > 1 ? fmt::format("{}, each into {}", patches, tiles) : patches;
}

void AddSplits(const Conversion& conversion, std::string& text) {
  const SplitReport& ops = conversion.op_splits;
  if (ops.ops_split > 0) {
    text += fmt::format("split: {} ops into {} parts\n", ops.ops_split, ops.parts);
  }
  for (const SplitChain& chain : conversion.chain_splits.chains) {
    const Patching& patching = chain.patching;
    text += fmt::format("split: {} ops from {} to {} into {}\n", chain.ops, chain.first_op,
                        chain.last_op, PartsOf(patching, chain.dimension));
  }
  const MemoryReport& memory = conversion.memory;
  if (memory.least_patched > 0) {
    text += fmt::format(
        "patches: no others by height{} need less than {} bytes ({}), the arena {:.2f} times "
        "that\n",
        memory.least_patched_into_tiles ? ", or tiles," : "", memory.least_patched,
        memory.least_patched_reason,
        static_cast<double>(memory.arena_bytes) / static_cast<double>(memory.least_patched));
  }
}

/// Adds how many ops each backend runs, where there is a choice.
void AddMapping(const Conversion& conversion, std::string& text) {
  const std::map<std::string, size_t>& ops = conversion.ops_by_backend;
  const SegmentReport& segments = conversion.segments;
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
  text += line + "\n";
}

/// Adds which kinds of ops run where.
void AddKinds(const Conversion& conversion, std::string& text) {
  for (const auto& [backend, kinds] : conversion.kinds_by_backend) {
    std::string list;
    for (const auto& [kind, count] : kinds) {
      list += fmt::format("{}{} {}", list.empty() ? "" : ", ", count, kind);
    }
    text += fmt::format("on {}: {}\n", backend, list);
  }
}

/// Adds what does not run on the accelerator, and why: nothing leaves it silently.
void AddBesideAccelerator(const Conversion& conversion, std::string& text) {
  std::map<std::pair<std::string, std::string>, std::vector<std::string>> names_by_reason;
  for (const OpBesideAccelerator& op : conversion.not_accelerated) {
    names_by_reason[{op.reason, op.kind}].push_back(op.op);
  }
  constexpr size_t kMostNames = 3;
  for (const auto& [key, names] : names_by_reason) {
    std::string list;
    for (size_t i = 0; i < std::min(names.size(), kMostNames); ++i) {
      list += fmt::format("{}'{}'", i == 0 ? "" : ", ", names[i]);
    }
    if (names.size() > kMostNames) list += fmt::format(" and {} more", names.size() - kMostNames);
    text += fmt::format("not on fpga: {} {}: {}: {}\n", names.size(), key.second, list, key.first);
  }
}

/// Adds what runs on an accelerator as code.
void AddAccelerator(const Conversion& conversion, std::string& text) {
  if (conversion.codes.empty() && conversion.not_accelerated.empty()) return;
  AddKinds(conversion, text);
  for (const SegmentCodeReport& code : conversion.codes) {
    text += fmt::format(
        "accelerator: {}: {} ops in one start, {} cycles (predicted), array used {:.1f}%\n",
        code.program, code.ops, code.cycles, 100 * code.use);
  }
  AddBesideAccelerator(conversion, text);
}

/// Says where the predicted time comes from, and what is expected of it.
std::string SourceOf(const TimeReport& time) {
  const PredictionSources& sources = time.sources;
  const auto total = static_cast<double>(sources.measured + sources.calibrated + sources.analytic);
  if (!time.measured || total <= 0) return "from the board's figures";
  const auto share = [&](Picoseconds part) { return 100 * static_cast<double>(part) / total; };
  std::string text = fmt::format("{:.0f}% measured, {:.0f}% calibrated", share(sources.measured),
                                 share(sources.calibrated));
  if (sources.analytic > 0) {
    text += fmt::format(", {:.0f}% from the board's figures", share(sources.analytic));
  }
  return text + fmt::format("; ops are off by {:.0f}% on the mean", 100 * sources.op_error);
}

/// Adds what is run again and moved because of a limit, and whether something faster may exist.
void AddProgram(const ProgramReport& program, std::string& text) {
  if (!program.used) return;
  text += fmt::format("memory program: {} op(s) run again, {} move(s): {:.3f} ms, once each {:.3f}",
                      program.repeated, program.moves, Milliseconds(program.time),
                      Milliseconds(program.time_once));
  if (program.bound > 0) {
    text += fmt::format(", none takes less than {:.3f}", Milliseconds(program.bound));
  }
  if (program.stopped > 0) {
    text += fmt::format("; the solver stopped at its limit of nodes in {} of {} window(s)",
                        program.stopped, program.windows);
  }
  text += "\n";
}

/// Compares the table's mapping with the one that a search found.
void AddOptimal(const MappingReport& report, std::string& text) {
  if (report.mode != MappingMode::kOptimal) return;
  text += fmt::format(
      "optimal mapping: {:.3f} ms{}, by the table {:.3f} ms: {} is kept{}\n",
      Milliseconds(report.optimal), report.for_period ? " between results" : "",
      Milliseconds(report.table), report.chose_optimal ? "the optimal one" : "the table's",
      report.exact
          ? " (no mapping takes less by the model)"
          : fmt::format(" (no mapping takes less than {:.3f} ms)", Milliseconds(report.bound)));
}

void AddPipeline(const PipelineReport& pipeline, std::string& text) {
  std::string line = "pipeline:";
  const char* separator = "";
  for (const PipelineReport::Stage& stage : pipeline.stages) {
    const std::string engine = stage.copy_engine.empty() ? "" : " with " + stage.copy_engine;
    line +=
        fmt::format("{} {}{} {:.3f} ms", separator, stage.unit, engine, Milliseconds(stage.time));
    separator = ",";
  }
  text += fmt::format("{}; a result every {:.3f} ms (predicted), arenas {} bytes\n", line,
                      Milliseconds(pipeline.period), pipeline.memory_bytes);
  text += fmt::format("pipeline: balance {:.2f} (ops allow at most {:.2f}), cuts built: {}\n",
                      pipeline.balance, pipeline.balance_bound, pipeline.rounds.size());
  if (pipeline.period < pipeline.period_without_engine) {
    text += fmt::format("pipeline: copies beside ops save {:.3f} ms of {:.3f} a result\n",
                        Milliseconds(pipeline.period_without_engine - pipeline.period),
                        Milliseconds(pipeline.period_without_engine));
  }
  if (pipeline.best_alone.empty() || pipeline.period == 0) return;
  text += fmt::format("pipeline: {:.2f} times the results of the best single unit, {}: {:.3f} ms\n",
                      static_cast<double>(pipeline.alone) / static_cast<double>(pipeline.period),
                      pipeline.best_alone, Milliseconds(pipeline.alone));
}

/// Adds where the plan stores the weights of f32 ops in fewer bits.
void AddWeights(const WeightsReport& weights, std::string& text) {
  if (weights.stored == 0) return;
  std::string loss = "exactly";
  if (weights.largest_error > 0) {
    loss = fmt::format("off by {:.2g}% of a channel's largest at most, {:.1f} dB in '{}'",
                       100 * weights.largest_error, weights.least_snr_db, weights.least_snr_tensor);
  }
  text +=
      fmt::format("weights: {} of {} tensors in fewer bits, {} to {} bytes, {}\n", weights.stored,
                  weights.tensors, weights.bytes_before, weights.bytes_after, loss);
}

/// Adds which ops read a device's bytes unconverted and which do not.
void AddInputFormats(const std::vector<PassReport>& passes, std::string& text) {
  for (const PassReport& pass : passes) {
    if (pass.name != "fold-input-formats") continue;
    if (pass.changed == 0 && pass.declined.empty()) continue;
    text += fmt::format("input format: taken by {} op(s) that read the input\n", pass.changed);
    for (const Declined& entry : pass.declined) {
      text += fmt::format("input format: before '{}' the data is converted: {}\n", entry.op,
                          entry.reason);
    }
  }
}

void AddParallel(const Conversion& conversion, std::string& text) {
  const ParallelReport& parallel = conversion.parallel;
  if (parallel.choice.candidates.empty()) return;
  text += fmt::format("parallel: {}: {}\n", ParallelModeName(parallel.choice.mode),
                      parallel.choice.reason);
  if (parallel.pipeline) AddPipeline(*parallel.pipeline, text);
}

double Percent(int64_t part, int64_t whole) {
  return whole == 0 ? 0.0 : 100.0 * static_cast<double>(part) / static_cast<double>(whole);
}

std::string Classes(const Accuracy& accuracy) {
  std::string text;
  if (accuracy.rows > 0) {
    text += fmt::format("quantized: top class as of the float model for {} of {}\n",
                        accuracy.same_class, accuracy.rows);
  }
  if (accuracy.labelled > 0) {
    text += fmt::format("quantized: {:.2f}% of {} labels right, float {:.2f}%\n",
                        Percent(accuracy.right, accuracy.labelled), accuracy.labelled,
                        Percent(accuracy.float_right, accuracy.labelled));
  }
  return text;
}

std::string Layer(const QuantizedLayer& layer) {
  if (!layer.integer) {
    return fmt::format("quantized: {} ({}): float, {}\n", layer.op, layer.kind, layer.reason);
  }
  return fmt::format("quantized: {} ({}): {:.1f} dB\n", layer.op, layer.kind,
                     layer.decibel.value_or(0));
}

std::string QuantizeSummary(const QuantizationReport& report, bool verbose) {
  std::string text = fmt::format(
      "quantized: {} of {} convolutions and matrix products ({} kept float for accuracy), "
      "{} samples, ranges {}, equalized by {}\n",
      report.integer_layers, report.integer_layers + report.float_layers, report.kept_for_accuracy,
      report.samples, Name(report.ranges), Name(report.equalized));
  for (size_t i = 0; i < report.accuracy.outputs.size() && i < report.outputs.size(); ++i) {
    const SignalToNoise& output = report.accuracy.outputs[i];
    text += fmt::format("quantized: output {}: {:.1f} dB, largest difference {:.3g}\n",
                        report.outputs[i], output.Decibel(), output.largest_error);
  }
  text += fmt::format("quantized: worst output of the worst of {} samples: {:.1f} dB\n",
                      report.judged, report.accuracy.decibel);
  text += Classes(report.accuracy);
  if (!report.accuracy.Reaches(report.goal)) {
    text += "quantized: the goal is missed: see --quantize-snr and --quantize-keep\n";
  }
  for (const QuantizedLayer& layer : report.layers) {
    const bool chosen = !layer.integer && layer.reason == kKeptForAccuracy;
    if (verbose || chosen) text += Layer(layer);
  }
  return text;
}

}  // namespace

std::string Summary(const Conversion& conversion, bool verbose) {
  std::string text;
  const MemoryReport& memory = conversion.memory;
  const double gap = memory.lower_bound == 0
                         ? 0.0
                         : 100.0 * static_cast<double>(memory.arena_bytes - memory.lower_bound) /
                               static_cast<double>(memory.lower_bound);
  text += fmt::format(
      "{}: arena {} bytes ({:.2f}% above the lower bound{}), constants {} "
      "bytes\n",
      memory.space, memory.arena_bytes, gap, memory.proven_optimal ? ", proven optimal" : "",
      memory.constants_bytes);
  for (const ArenaBeside& arena : memory.beside) {
    text += fmt::format("{}: arena {} bytes, which ops work in too\n", arena.space, arena.bytes);
  }
  for (const OutsideInputReport& input : conversion.outside) {
    const std::string where = input.rows > 0 ? fmt::format("by {} row(s) at a time", input.rows)
                                             : "in memory of the caller's own";
    text += fmt::format("input {}: {} bytes {}\n", input.input, input.bytes, where);
  }
  AddInputFormats(conversion.passes, text);
  AddWeights(conversion.weights, text);
  AddSplits(conversion, text);
  AddProgram(conversion.program, text);
  AddMapping(conversion, text);
  AddAccelerator(conversion, text);
  AddOptimal(conversion.mapping_report, text);
  if (conversion.cut_short) text += "time limit: passed, so that searches ended early\n";
  if (conversion.order.changed && memory.source_order_bytes > memory.arena_bytes) {
    text += fmt::format("order: another than the model's, which needs {} bytes\n",
                        memory.source_order_bytes);
  }
  if (conversion.time.before > conversion.time.after) {
    text += fmt::format("order: another than the model's, which takes {:.3f} ms\n",
                        Milliseconds(conversion.time.before));
  }
  if (conversion.order.target_met && !*conversion.order.target_met) {
    text += fmt::format(
        "order: none that takes as long as wanted was found, and none takes less than "
        "{:.3f} ms\n",
        Milliseconds(conversion.time.lower_bound));
  }
  if (conversion.time.after > 0) {
    text += fmt::format("predicted: {:.3f} ms ({})\n", Milliseconds(conversion.time.after),
                        SourceOf(conversion.time));
  }
  if (const auto bound = BoundInstructions(conversion.plan)) {
    text += fmt::format("instructions a run: {}\n", Describe(*bound));
  }
  AddParallel(conversion, text);
  if (conversion.quantization) {
    text += QuantizeSummary(*conversion.quantization, verbose);
  }
  if (!verbose) return text;
  for (const PassReport& pass : conversion.passes) {
    text += fmt::format("pass {}: {} changed, {} declined\n", pass.name, pass.changed,
                        pass.declined.size());
    for (const Declined& entry : pass.declined) {
      text += fmt::format("  {}: {}\n", entry.op, entry.reason);
    }
  }
  return text + conversion.graph_text;
}

}  // namespace tenon::converter
