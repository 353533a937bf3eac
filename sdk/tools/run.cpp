// tenon run: one inference.
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <iostream>
#include <memory>
#include <set>

#include "converter/did_you_mean.hpp"
#include "sdk/tools/backend_files.hpp"
#include "sdk/tools/files.hpp"
#include "sdk/tools/plan_runner.hpp"
#include "sdk/tools/quantized_port.hpp"
#include "sdk/tools/tool.hpp"
#include "sdk/tools/trace_recorder.hpp"

namespace tenon::tool {
namespace {

struct RunOptions {
  std::string plan;
  std::vector<std::string> inputs;
  std::vector<std::string> expectations;
  std::string output_dir;
  std::string trace;
  double rtol = 1e-4;
  double atol = 1e-5;
  int threads = 0;
  bool zeros = false;
  bool portable = false;
  int top = 5;
  int device_timeout = 0;  ///< seconds; 0: the runtime's own limit
  int steps = 0;           ///< 0: one run, of arrays without a dimension of steps
};

struct Output {
  tenon_port_info port;
  std::vector<std::byte> bytes;
  std::vector<int64_t> shape;

  [[nodiscard]] Elements Values() const { return {port.dtype, bytes}; }
};

/// The places of the largest of what the output's values stand for, the largest first: NaN last,
/// ties by index.
std::vector<size_t> LargestOf(const Output& output, size_t count) {
  const Elements values = output.Values();
  const auto value_at = [&](size_t i) {
    const double real = RealValue(output.port, values[i]);
    return std::isnan(real) ? -INFINITY : real;
  };
  const auto larger = [&](size_t a, size_t b) {
    const double x = value_at(a);
    const double y = value_at(b);
    return x != y ? x > y : a < b;
  };
  std::vector<size_t> largest;  // a heap, the least of them first
  for (size_t i = 0; i < values.size() && count > 0; ++i) {
    if (largest.size() == count) {
      if (!larger(i, largest.front())) continue;
      std::pop_heap(largest.begin(), largest.end(), larger);
      largest.pop_back();
    }
    largest.push_back(i);
    std::push_heap(largest.begin(), largest.end(), larger);
  }
  std::sort_heap(largest.begin(), largest.end(), larger);
  return largest;
}

void PrintOutput(const Output& output, int top) {
  std::cout << output.port.name << ": " << DescribeArray(output.port.dtype, output.shape)
            << DescribeQuantization(output.port);
  const Elements values = output.Values();
  const std::vector<size_t> largest = LargestOf(output, static_cast<size_t>(std::max(top, 0)));
  if (!largest.empty()) std::cout << "  top:";
  for (const size_t i : largest) {
    std::cout << fmt::format(" [{}]={:.6g}", i, RealValue(output.port, values[i]));
  }
  std::cout << '\n';
}

/// File systems take names of 255 bytes; a number, an ending and that of a temporary file come on
/// top.
constexpr size_t kMostOfStem = 200;

/// The first kMostOfStem bytes, or fewer so that no character of UTF-8 is cut.
std::string Shortened(std::string name) {
  if (name.size() <= kMostOfStem) return name;
  size_t end = kMostOfStem;
  while (end > 0 && (static_cast<unsigned char>(name[end]) & 0xC0) == 0x80) --end;
  name.resize(end);
  return name;
}

/// A file name from a port name: what a path cannot hold, or a terminal should not, becomes '_'.
std::string FileStem(const std::string& name) {
  std::string stem = Shortened(name);
  for (char& c : stem) {
    if (c == '/' || c == '\\' || static_cast<unsigned char>(c) < ' ' || c == '\x7F') c = '_';
  }
  return stem == "." || stem == ".." ? "_" : stem;
}

/// One name per output: its own where a file can have it. Of others that would be the same, the
/// later one gets a number.
std::vector<std::string> FileNames(const std::vector<Output>& outputs) {
  std::set<std::string> taken;
  std::vector<std::string> names(outputs.size());
  for (const bool keeps_name : {true, false}) {
    for (size_t i = 0; i < outputs.size(); ++i) {
      const std::string stem = FileStem(outputs[i].port.name);
      if ((stem == outputs[i].port.name) != keeps_name) continue;
      names[i] = stem + ".npy";
      for (int k = 2; !taken.insert(names[i]).second; ++k) {
        names[i] = fmt::format("{}_{}.npy", stem, k);
      }
    }
  }
  return names;
}

void WriteOutputs(const std::vector<Output>& outputs, const std::filesystem::path& directory) {
  std::error_code error;
  std::filesystem::create_directories(directory, error);
  if (error) Fail(kDeviceFailure, "cannot make '{}': {}", directory.string(), error.message());
  const std::vector<std::string> names = FileNames(outputs);
  std::vector<std::string> heads;
  std::vector<NewFile> files;
  for (const Output& output : outputs) heads.push_back(NpyHead(output.port.dtype, output.shape));
  for (size_t i = 0; i < outputs.size(); ++i) {
    const auto* elements = reinterpret_cast<const char*>(outputs[i].bytes.data());
    files.push_back({directory / names[i], heads[i], {elements, outputs[i].bytes.size()}});
  }
  WriteFiles(files);
  for (size_t i = 0; i < outputs.size(); ++i) {
    const std::string name = outputs[i].port.name;
    if (name.size() > kMostOfStem) {
      std::cout << fmt::format("the output whose name has {} characters is in '{}'\n", name.size(),
                               names[i]);
    } else if (names[i] != name + ".npy") {
      std::cout << fmt::format("output {}, whose name no file can have, is in '{}'\n", i, names[i]);
    }
  }
}

struct Expectation {
  size_t output;
  NpyArray array;
};

/// Read before the run: a wrong name, file or shape should not cost an inference.
std::vector<Expectation> ReadExpectations(const Plan& plan, const RunOptions& options) {
  std::vector<Expectation> expectations;
  const std::vector<std::string> names = OutputNames(plan);
  for (const std::string& argument : options.expectations) {
    const auto [name, file] = SplitPortFile(argument, "--expect", names);
    const std::optional<size_t> index = plan.FindOutput(name);
    if (!index.has_value()) {
      Fail(kUsage, "the plan has no output '{}': {}it has '{}'", name, DidYouMean(name, names),
           fmt::join(names, "', '"));
    }
    const tenon_port_info port = plan.Output(*index);
    const std::vector<int64_t> shape = ShapeOf(port, options.steps);
    const WantedArray wanted{port.dtype, shape};
    Expectation expectation{*index, ReadNpy(file, &wanted)};
    if (expectation.array.shape != shape) {
      Fail(kInputRefused, "output '{}' is {}, '{}' holds {}", name,
           DescribeArray(port.dtype, shape), file, expectation.array.Description());
    }
    expectations.push_back(std::move(expectation));
  }
  return expectations;
}

/// Compares every element: |difference| <= atol + rtol * largest |expected|. Where floats are
/// expected of integers, what those stand for.
bool MeetsExpectation(const Output& output, const NpyArray& expected, const RunOptions& options) {
  const Elements wanted(expected);
  const Elements values = output.Values();
  const auto value_at = [&](size_t i) {
    return expected.dtype == TENON_F32 ? RealValue(output.port, values[i]) : values[i];
  };
  double largest = 0;
  for (size_t i = 0; i < wanted.size(); ++i) {
    if (std::isfinite(wanted[i])) largest = std::max(largest, std::abs(wanted[i]));
  }
  const double tolerance = options.atol + options.rtol * largest;
  size_t wrong = 0;
  size_t worst = 0;
  double worst_difference = -1;
  for (size_t i = 0; i < wanted.size(); ++i) {
    const double got = value_at(i);
    const double should_be = wanted[i];
    const bool same = got == should_be || (std::isnan(got) && std::isnan(should_be));
    const double difference = same ? 0 : std::abs(got - should_be);
    const double shown = std::isnan(difference) ? INFINITY : difference;
    if (!(difference <= tolerance)) ++wrong;
    if (shown > worst_difference) {
      worst_difference = shown;
      worst = i;
    }
  }
  std::cout << fmt::format("{}: {} of {} elements within {:.3g} (atol {:g} + rtol {:g} x {:.6g})",
                           output.port.name, wanted.size() - wrong, wanted.size(), tolerance,
                           options.atol, options.rtol, largest);
  if (wanted.size() > 0) {
    std::cout << fmt::format("; largest difference {:.3g} at [{}]: got {:.9g}, expected {:.9g}",
                             worst_difference, worst, value_at(worst), wanted[worst]);
  }
  std::cout << '\n';
  return wrong == 0;
}

/// Runs the steps one after the other, with what the plan keeps of each for the next. Returns the
/// bytes of every output, those of the steps behind each other.
std::vector<std::vector<std::byte>> RunSteps(const Plan& plan, const std::vector<NpyArray>& inputs,
                                             const RunOptions& options) {
  Session session = OpenSession(plan, options.device_timeout);
  TraceRecorder recorder(plan);
  const tenon_trace trace = recorder.hooks();
  std::vector<std::vector<std::byte>> outputs(plan.OutputCount());
  const auto steps = static_cast<size_t>(std::max(options.steps, 1));
  for (size_t i = 0; i < outputs.size(); ++i) outputs[i].reserve(steps * plan.Output(i).bytes);
  for (size_t step = 0; step < steps; ++step) {
    for (size_t i = 0; i < inputs.size(); ++i) {
      const size_t bytes = plan.Input(i).bytes;
      std::copy_n(inputs[i].bytes.data() + step * bytes, bytes,
                  static_cast<std::byte*>(session.InputData(i)));
    }
    const auto error = options.trace.empty() ? session.Run() : session.RunTraced(trace);
    if (error) FailWith(*error, options.plan);
    for (size_t i = 0; i < outputs.size(); ++i) {
      const auto* data = static_cast<const std::byte*>(session.OutputData(i));
      outputs[i].insert(outputs[i].end(), data, data + plan.Output(i).bytes);
    }
  }
  if (!options.trace.empty()) WriteFile(options.trace, recorder.Json());
  return outputs;
}

void Run(const RunOptions& options) {
  const Plan plan = OpenPlan(options.plan, options.threads, options.portable);
  const std::vector<NpyArray> inputs = ReadInputs(
      plan, options.inputs, options.zeros ? Missing::kZeros : Missing::kRefused, options.steps);
  const std::vector<Expectation> expectations = ReadExpectations(plan, options);

  std::vector<std::vector<std::byte>> arrays = RunSteps(plan, inputs, options);
  std::vector<Output> outputs;
  for (size_t i = 0; i < plan.OutputCount(); ++i) {
    const tenon_port_info port = plan.Output(i);
    outputs.push_back({port, std::move(arrays[i]), ShapeOf(port, options.steps)});
    PrintOutput(outputs.back(), options.top);
  }
  if (!options.output_dir.empty()) WriteOutputs(outputs, options.output_dir);
  bool met = true;
  for (const Expectation& expectation : expectations) {
    met &= MeetsExpectation(outputs[expectation.output], expectation.array, options);
  }
  if (!met) Fail(kNo, "an output differs from what was expected");
}

}  // namespace

void AddRun(CLI::App& app) {
  const auto options = std::make_shared<RunOptions>();
  CLI::App* command = app.add_subcommand(
      "run",
      "Runs one inference and prints the outputs. Of a plan's programs it runs the first, the "
      "sequential one; 'tenon bench --mode' runs the others.");
  command->add_option("PLAN", options->plan, "Plan file (.tenon)")->required();
  command
      ->add_option("--input", options->inputs,
                   "NAME=FILE.npy, once per input; FILE.npy for an only one")
      ->type_name("TEXT")
      ->allow_extra_args(false);
  command->add_flag("--zeros", options->zeros, "Use zeros for inputs that are not given");
  command
      ->add_option(
          "--steps", options->steps,
          "Runs that many times; inputs, outputs and expectations have a leading dimension "
          "of so many steps, and what the plan keeps is kept from one to the next")
      ->check(AtLeast(1));
  command->add_option(
      "--output-dir", options->output_dir,
      "Write each output there as NAME.npy (names that no file can have are changed, and "
      "said)");
  command
      ->add_option("--expect", options->expectations,
                   "NAME=FILE.npy: compare that output, element by element")
      ->allow_extra_args(false);
  command->add_option("--trace", options->trace,
                      "Write there when each op ran, for ui.perfetto.dev or chrome://tracing");
  command->add_option("--rtol", options->rtol, "Tolerance relative to the largest expected value")
      ->check(AtLeast(0))
      ->capture_default_str();
  command->add_option("--atol", options->atol, "Absolute tolerance")
      ->check(AtLeast(0))
      ->capture_default_str();
  command->add_option("--top", options->top, "Largest values to print per output")
      ->check(AtLeast(0))
      ->capture_default_str();
  command->add_option("--threads", options->threads, "Threads; 0: one per processor")
      ->check(AtLeast(0))
      ->capture_default_str();
  AddDeviceTimeout(*command, options->device_timeout);
  command->add_flag("--portable", options->portable,
                    "Use the portable kernels only (the reference, and what firmware runs)");
  AddBackendOption(*command);
  command->callback([options] { Run(*options); });
}

}  // namespace tenon::tool
