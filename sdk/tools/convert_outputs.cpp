#include "sdk/tools/convert_outputs.hpp"

#include <filesystem>

#include "sdk/tools/files.hpp"
#include "sdk/tools/output_names.hpp"

namespace tenon::tool {
namespace {

namespace fs = std::filesystem;

/// Such names cannot be written into an #include.
bool HasOddCharacters(const std::string& name) {
  return name.find_first_of("\"\\\r\n") != std::string::npos;
}

ConvertOutputs NameSource(const std::string& source) {
  const fs::path path(source);
  const std::string extension = path.extension().string();
  if (extension != ".c" && extension != ".S") {
    Fail(kUsage, "--emit=c wants -o NAME.c, or NAME.S for the assembler, not '{}'", source);
  }
  if (HasOddCharacters(path.filename().string())) {
    Fail(kUsage, "-o {}: C cannot include a file of such a name", source);
  }
  ConvertOutputs outputs;
  outputs.source = source;
  outputs.header = fs::path(path).replace_extension(".h").string();
  if (extension == ".S") outputs.plan = fs::path(path).replace_extension(".tenon").string();
  outputs.name = path.stem().string();
  return outputs;
}

ConvertOutputs NameAll(const ConvertCommand& options) {
  if (options.emit == "c") return NameSource(options.plan);
  const std::string extension = fs::path(options.plan).extension().string();
  if (extension == ".c" || extension == ".S") {
    Fail(kUsage, "-o {} names source, a plan would be written: add --emit=c", options.plan);
  }
  ConvertOutputs outputs;
  outputs.plan = options.plan;
  return outputs;
}

}  // namespace

ConvertOutputs NameOutputs(const ConvertCommand& options) {
  ConvertOutputs outputs = NameAll(options);
  const bool json_is_device = !options.json.empty() && fs::is_character_file(options.json);
  for (const std::string& output : {outputs.plan, outputs.source, outputs.header}) {
    if (output.empty()) continue;
    const fs::path model(options.request.model);
    const bool is_weights = model.extension() == ".prototxt" &&
                            IsSameFile(output, fs::path(model).replace_extension(".caffemodel"));
    if (IsSameFile(output, model) || is_weights) {
      Fail(kUsage, "-o {} would replace the model", output);
    }
    if (!options.json.empty() && !json_is_device && IsSameFile(options.json, output)) {
      Fail(kUsage, "--json {} would replace the plan", options.json);
    }
  }
  return outputs;
}

void WriteOutputs(const ConvertOutputs& outputs, const std::vector<uint8_t>& plan,
                  const std::vector<NewFile>& reports) {
  CSource text;
  if (!outputs.source.empty()) {
    const Outcome<CSource> made =
        EmitCSource(plan, outputs.name, fs::path(outputs.header).filename().string(),
                    fs::path(outputs.plan).filename().string());
    if (!made) FailWith(made.error());
    text = *made;
  }
  const std::string_view plan_text(reinterpret_cast<const char*>(plan.data()), plan.size());
  std::vector<NewFile> files;
  if (!outputs.plan.empty()) files.push_back({outputs.plan, plan_text});
  if (!outputs.source.empty()) {
    files.push_back({outputs.header, text.header});
    files.push_back({outputs.source, text.source});
  }
  for (const NewFile& report : reports) {
    if (!report.path.empty()) files.push_back(report);
  }
  WriteFiles(files);
}

}  // namespace tenon::tool
