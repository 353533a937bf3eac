// The options of `tenon convert`: what the user writes, and what the converter is told.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "converter/driver/pipeline.hpp"
#include "sdk/tools/convert_measured.hpp"
#include "sdk/tools/mapping_options.hpp"
#include "sdk/tools/quantize_options.hpp"
#include "sdk/tools/tool.hpp"

namespace tenon::tool {

struct ConvertCommand {
  std::string model;
  std::string plan;  ///< what -o names: the plan, or source made of it
  std::string emit = "plan";
  std::string board;
  int64_t batch = 0;
  std::vector<std::string> shapes;
  std::vector<std::string> freeze;
  std::vector<std::string> memory_limits;
  std::string fuse = "on";
  std::vector<std::string> input_formats;
  std::string weights = "model";
  std::string split = "auto";
  std::string order = "search";
  int64_t order_budget = converter::MemoryOrderOptions{}.work_budget;
  double order_target_ms = 0;
  std::string key_nodes = "on";
  std::string objective = "latency";
  double most_slowdown = 0;
  uint64_t seed = 1;
  std::string profile;
  MappingCommand mapping;
  QuantizeCommand quantize;
  MeasureOptions measure;
  std::string only_measured;  ///< an option that was given and needs --order=measured
  std::string json;
  bool verbose = false;
  bool quiet = false;
};

/// Adds every option to the subcommand, grouped, with its default.
void AddConvertOptions(CLI::App& command, ConvertCommand& options);

/// Reads what the options name (board, frozen inputs, profile). With --order=measured the order is
/// the search's, and the rest is in `measure`. Throws Failure.
[[nodiscard]] converter::ConvertOptions ToConvertOptions(const ConvertCommand& options);

/// How --order=measured measures for that board.
[[nodiscard]] MeasureOptions ToMeasureOptions(const ConvertCommand& options,
                                              const converter::Board& board);

}  // namespace tenon::tool
