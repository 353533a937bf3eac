#include "sdk/tools/convert_options.hpp"

#include <CLI/CLI.hpp>

#include "sdk/tools/backend_files.hpp"

namespace tenon::tool {
namespace {

void AddMeasureOptions(CLI::App& command, ConvertCommand& options) {
  const CLI::Validator not_empty(
      [](const std::string& text) { return std::string(text.empty() ? "is empty" : ""); }, "");
  constexpr const char* kGroup = "Methods";
  command
      .add_option("--target", options.target.command,
                  "COMMAND that runs 'tenon' on the target, for --order=measured: a shell adds "
                  "'bench PLAN --json /dev/stdout ...' to it; without, this machine is measured")
      ->check(not_empty)
      ->group(kGroup);
  command
      .add_option("--target-timeout", options.target.timeout_seconds,
                  "Seconds after which a run of the target's command is ended")
      ->check(Between(0.001, 1e6))
      ->capture_default_str()
      ->group(kGroup);
  command
      .add_option("--measure-orders", options.request.measured.orders,
                  "Orders to measure: the search's, the model's own, the rest at random")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str()
      ->group(kGroup);
}

/// About several backends, threads and devices.
void AddMappingOptions(CLI::App& command, ConvertCommand& options) {
  constexpr const char* kGroup = "Backends and threads";
  ConvertRequest& request = options.request;
  command
      .add_option("--mapping", options.mapping,
                  "Give ops to backends by the board's priority table, or so that the predicted "
                  "time (for --objective=throughput: the time between results) is least; auto: by "
                  "the table, but a pipeline's stages go to any unit that the table lists")
      ->check(CLI::IsMember({"auto", "table", "optimal"}))
      ->capture_default_str()
      ->group(kGroup);
  command
      .add_option("--map", request.mapping.pins,
                  "'PATTERN=BACKEND,...': ops by name ('*' and '?' match) onto a backend, whatever "
                  "the table says; the last that matches counts")
      ->allow_extra_args(false)
      ->group(kGroup);
  command
      .add_option_function<std::vector<std::string>>(
          "--backend",
          [&request](const std::vector<std::string>& paths) {
            for (const std::string& path : paths) {
              const BackendFile file = LoadBackendFile(path);
              if (file.caps == nullptr) {
                Fail(kInputRefused,
                     "--backend {}: has no tenon_backend_module_caps: nothing is known of it",
                     path);
              }
              request.backends.push_back(file.caps);
            }
          },
          "Shared library with a backend of its own (tenon/backend.hpp), which the board names; "
          "may "
          "be repeated")
      ->allow_extra_args(false)
      ->group(kGroup);
  command
      .add_flag("--fallback", request.mapping.fallback,
                "Let the plan carry CPU kernels for what runs on devices, for where a device is "
                "missing or fails")
      ->group(kGroup);
  command
      .add_option("--aggregate", options.aggregate,
                  "Start a device once for neighbouring ops, or for every op")
      ->check(CLI::IsMember({"on", "off"}))
      ->capture_default_str()
      ->group(kGroup);
  command
      .add_option("--fuse-branches", options.fuse_branches,
                  "Start ops of parallel branches together where that is predicted to be faster")
      ->check(CLI::IsMember({"auto", "off"}))
      ->capture_default_str()
      ->group(kGroup);
  command
      .add_option("--parallel", request.parallel.mode,
                  "Use several threads and devices inside an op, between ops, by replicas (of "
                  "inferences, or of parts of a batch), by several of these, or in a pipeline: the "
                  "predicted best, or the one named")
      ->check(CLI::IsMember({"auto", "intra", "inter", "inter+intra", "replicas", "replicas+intra",
                             "replicas+inter", "replicas+inter+intra", "pipeline"}))
      ->capture_default_str()
      ->group(kGroup);
  command
      .add_option("--threads", request.parallel.threads,
                  "CPU threads that runs of the plan may use in all")
      ->check(AtLeast(1))
      ->capture_default_str()
      ->group(kGroup);
  command
      .add_option("--rows-per-call", request.parallel.rows_per_call,
                  "For a model of one row a run: how many rows the program will give the stream in "
                  "one call "
                  "(tenon_stream_run_batch), so that threads and replicas are chosen for that many")
      ->check(AtLeast(1))
      ->group(kGroup);
  command
      .add_option("--channels", options.channels,
                  "Buffers of each channel between a pipeline's stages: 'auto' or a number")
      ->capture_default_str()
      ->group(kGroup);
  command
      .add_option("--balance", options.balance,
                  "Cut a pipeline again by what its stages take once they are built, until that "
                  "gains nothing (auto), or once (off)")
      ->check(CLI::IsMember({"auto", "off"}))
      ->capture_default_str()
      ->group(kGroup);
}

/// The model, what to write, and the board.
void AddFiles(CLI::App& command, ConvertCommand& options) {
  command.add_option("MODEL", options.request.model, "Model file (.onnx, .tflite, .prototxt)")
      ->required();
  command.add_option("--caffemodel", options.request.caffemodel,
                     "Weights of a Caffe network; without it those beside the .prototxt");
  command
      .add_option(
          "-o", options.plan,
          "File to write: the plan (.tenon), or with --emit=c its source (.c or .S) with the "
          "header beside it (.h)")
      ->required();
  command
      .add_option("--board", options.request.board, "A board's name (see 'tenon boards') or file")
      ->required();
  command
      .add_option(
          "--emit", options.emit,
          "A plan file, or C for firmware: the plan as an array, the table of the kernels "
          "that it needs, sizes; with -o NAME.S the plan beside it (NAME.tenon), included by "
          "the assembler")
      ->check(CLI::IsMember({"plan", "c"}))
      ->capture_default_str();
}

/// About the shapes of inputs, and what is known of them.
void AddShapeOptions(CLI::App& command, ConvertCommand& options) {
  constexpr const char* kGroup = "Shapes";
  command
      .add_option("--batch", options.request.batch, "Value of a free first dimension of the inputs")
      ->check(AtLeast(1))
      ->group(kGroup);
  command.add_option("--shape", options.shapes, "NAME=1x3x224x224: shape of an input")
      ->allow_extra_args(false)
      ->group(kGroup);
  command.add_option("--freeze", options.freeze, "NAME=FILE.npy: makes an input a constant")
      ->allow_extra_args(false)
      ->group(kGroup);
  command
      .add_option("--align-corners", options.request.align_corners,
                  "ONNX's Resize with align_corners and a scale that gives no whole size: the last "
                  "corner by the scales, as ONNX's text has it, or by the sizes, as ONNX Runtime, "
                  "OpenVINO and PyTorch do")
      ->check(CLI::IsMember({"scales", "sizes"}))
      ->capture_default_str()
      ->group(kGroup);
  command
      .add_option("--state", options.states,
                  "OUTPUT=INPUT: the input finds what the output held in the run before, zeros in "
                  "the first; the plan keeps it and has neither as a port")
      ->allow_extra_args(false)
      ->group(kGroup);
}

/// About limits of memory, and what to do about them.
void AddMemoryOptions(CLI::App& command, ConvertCommand& options) {
  constexpr const char* kGroup = "Memory";
  command
      .add_option("--memory-limit", options.memory_limits,
                  "SPACE=BYTES (K, M, G): hard limit, instead of the board's")
      ->allow_extra_args(false)
      ->group(kGroup);
  command
      .add_option("--input-from", options.input_from,
                  "NAME=memory: an input lies in memory of the firmware's own, which runs only "
                  "read; NAME=rows:N: the firmware may hand it in, N rows at a time. The plan has "
                  "an arena for it alone")
      ->allow_extra_args(false)
      ->group(kGroup);
  command
      .add_option(
          "--max-memory", options.max_memory,
          "BYTES (K, M, G) that the model's constants, those computed from others among "
          "them, may take during conversion; without it 256M and 16 times the model's files")
      ->group(kGroup);
  command
      .add_option("--split", options.split,
                  "Split ops and chains of ops that do not fit the board's memory, or refuse them")
      ->check(CLI::IsMember({"auto", "off"}))
      ->capture_default_str()
      ->group(kGroup);
  command
      .add_option("--memory-program", options.memory_program,
                  "Where memory is short, run ops again and move tensors between memories: where "
                  "that is fastest (auto), never (off), or even where splitting is faster (force)")
      ->check(CLI::IsMember({"auto", "off", "force"}))
      ->capture_default_str()
      ->group(kGroup);
  command
      .add_flag("--relax-limit", options.request.relax_limit,
                "Raise a limit that cannot be met, step by step, instead of refusing the model")
      ->group(kGroup);
}

/// About what the searches look for, and how long.
void AddMethodOptions(CLI::App& command, ConvertCommand& options) {
  constexpr const char* kGroup = "Methods";
  command
      .add_option("--time-limit", options.request.time_limit_seconds,
                  "Seconds after which searches settle for the best that they have; 0: none, so "
                  "that plans are the same on every machine")
      ->check(AtLeast(0))
      ->group(kGroup);
  command
      .add_option("--objective", options.objective,
                  "Least predicted time of one inference, most inferences a second for a stream of "
                  "inputs, or the smallest arena at the price of time")
      ->check(CLI::IsMember({"latency", "throughput", "memory"}))
      ->capture_default_str()
      ->group(kGroup);
  command
      .add_option("--most-slowdown", options.request.most_slowdown,
                  "With --objective=memory: the smallest arena at no more than so many times the "
                  "predicted time of the model unsplit (1.3, say)")
      ->check(CLI::Range(1.0, 1000.0))
      ->group(kGroup);
  command.add_option("--profile", options.request.profile, "Measured costs, by 'tenon profile'")
      ->group(kGroup);
  command.add_option("--fuse", options.fuse, "Fuse batch norms, activations, additions, pads")
      ->check(CLI::IsMember({"on", "off"}))
      ->capture_default_str()
      ->group(kGroup);
  command
      .add_option(
          "--order", options.order,
          "Order of ops: the model's own, the best that a search finds, a random one, or of "
          "several the one that runs fastest on the target")
      ->check(CLI::IsMember({"source", "search", "random", "measured"}))
      ->capture_default_str()
      ->group(kGroup);
  command
      .add_option("--order-budget", options.order_budget,
                  "Work of the search: about two microseconds each, the same on every machine")
      ->check(AtLeast(0))
      ->capture_default_str()
      ->group(kGroup);
  command
      .add_option("--order-target", options.request.order_target_ms,
                  "Stop the search at the first order predicted to take at most so many ms")
      ->check(AtLeast(0))
      ->group(kGroup);
  command
      .add_option("--key-nodes", options.key_nodes,
                  "Cut the graph at nodes that all paths go through, and search part by part")
      ->check(CLI::IsMember({"on", "off"}))
      ->capture_default_str()
      ->group(kGroup);
  command
      .add_option("--subgraph-ops", options.request.subgraph_ops,
                  "Parts between such nodes have at least so many ops: in larger ones the search "
                  "sees more orders, and takes longer")
      ->check(AtLeast(1))
      ->capture_default_str()
      ->group(kGroup);
  command.add_option("--seed", options.request.seed, "Of what is left to chance in searches")
      ->capture_default_str()
      ->group(kGroup);
}

/// About the numbers that ports and weights are.
void AddNumberOptions(CLI::App& command, ConvertCommand& options) {
  constexpr const char* kGroup = "Numbers";
  command
      .add_option("--input-format", options.input_formats,
                  "NAME=u8,nhwc,mean=M,scale=S: an input as a device delivers it (u8, i8 or f32; "
                  "nhwc or nchw), of which the model takes (x - mean) * scale; a number for each "
                  "channel as M:M:M. The first convolution reads it as it is where it can")
      ->allow_extra_args(false)
      ->group(kGroup);
  command
      .add_option(
          "--output-format", options.output_formats,
          "NAME=nhwc or NAME=nchw: an output's images with channels last or first, whatever "
          "the model has; costs nothing where the last op computes in that layout")
      ->allow_extra_args(false)
      ->group(kGroup);
  command
      .add_option("--weights", options.request.weights,
                  "How the plan stores weights of convolutions and matrix products in f32: as the "
                  "model does, as f32, or in fewer bits (int8: with a scale for each output "
                  "channel); they compute in f32 all the same")
      ->check(CLI::IsMember({"model", "f32", "f16", "int8"}))
      ->capture_default_str()
      ->group(kGroup);
}

/// About what is told of the plan.
void AddReportOptions(CLI::App& command, ConvertCommand& options) {
  constexpr const char* kGroup = "Reports";
  command.add_option("--json", options.json, "Write every decision there")->group(kGroup);
  command
      .add_option(
          "--report", options.report,
          "Write the page of 'tenon report' there (.html): timeline, memory, why each op is "
          "where it is")
      ->group(kGroup);
  command
      .add_option("--decisions", options.decisions,
                  "Record the decisions behind the plan's last section, for 'tenon explain' and "
                  "'tenon report'; never with --emit=c")
      ->check(CLI::IsMember({"on", "off"}))
      ->capture_default_str()
      ->group(kGroup);
  command.add_flag("-v", options.verbose, "Print passes and the final graph")->group(kGroup);
  command.add_flag("-q", options.quiet, "Print nothing but errors")->group(kGroup);
}

}  // namespace

void AddConvertOptions(CLI::App& command, ConvertCommand& options) {
  AddFiles(command, options);
  AddShapeOptions(command, options);
  AddMemoryOptions(command, options);
  AddMethodOptions(command, options);
  AddNumberOptions(command, options);
  AddMappingOptions(command, options);
  AddQuantizeOptions(command, options.quantize);
  AddMeasureOptions(command, options);
  AddReportOptions(command, options);
}

}  // namespace tenon::tool
