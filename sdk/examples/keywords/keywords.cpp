// Which words are said in a recording, by a network that takes samples of sound as they are: its
// input is as long as a window (16000: a second), f32 from -1 to 1, and its output a score for each
// word.
//
//   keywords PLAN SOUND.wav [--labels FILE] [--step 0.5] [--rate 16000]
//
// The file is PCM of 16 bits at that rate; of several channels the first is heard. The window moves
// by --step seconds; what is missing at the end is silence.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "tenon/tenon.hpp"

namespace {

int Complain(const std::string& message) {
  std::fprintf(stderr, "keywords: error: %s\n", message.c_str());
  return 1;
}

struct Sound {
  uint32_t rate = 0;
  std::vector<float> samples;
};

uint32_t Number(const std::string& bytes, size_t at, size_t size) {
  uint32_t value = 0;
  for (size_t i = 0; i < size; ++i) {
    value |= static_cast<uint32_t>(static_cast<unsigned char>(bytes[at + i])) << (8 * i);
  }
  return value;
}

/// Reads the chunks of a WAV file. None if it is something else, cut off, or not PCM of 16 bits.
std::optional<Sound> ReadWav(const std::string& file) {
  std::ifstream stream(file, std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(stream), {}};
  if (bytes.size() < 12 || bytes.compare(0, 4, "RIFF") != 0 || bytes.compare(8, 4, "WAVE") != 0) {
    return std::nullopt;
  }
  Sound sound;
  size_t channels = 0;
  for (size_t at = 12; bytes.size() - at >= 8;) {
    const std::string name = bytes.substr(at, 4);
    const size_t size = Number(bytes, at + 4, 4);
    at += 8;
    if (size > bytes.size() - at) return std::nullopt;
    if (name == "fmt " && size >= 16) {
      constexpr uint32_t kPcm = 1;
      if (Number(bytes, at, 2) != kPcm || Number(bytes, at + 14, 2) != 16) return std::nullopt;
      channels = Number(bytes, at + 2, 2);
      sound.rate = Number(bytes, at + 4, 4);
    }
    if (name == "data" && channels > 0) {
      for (size_t i = 0; i + 2 * channels <= size; i += 2 * channels) {
        const auto sample = static_cast<int16_t>(Number(bytes, at + i, 2));
        sound.samples.push_back(static_cast<float>(sample) / 32768.0F);
      }
      return sound;
    }
    at = std::min(bytes.size(), at + size + size % 2);
  }
  return std::nullopt;
}

std::vector<std::string> ReadLabels(const std::string& file) {
  std::vector<std::string> labels;
  std::ifstream stream(file);
  for (std::string line; std::getline(stream, line);) labels.push_back(line);
  return labels;
}

/// Probabilities, where the network gives logits: where they do not add up to 1 already.
void ToProbabilities(std::vector<float>& scores) {
  float sum = 0;
  bool is_share = true;
  for (const float score : scores) {
    sum += score;
    is_share &= score >= 0;
  }
  if (is_share && std::abs(sum - 1) < 1e-2F) return;
  const float largest = *std::max_element(scores.begin(), scores.end());
  sum = 0;
  for (float& score : scores) sum += score = std::exp(score - largest);
  for (float& score : scores) score /= sum;
}

int Listen(const tenon::Plan& plan, tenon::Session& session, const Sound& sound, size_t step,
           const std::vector<std::string>& labels) {
  const size_t window = plan.Input(0).bytes / sizeof(float);
  for (size_t from = 0; from < sound.samples.size(); from += step) {
    auto* input = static_cast<float*>(session.InputData(0));
    const size_t count = std::min(window, sound.samples.size() - from);
    std::fill_n(input, window, 0.0F);
    std::memcpy(input, &sound.samples[from], count * sizeof(float));
    if (const auto error = session.Run()) return Complain(error->message);
    const auto* output = static_cast<const float*>(session.OutputData(0));
    std::vector<float> scores(output, output + plan.Output(0).bytes / sizeof(float));
    ToProbabilities(scores);
    const auto best =
        static_cast<size_t>(std::max_element(scores.begin(), scores.end()) - scores.begin());
    const std::string label = best < labels.size() ? labels[best] : std::to_string(best);
    std::printf("%6.2f s: %s %.4f\n", static_cast<double>(from) / sound.rate, label.c_str(),
                static_cast<double>(scores[best]));
    if (from + window >= sound.samples.size()) break;  // the last window has the end
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<std::string> words;
  std::map<std::string, std::string> options = {
      {"--labels", ""}, {"--step", "0.5"}, {"--rate", "16000"}};
  for (int i = 1; i < argc; ++i) {
    if (options.count(argv[i]) > 0 && i + 1 < argc) {
      options[argv[i]] = argv[i + 1];
      ++i;
    } else {
      words.emplace_back(argv[i]);
    }
  }
  if (words.size() != 2) {
    return Complain("usage: keywords PLAN SOUND.wav [--labels FILE] [--step 0.5] [--rate 16000]");
  }
  const auto sound = ReadWav(words[1]);
  if (!sound) return Complain("'" + words[1] + "' is not a WAV file of 16 bits PCM");
  if (std::to_string(sound->rate) != options["--rate"]) {
    return Complain("'" + words[1] + "' has " + std::to_string(sound->rate) +
                    " samples a second, " + options["--rate"] + " are wanted: resample it");
  }
  auto plan = tenon::Plan::Open(words[0]);
  if (!plan) return Complain(plan.error().message);
  if (plan->InputCount() != 1 || plan->Input(0).dtype != TENON_F32 || plan->OutputCount() != 1 ||
      plan->Output(0).dtype != TENON_F32) {
    return Complain("the plan does not take samples as f32 and give scores as f32");
  }
  auto session = tenon::Session::Open(*plan);
  if (!session) return Complain(session.error().message);
  const double step = std::strtod(options["--step"].c_str(), nullptr) * sound->rate;
  if (!(step >= 1)) return Complain("--step wants seconds above 0");
  return Listen(*plan, *session, *sound, static_cast<size_t>(step),
                ReadLabels(options["--labels"]));
}
