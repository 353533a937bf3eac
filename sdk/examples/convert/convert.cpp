// Converts a model and writes the plan, from a program.
//
//   convert MODEL BOARD PLAN
#include <cstdio>
#include <fstream>

#include "tenon/converter.hpp"

int main(int argc, char** argv) {
  if (argc != 4) {
    std::fprintf(stderr, "convert: error: usage: convert MODEL BOARD PLAN\n");
    return 1;
  }
  tenon::ConvertRequest request;
  request.model = argv[1];
  request.board = argv[2];
  request.batch = 1;
  const auto converted = tenon::Convert(request);
  if (!converted) {
    std::fprintf(stderr, "convert: error: %s\n", converted.error().message.c_str());
    for (const auto& line : converted.error().details) std::fprintf(stderr, "  %s\n", line.c_str());
    return 1;
  }
  std::ofstream file(argv[3], std::ios::binary);
  file.write(reinterpret_cast<const char*>(converted->bytes.data()),
             static_cast<std::streamsize>(converted->bytes.size()));
  file.close();
  if (!file) {
    std::fprintf(stderr, "convert: error: cannot write '%s'\n", argv[3]);
    return 1;
  }
  std::printf("%s: %zu bytes\n", argv[3], converted->bytes.size());
  return 0;
}
