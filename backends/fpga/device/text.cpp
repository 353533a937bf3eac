#include "backends/fpga/device/text.hpp"

#include "runtime/backend_api/kept_texts.hpp"

namespace tenon::fpga {

const char* KeepText(const std::string& text) {
  static auto* const kept = new KeptTexts(
      kMostKeptTexts,
      "an error of the accelerator or XRT, after so many others that its words are not kept");
  return kept->Keep(text);
}

}  // namespace tenon::fpga
