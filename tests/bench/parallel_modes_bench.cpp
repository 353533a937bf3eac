// Measures every parallel mode of a model on a call of several rows, by turns, beside the times
// that the converter predicted and the mode that it chose. Every mode's outputs are compared with
// those of the sequential program on one thread.
//
//   parallel_modes_bench MODEL [--rows N] [--threads N] [--rounds N] [--board NAME] [--profile
//   FILE]
//
// --rows: of a call, for models of one row (a batch that is handed in at once). A round runs each
// mode once, in an order that changes from round to round; figures are medians over the rounds.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <random>

#include "tenon/converter.hpp"
#include "tenon/tenon.hpp"

namespace {

using Clock = std::chrono::steady_clock;
using Bytes = std::vector<std::byte>;
using Json = nlohmann::json;

struct Settings {
  std::string model;
  std::string board = "x86-64";
  std::string profile;
  int64_t rows = 0;
  int threads = 2;
  size_t rounds = 21;
};

[[noreturn]] void Stop(const std::string& words) {
  fmt::print(stderr, "{}\n", words);
  std::exit(1);
}

Settings Parse(int count, char** words) {
  Settings settings;
  for (int i = 1; i < count; ++i) {
    const std::string word = words[i];
    if (word.rfind("--", 0) != 0) {
      settings.model = word;
      continue;
    }
    if (i + 1 == count) Stop(word + " needs a value");
    const std::string value = words[++i];
    if (word == "--rows") {
      settings.rows = std::stoll(value);
    } else if (word == "--threads") {
      settings.threads = std::stoi(value);
    } else if (word == "--rounds") {
      settings.rounds = static_cast<size_t>(std::stoul(value));
    } else if (word == "--board") {
      settings.board = value;
    } else if (word == "--profile") {
      settings.profile = value;
    } else {
      Stop("there is no option " + word);
    }
  }
  if (settings.model.empty()) Stop("usage: parallel_modes_bench MODEL [--rows N] [--threads N]...");
  return settings;
}

tenon::ConvertedPlan Converted(const Settings& settings, const std::string& mode, int threads) {
  tenon::ConvertRequest request;
  request.model = settings.model;
  request.board = settings.board;
  request.profile = settings.profile;
  request.parallel.mode = mode;
  request.parallel.threads = threads;
  request.parallel.rows_per_call = settings.rows;
  auto plan = tenon::Convert(request);
  if (!plan) Stop(mode + ": " + plan.error().message);
  return std::move(*plan);
}

/// One mode, ready to run calls.
class Mode {
 public:
  /// `chosen`: the candidate in the report.
  Mode(const tenon::ConvertedPlan& plan, const Json& chosen, size_t rows, const std::string& file)
      : name_(chosen.at("mode")), predicted_ms_(chosen.at("latency_ms")), rows_(rows) {
    std::ofstream(file, std::ios::binary)
        .write(reinterpret_cast<const char*>(plan.bytes.data()),
               static_cast<std::streamsize>(plan.bytes.size()));
    const bool between = name_.find("inter") != std::string::npos;
    const bool inside = name_.find("intra") != std::string::npos;
    auto opened = tenon::Plan::Open(file, inside ? chosen.at("threads_per_op").get<int>() : 1, {},
                                    ProgramOf(file, between));
    if (!opened) Stop(opened.error().message);
    plan_ = std::make_unique<tenon::Plan>(std::move(*opened));
    tenon_stream_options options{};
    options.replicas = chosen.at("replicas").get<size_t>();
    options.mode = !between ? TENON_STREAM_SEQUENTIAL
                            : (inside ? TENON_STREAM_INTER_INTRA : TENON_STREAM_INTER);
    auto stream = tenon::Stream::Open(*plan_, options);
    if (!stream) Stop(stream.error().message);
    stream_ = std::make_unique<tenon::Stream>(std::move(*stream));
    MakeBuffers();
  }

  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] double predicted_ms() const { return predicted_ms_; }
  [[nodiscard]] const std::vector<Bytes>& outputs() const { return outputs_; }
  [[nodiscard]] std::vector<double>& times() { return times_; }

  double Run() {
    const Clock::time_point start = Clock::now();
    if (auto error = stream_->RunBatch(rows_, input_addresses_.data(), output_addresses_.data())) {
      Stop(name_ + ": " + error->message);
    }
    return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
  }

 private:
  /// The program that the mode runs: that for a part of a batch where there is one.
  static std::string ProgramOf(const std::string& file, bool between) {
    auto plan = tenon::Plan::Open(file);
    if (!plan) Stop(plan.error().message);
    for (size_t i = 0; i < plan->ProgramCount(); ++i) {
      if (std::string(plan->Program(i).name) == "shards") return "shards";
    }
    return between ? "inter" : "";
  }

