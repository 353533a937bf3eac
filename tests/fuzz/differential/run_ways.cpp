#include "tests/fuzz/differential/run_ways.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "tenon/tenon.hpp"

namespace tenon::test {
namespace {

using Arrays = std::vector<std::vector<std::byte>>;

/// A plan file that is gone with the object.
class PlanFile {
 public:
  explicit PlanFile(const std::vector<uint8_t>& plan) {
    const char* folder = std::getenv("TENON_BINARY_DIR");
    path_ = std::filesystem::path(folder != nullptr ? folder : ".") /
            fmt::format("differential_{}.tenon", getpid());
    std::ofstream(path_, std::ios::binary)
        .write(reinterpret_cast<const char*>(plan.data()),
               static_cast<std::streamsize>(plan.size()));
  }
  PlanFile(const PlanFile&) = delete;
  PlanFile& operator=(const PlanFile&) = delete;
  ~PlanFile() { std::filesystem::remove(path_); }
  [[nodiscard]] std::string path() const { return path_.string(); }

 private:
  std::filesystem::path path_;
};

/// Empty arrays have an address too.
template <typename Byte>
Byte* AddressOf(Byte* data, bool is_empty) {
  static std::byte nothing[16];
  return is_empty ? nothing : data;
}

std::string RunSteps(const Plan& plan, const std::vector<Arrays>& inputs, bool bound,
                     std::vector<Arrays>& outputs) {
  auto session = Session::Open(plan);
  if (!session) return session.error().message;
  for (const Arrays& step : inputs) {
    Arrays out;
    for (size_t i = 0; i < plan.OutputCount(); ++i) {
      out.emplace_back(plan.Output(i).bytes, std::byte{0xA5});
    }
    tenon_error error{};
    for (size_t i = 0; i < step.size(); ++i) {
      if (bound) {
        const std::byte* data = AddressOf(step[i].data(), step[i].empty());
        if (tenon_session_bind_input(session->handle(), i, data, step[i].size(), &error) !=
            TENON_OK) {
          return error.message;
        }
      } else if (!step[i].empty()) {
        std::memcpy(session->InputData(i), step[i].data(), step[i].size());
      }
    }
    for (size_t i = 0; bound && i < out.size(); ++i) {
      std::byte* data = AddressOf(out[i].data(), out[i].empty());
      if (tenon_session_bind_output(session->handle(), i, data, out[i].size(), &error) !=
          TENON_OK) {
        return error.message;
      }
    }
    if (const auto failed = session->Run()) return failed->message;
    for (size_t i = 0; !bound && i < out.size(); ++i) {
      if (!out[i].empty()) std::memcpy(out[i].data(), session->OutputData(i), out[i].size());
    }
    outputs.push_back(std::move(out));
  }
  return "";
}

std::string RunStream(const Plan& plan, const tenon_stream_options& options,
                      const std::vector<Arrays>& inputs, std::vector<Arrays>& outputs) {
  auto stream = Stream::Open(plan, options);
  if (!stream) return stream.error().message;
  outputs.resize(inputs.size());
  std::vector<uint64_t> tickets(inputs.size());
  for (size_t step = 0; step < inputs.size(); ++step) {
    std::vector<const void*> from;
    std::vector<void*> to;
    for (const auto& input : inputs[step]) {
      from.push_back(AddressOf(input.data(), input.empty()));
    }
    for (size_t i = 0; i < plan.OutputCount(); ++i) {
      std::vector<std::byte>& output =
          outputs[step].emplace_back(plan.Output(i).bytes, std::byte{0xA5});
      to.push_back(AddressOf(output.data(), output.empty()));
    }
    tenon_error error{};
    if (tenon_stream_submit(stream->handle(), from.data(), to.data(), UINT64_MAX, &tickets[step],
                            &error) != TENON_OK) {
      return error.message;
    }
  }
  for (const uint64_t ticket : tickets) {
    tenon_error error{};
    if (tenon_stream_wait(stream->handle(), ticket, UINT64_MAX, &error) != TENON_OK) {
      return error.message;
    }
  }
  return "";
}

}  // namespace

WayRun RunInWay(const converter::Conversion& conversion, const Choices& choices,
                const std::vector<Arrays>& inputs) {
  WayRun run;
  Way way = choices.way;
  std::string program;
  tenon_stream_options stream{};
  // A driver may compile kernels at the first run, which takes as long as the machine is busy.
  stream.device_timeout_ns = 600'000'000'000;
  if (way == Way::kPipeline) {
    stream.mode = TENON_STREAM_PIPELINE;
    program = "pipeline";
    if (!conversion.parallel.pipeline) way = Way::kSteps;
  } else if (way == Way::kInter) {
    stream.mode = TENON_STREAM_INTER;
    program = "inter";
    if (!conversion.parallel.inter) way = Way::kSteps;
  } else if (way == Way::kReplicas) {
    stream.replicas = 2;
  }
  const bool is_stream = way != Way::kOnce && way != Way::kSteps;
  if (!is_stream) program.clear();
  constexpr const char* kKinds[] = {"once", "steps", "pipeline", "inter", "replicas"};
  run.kind = kKinds[static_cast<int>(way)];

  const PlanFile file(conversion.plan);
  std::vector<const tenon_backend*> backends{choices.portable ? tenon_backend_cpu_portable()
                                                              : tenon_backend_cpu()};
  if (tenon_backend_opencl() != nullptr) backends.push_back(tenon_backend_opencl());
  const auto plan = Plan::Open(file.path(), choices.threads, backends, program);
  if (!plan) {
    run.error = plan.error().message;
    return run;
  }
  run.error = is_stream ? RunStream(*plan, stream, inputs, run.outputs)
                        : RunSteps(*plan, inputs, choices.bound, run.outputs);
  return run;
}

}  // namespace tenon::test
