// The `tenon` command.
#include <strings.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <exception>
#include <iostream>
#include <new>
#include <string>
#include <vector>

#include "converter/did_you_mean.hpp"
#include "sdk/tools/output_names.hpp"
#include "sdk/tools/tool.hpp"

namespace {

/// Names come from files: what would break the line, or steer a terminal, becomes '?'.
std::string OneLine(std::string text) {
  for (char& c : text) {
    if (static_cast<unsigned char>(c) < ' ' || c == '\x7F') c = '?';
  }
  return text;
}

/// Names are as long, and lists have as many lines, as whoever made a file wanted.
std::string Clipped(const std::string& text) {
  constexpr size_t kMost = 6000;
  constexpr size_t kEnd = 200;
  if (text.size() <= kMost) return text;
  return text.substr(0, kMost - kEnd) + "..." + text.substr(text.size() - kEnd);
}

void PrintError(const std::string& message, const std::vector<std::string>& details) {
  constexpr size_t kMostDetails = 1000;
  constexpr size_t kMostText = size_t{64} << 10;
  std::cerr << "tenon: error: " << OneLine(Clipped(message)) << '\n';
  size_t printed = 0;
  size_t text = 0;
  for (; printed < std::min(details.size(), kMostDetails) && text < kMostText; ++printed) {
    const std::string detail = OneLine(Clipped(details[printed]));
    std::cerr << "  " << detail << '\n';
    text += detail.size();
  }
  if (printed < details.size()) {
    std::cerr << "  and " << details.size() - printed << " more lines\n";
  }
}

#ifndef TENON_HAS_CONVERTER
void AddMissing(CLI::App& app, const char* name) {
  CLI::App* command = app.add_subcommand(name, "(not in this build)");
  command->prefix_command();
  command->callback([name] {
    tenon::tool::Fail(tenon::tool::kUsage, "this build has no '{}': build with TENON_CONVERTER=ON",
                      name);
  });
}
#endif

void AddCommands(CLI::App& app) {
#ifdef TENON_HAS_CONVERTER
  tenon::tool::AddConvert(app);
#else
  AddMissing(app, "convert");
#endif
  tenon::tool::AddRun(app);
  tenon::tool::AddBench(app);
  tenon::tool::AddCheck(app);
#ifdef TENON_HAS_CONVERTER
  tenon::tool::AddInspect(app);
  tenon::tool::AddExplain(app);
  tenon::tool::AddReport(app);
  tenon::tool::AddDiff(app);
  tenon::tool::AddBoards(app);
  tenon::tool::AddOps(app);
  tenon::tool::AddPlace(app);
  tenon::tool::AddProfile(app);
#else
  for (const char* name :
       {"inspect", "explain", "report", "diff", "boards", "ops", "place", "profile"})
    AddMissing(app, name);
#endif
}

std::string Suggestion(const std::string& given, const std::vector<std::string>& known) {
  const std::string text = tenon::DidYouMean(given, known);
  return text.empty() ? "" : ": " + text.substr(0, text.size() - 1);
}

std::string UsageProblem(const CLI::App& app, const CLI::ParseError& error, int argc, char** argv) {
  std::vector<std::string> known;
  if (app.get_subcommands().empty() && argc > 1) {
    for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; })) {
      known.push_back(command->get_name());
    }
    return fmt::format("no command or option '{}'{}", argv[1], Suggestion(argv[1], known));
  }
  const auto code = static_cast<CLI::ExitCodes>(error.get_exit_code());
  if (code == CLI::ExitCodes::ConversionError) {
    // "Could not convert: --batch = 1.5"
    const std::string text = error.what();
    const size_t begin = text.find("--");
    if (begin != std::string::npos) return text.substr(begin) + " is no number, or not a whole one";
  }
  // A mistyped option is also missing under its right name.
  const bool is_unknown =
      code == CLI::ExitCodes::ExtrasError || code == CLI::ExitCodes::RequiredError;
  if (!is_unknown || app.get_subcommands().empty()) return error.what();
  const CLI::App& command = *app.get_subcommands().front();
  for (const CLI::Option* option : command.get_options()) {
    for (const std::string& name : option->get_lnames()) known.push_back("--" + name);
  }
  for (int i = 2; i < argc; ++i) {
    const std::string argument = std::string(argv[i]).substr(0, std::string(argv[i]).find('='));
    const bool is_option = argument.starts_with("--") && argument.size() > 2;
    if (!is_option || std::find(known.begin(), known.end(), argument) != known.end()) continue;
    return fmt::format("'tenon {}' has no option '{}'{}", command.get_name(), argument,
                       Suggestion(argument, known));
  }
  return error.what();
}

/// Kernels pass over a value that they do not know, so that figures would be of something else.
void WarnOfUnknownCap() {
  const char* cap = std::getenv("TENON_MAX_CPU_ISA");
  if (cap == nullptr || *cap == '\0') return;
  for (const char* known : {"avx2", "avx512", "default", "all"}) {
    if (strcasecmp(cap, known) == 0) return;
  }
  std::cerr << "tenon: warning: TENON_MAX_CPU_ISA=" << OneLine(Clipped(cap))
            << " caps nothing: avx2 is the value that does\n";
}

int Main(int argc, char** argv) {
  CLI::App app{"Tenon: compiles a trained model for a board, and runs it there."};
  app.name("tenon");
  app.set_version_flag("--version", "tenon " TENON_VERSION);
  app.require_subcommand(1);
  app.footer(
      "Exit status: 0 done; 1 the answer is no; 2 usage; 3 input refused; 4 does not fit;\n"
      "             5 device or backend failure, or an output could not be written.");
  AddCommands(app);
  const std::vector<std::string> words(argv + std::min(argc, 1), argv + argc);
  if (const auto empty = std::find(words.begin(), words.end(), ""); empty != words.end()) {
    const bool has_option = empty != words.begin() && (empty - 1)->starts_with("-");
    PrintError(has_option ? *(empty - 1) + " has an empty value" : "an argument is empty",
               {"leave it out, or give it a value"});
    return tenon::tool::kUsage;
  }
  tenon::tool::CheckOutputNames(words);
  WarnOfUnknownCap();
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app.exit(error);  // --help, --version
    PrintError(UsageProblem(app, error, argc, argv),
               {"run 'tenon --help' or 'tenon COMMAND --help'"});
    return tenon::tool::kUsage;
  }
  return tenon::tool::kDone;
}

}  // namespace

int main(int argc, char** argv) {
  // A file beyond the limit of file sizes is an output that could not be written.
  std::signal(SIGXFSZ, SIG_IGN);
  try {
    const int status = Main(argc, argv);
    std::cout.flush();
    if (!std::cout) {
      PrintError("cannot write to standard output", {});
      return tenon::tool::kDeviceFailure;
    }
    return status;
  } catch (const tenon::tool::Failure& failure) {
    std::cout.flush();
    if (!failure.message.empty()) PrintError(failure.message, failure.details);
    return failure.exit;
  } catch (const std::bad_alloc&) {
    PrintError("out of memory", {});
    return tenon::tool::kDoesNotFit;
  } catch (const std::exception& error) {
    PrintError(std::string("internal: ") + error.what(), {});
    return tenon::tool::kDeviceFailure;
  }
}