  /// Inputs are random numbers, the same for every mode.
  void MakeBuffers() {
    std::mt19937 random(1);
    std::uniform_real_distribution<float> uniform(-1.0F, 1.0F);
    for (size_t i = 0; i < plan_->InputCount(); ++i) {
      const tenon_port_info port = plan_->Input(i);
      Bytes bytes(port.bytes / static_cast<size_t>(port.dims[0]) * rows_);
      for (size_t at = 0; at < bytes.size() && port.dtype == TENON_F32; at += sizeof(float)) {
        const float value = uniform(random);
        std::memcpy(bytes.data() + at, &value, sizeof value);
      }
      inputs_.push_back(std::move(bytes));
    }
    for (size_t i = 0; i < plan_->OutputCount(); ++i) {
      const tenon_port_info port = plan_->Output(i);
      outputs_.emplace_back(port.bytes / static_cast<size_t>(port.dims[0]) * rows_);
    }
    for (const Bytes& input : inputs_) input_addresses_.push_back(input.data());
    for (Bytes& output : outputs_) output_addresses_.push_back(output.data());
  }

  std::string name_;
  double predicted_ms_;
  size_t rows_;
  std::unique_ptr<tenon::Plan> plan_;
  std::unique_ptr<tenon::Stream> stream_;
  std::vector<Bytes> inputs_;
  std::vector<Bytes> outputs_;
  std::vector<const void*> input_addresses_;
  std::vector<void*> output_addresses_;
  std::vector<double> times_;
};

double Median(std::vector<double> times) {
  std::sort(times.begin(), times.end());
  return times[times.size() / 2];
}

/// The plan on one thread, as a mode beside the candidates; nothing is predicted of it.
Json SequentialRow(const Json& parallel) {
  Json row = parallel.at("candidates")[0];
  row["mode"] = "sequential";
  row["replicas"] = row["threads_per_op"] = 1;
  row["latency_ms"] = 0.0;
  return row;
}

std::vector<std::unique_ptr<Mode>> OpenModes(const Settings& settings, const Json& parallel,
                                             const std::string& folder) {
  const auto rows =
      static_cast<size_t>(std::max<int64_t>(parallel.at("rows_per_call").get<int64_t>(), 1));
  std::vector<std::unique_ptr<Mode>> modes;
  std::vector<Json> candidates = {SequentialRow(parallel)};
  for (const Json& candidate : parallel.at("candidates")) {
    if (!candidate.contains("why_not")) candidates.push_back(candidate);
  }
  for (const Json& candidate : candidates) {
    const std::string name = candidate.at("mode");
    const bool is_taken = std::any_of(modes.begin(), modes.end(),
                                      [&](const auto& mode) { return mode->name() == name; });
    if (is_taken) continue;
    const tenon::ConvertedPlan plan =
        Converted(settings, name == "sequential" ? "intra" : name, settings.threads);
    const Json own = Json::parse(plan.decisions_json).at("parallel");
    Json row = candidate;
    for (const Json& other : own.at("candidates")) {
      if (other.at("mode") == name && !other.contains("why_not") &&
          other.at("replicas") == own.at("replicas")) {
        row = other;
      }
    }
    modes.push_back(
        std::make_unique<Mode>(plan, row, rows, fmt::format("{}/{}.tenon", folder, modes.size())));
  }
  return modes;
}

void Measure(std::vector<std::unique_ptr<Mode>>& modes, size_t rounds) {
  std::mt19937 random(1);
  for (const auto& mode : modes) {
    mode->Run();
    mode->Run();
  }
  for (size_t round = 0; round < rounds; ++round) {
    std::vector<Mode*> order;
    for (const auto& mode : modes) order.push_back(mode.get());
    std::shuffle(order.begin(), order.end(), random);
    for (Mode* mode : order) mode->times().push_back(mode->Run());
  }
}

void Print(std::vector<std::unique_ptr<Mode>>& modes, const Json& parallel) {
  double best = 1e300;
  for (const auto& mode : modes) best = std::min(best, Median(mode->times()));
  fmt::print("| mode | predicted ms | measured ms | least ms | over the best | outputs |\n");
  fmt::print("| --- | --- | --- | --- | --- | --- |\n");
  const std::string chosen = parallel.at("mode");
  for (const auto& mode : modes) {
    const double median = Median(mode->times());
    fmt::print("| {}{} | {:.2f} | {:.2f} | {:.2f} | {:.3f} | {} |\n", mode->name(),
               mode->name() == chosen ? " (chosen)" : "", mode->predicted_ms(), median,
               *std::min_element(mode->times().begin(), mode->times().end()), median / best,
               mode->outputs() == modes[0]->outputs() ? "equal" : "DIFFER");
  }
}

}  // namespace

int main(int count, char** words) {
  const Settings settings = Parse(count, words);
  const tenon::ConvertedPlan automatic = Converted(settings, "auto", settings.threads);
  const Json parallel = Json::parse(automatic.decisions_json).at("parallel");
  if (parallel.is_null()) Stop("nothing to choose: give more threads");
  char folder[] = "/tmp/parallel_modes_XXXXXX";
  if (mkdtemp(folder) == nullptr) Stop("no folder for plans");
  auto modes = OpenModes(settings, parallel, folder);
  Measure(modes, settings.rounds);
  fmt::print("{} rows per call, {} threads, {} rounds; chosen: {}\n",
             parallel.at("rows_per_call").get<int64_t>(), settings.threads, settings.rounds,
             parallel.at("mode").get<std::string>());
  Print(modes, parallel);
  modes.clear();
  std::filesystem::remove_all(folder);
}
