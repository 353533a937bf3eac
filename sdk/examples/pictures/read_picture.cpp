// The one place that knows stb_image.
#define STB_IMAGE_IMPLEMENTATION
#include <stb/stb_image.h>

#include "picture.hpp"

namespace pictures {

std::optional<Picture> Read(const std::string& file, std::string* why) {
  Picture picture;
  int channels = 0;
  stbi_uc* pixels = stbi_load(file.c_str(), &picture.width, &picture.height, &channels, 3);
  if (pixels == nullptr) {
    *why = "cannot read '" + file + "': " + stbi_failure_reason();
    return std::nullopt;
  }
  const auto count = static_cast<size_t>(picture.width) * static_cast<size_t>(picture.height) * 3;
  picture.rgb.assign(pixels, pixels + count);
  stbi_image_free(pixels);
  return picture;
}

}  // namespace pictures
