#include "backends/opencl/codegen/group_source.hpp"

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <cstring>

#include "backends/opencl/codegen/tile_parameters.hpp"

namespace tenon::opencl {
namespace {

constexpr char kKernelWord[] = "__kernel";

/// The largest struct of the sources that are merged is that of conv_tile.cl.
constexpr int32_t kParameterStructBytes = static_cast<int32_t>(sizeof(TileParameters));

bool IsWordCharacter(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
}

/// The text without comments and empty lines.
std::string WithoutComments(const char* text) {
  std::string stripped;
  std::string line;
  for (const char* at = text;; ++at) {
    if (*at != '\n' && *at != '\0') {
      line += *at;
      continue;
    }
    line.resize(std::min(line.size(), line.find("//")));
    while (!line.empty() && line.back() == ' ') line.pop_back();
    if (!line.empty()) stripped += line + "\n";
    line.clear();
    if (*at == '\0') return stripped;
  }
}

/// Calls `visit(line)` for every line.
template <typename Visit>
void ForEachLine(const std::string& text, const Visit& visit) {
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    visit(text.substr(begin, end - begin));
    begin = end + 1;
  }
}

void AddOnce(std::vector<std::string>& names, const std::string& name) {
  if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
}

/// The word that ends before `end`.
std::string WordBefore(const std::string& text, size_t end) {
  while (end > 0 && text[end - 1] == ' ') --end;
  size_t begin = end;
  while (begin > 0 && IsWordCharacter(text[begin - 1])) --begin;
  return text.substr(begin, end - begin);
}

/// The word that begins at or after `begin`.
std::string WordAfter(const std::string& text, size_t begin) {
  while (begin < text.size() && text[begin] == ' ') ++begin;
  size_t end = begin;
  while (end < text.size() && IsWordCharacter(text[end])) ++end;
  return text.substr(begin, end - begin);
}

/// Texts between commas outside of brackets, up to the bracket that closes.
std::vector<std::string> Parameters(const std::string& text, size_t begin) {
  std::vector<std::string> parameters(1);
  int depth = 0;
  for (size_t at = begin; at < text.size() && (text[at] != ')' || depth > 0); ++at) {
    if (text[at] == '(') ++depth;
    if (text[at] == ')') --depth;
    if (text[at] == ',' && depth == 0) {
      parameters.emplace_back();
    } else if (text[at] != '\n') {
      parameters.back() += text[at];
    }
  }
  return parameters;
}

constexpr char kDefineFunction[] = "DEFINE_FUNCTION(";

/// What a file of kernels defines, by the form that all of them have: what is at the start of a
/// line is at file scope.
struct Definitions {
  std::vector<std::string> names;  ///< functions and types
  std::vector<std::string> macros;
};

Definitions FindDefinitions(const std::string& text) {
  Definitions found;
  ForEachLine(text, [&](const std::string& line) {
    const size_t first = line.find_first_not_of(' ');
    if (line[first] == '#') {
      const size_t define = line.find("define");
      if (define != std::string::npos) AddOnce(found.macros, WordAfter(line, define + 6));
      return;
    }
    if (first != 0) return;
    if (line[0] == '}') {
      const std::string type = WordAfter(line, 1);
      if (!type.empty()) AddOnce(found.names, type);
      return;
    }
    if (line.rfind(kDefineFunction, 0) == 0) {
      const std::vector<std::string> arguments = Parameters(line, sizeof kDefineFunction - 1);
      AddOnce(found.names, WordAfter(arguments[1], 0));
      return;
    }
    const size_t bracket = line.find('(');
    const bool is_function = bracket != std::string::npos && line.rfind("typedef", 0) != 0;
    // A macro's use has no type before its name.
    if (is_function && WordBefore(line, bracket).size() < bracket) {
      AddOnce(found.names, WordBefore(line, bracket));
    }
  });
  return found;
}

constexpr char kConst[] = "const ";

/// The type of a parameter: all but its name, and without what keeps it from being assigned.
std::string TypeOf(const std::string& parameter) {
  const std::string name = WordBefore(parameter, parameter.size());
  std::string type = parameter.substr(0, parameter.rfind(name));
  type.erase(0, type.find_first_not_of(' '));
  if (type.rfind(kConst, 0) == 0) type.erase(0, sizeof kConst - 1);
  return type;
}

/// Parameters of a kernel in a text without comments.
std::vector<std::string> KernelParameters(const std::string& text, const char* function) {
  const size_t at = text.find(std::string(" ") + function + "(");
  return at == std::string::npos ? std::vector<std::string>()
                                 : Parameters(text, at + std::strlen(function) + 2);
}

/// Kernels become functions that are told where they are; what they ask of their work-item is a
/// macro (kHead).
std::string WithFunctions(const std::string& text) {
  std::string made;
  for (size_t at = 0; at < text.size();) {
    const size_t kernel = text.find(kKernelWord, at);
    made += text.substr(at, kernel == std::string::npos ? kernel : kernel - at);
    if (kernel == std::string::npos) break;
    const size_t bracket = text.find('(', kernel);
    made += "static inline void " + WordBefore(text, bracket) +
            "(const uint4 tenon_item, const int4 tenon_size, ";
    at = bracket + 1;
  }
  return made;
}

constexpr char kHead[] =
    "#define get_global_id(dimension) TENON_ID_##dimension\n"
    "#define TENON_ID_0 tenon_item.x\n"
    "#define TENON_ID_1 tenon_item.y\n"
    "#define TENON_ID_2 tenon_item.z\n"
    "#define get_global_size(dimension) TENON_SIZE_##dimension\n"
    "#define TENON_SIZE_0 tenon_size.x\n"
    "#define TENON_SIZE_1 tenon_size.y\n"
    "#define TENON_SIZE_2 tenon_size.z\n"
    "static inline uint4 tenon_find_item(const uint group, const uint item, const int4 groups,\n"
    "                                    const int4 items) {\n"
    "  const uint row = group / (uint)groups.x;\n"
    "  const uint line = item / (uint)items.x;\n"
    "  return (uint4)(group % (uint)groups.x * (uint)items.x + item % (uint)items.x,\n"
    "                 row % (uint)groups.y * (uint)items.y + line % (uint)items.y,\n"
    "                 row / (uint)groups.y * (uint)items.z + line / (uint)items.y,\n"
    "                 item >= (uint)items.w);\n"
    "}\n"
    "#define TENON_IDLE (tenon_item.w != 0)\n"
    "#ifdef ON_CPU\n"
    "#define TENON_GROUP_SIZE __attribute__((reqd_work_group_size(1, 1, 1)))\n"
    "#define TENON_FOR_EACH_ITEM(items) for (uint item = 0; item < (uint)(items).w; ++item)\n"
    "#else\n"
    "#define TENON_GROUP_SIZE\n"
    "#define TENON_FOR_EACH_ITEM(items) const uint item = get_local_id(0); if (item < "
    "(uint)(items).w)\n"
    "#endif\n";

/// "-DTAPS=9 -DLOG" as lines that define the same.
std::string Defines(const std::string& options, std::vector<std::string>* macros) {
  std::string lines;
  for (size_t at = options.find("-D"); at != std::string::npos; at = options.find(" -D", at)) {
    at += options[at] == ' ' ? 3 : 2;
    const size_t end = std::min(options.find(' ', at), options.size());
    const std::string define = options.substr(at, end - at);
    const size_t equals = std::min(define.find('='), define.size());
    AddOnce(*macros, define.substr(0, equals));
    lines += "#define " + define.substr(0, equals) + " " +
             (equals < define.size() ? define.substr(equals + 1) : "1") + "\n";
  }
  return lines;
}

std::string TextOf(const ProgramChoice& program) {
  return WithoutComments(FindKernelSource(program.file));
}

/// True if the launch's function has local memory as its last parameter, where a device has such.
bool HasLocalMemory(const SubKernel& launch) {
  const char* function = launch.on_cpu.function;
  return KernelParameters(TextOf(launch.with_local), function).size() >
         KernelParameters(TextOf(launch.on_cpu), function).size();
}

/// What the program's options define, on each kind of device.
std::string ConditionalDefines(const SubKernel& program, std::vector<std::string>* macros) {
  std::string on_cpu = Defines(program.on_cpu.options, macros);
  const std::string with_local = Defines(program.with_local.options, macros);
  const std::string elsewhere = Defines(program.options, macros);
  if (on_cpu == elsewhere && on_cpu == with_local) return on_cpu;
  std::string made = "#ifdef ON_CPU\n" + on_cpu;
  if (with_local != elsewhere) made += "#elif defined(LOCAL_MEMORY)\n" + with_local;
  return made + "#else\n" + elsewhere + "#endif\n";
}

/// The text of one program under names of its own.
std::string ProgramText(const SubKernel& program, const std::string& prefix,
                        const std::vector<const char*>& functions) {
  const std::string text = TextOf(program.on_cpu);
  const std::string local_text = TextOf(program.with_local);
  Definitions definitions = FindDefinitions(text + local_text);
  std::string made = ConditionalDefines(program, &definitions.macros);
  for (const std::string& name : definitions.names) {
    made.append("#define ").append(name).append(" ").append(prefix).append(name).append("\n");
  }
  if (local_text != text) made += "#ifdef LOCAL_MEMORY\n" + WithFunctions(local_text) + "#else\n";
  made += WithFunctions(text);
  if (local_text != text) made += "#endif\n";
  for (const char* function : functions) {
    const std::vector<std::string> parameters = KernelParameters(text, function);
    for (size_t i = 0; i < parameters.size(); ++i) {
      made += "typedef " + TypeOf(parameters[i]) + " " + prefix + "type_" + function + "_" +
              std::to_string(i) + ";\n";
    }
  }
  for (const std::string& name : definitions.names) made += "#undef " + name + "\n";
  for (const std::string& name : definitions.macros) made += "#undef " + name + "\n";
  return made;
}

bool IsSameProgram(const SubKernel& a, const SubKernel& b) {
  return std::strcmp(a.on_cpu.file, b.on_cpu.file) == 0 && a.on_cpu.options == b.on_cpu.options &&
         std::strcmp(a.with_local.file, b.with_local.file) == 0 &&
         a.with_local.options == b.with_local.options && a.options == b.options;
}

int32_t BytesOfType(const std::string& type) {
  if (type.find('*') != std::string::npos || type.find("ulong") != std::string::npos) return 8;
  if (type.find("Parameters") != std::string::npos) return kParameterStructBytes;
  if (type.find("int8") != std::string::npos) return 32;
  if (type.find("int4") != std::string::npos) return 16;
  return 8;
}

/// The kernel of a phase: finds the launch that a work-group is of, and calls its function with the
/// launch's arguments. Functions that several launches have are called in one place: compilers copy
/// them to every call.
class GroupKernel {
 public:
  void Add(const SubKernel& launch, const std::string& prefix) {
    const std::string number = std::to_string(launches_++);
    const std::string name = prefix + launch.on_cpu.function;
    const std::vector<std::string> parameters =
        KernelParameters(TextOf(launch.on_cpu), launch.on_cpu.function);
    if (HasLocalMemory(launch)) local_floats_ = std::max(local_floats_, launch.local_floats);
    size_t function = 0;
    while (function < functions_.size() && functions_[function] != name) ++function;
    if (function == functions_.size()) AddFunction(name, prefix, launch, parameters.size());
    choice_ += (number == "0" ? "  if" : " else if") +
               std::string(" (group_id < (end += (uint)groups") + number +
               ".w)) {\n    function = " + std::to_string(function) + ";\n";
    for (size_t i = 0; i < parameters.size(); ++i) {
      const std::string parameter = "p" + number + "_" + std::to_string(i);
      parameters_ += TypeName(prefix, launch, i) + " " + parameter + ", ";
      choice_ += "    " + Argument(function, i) + " = " + parameter + ";\n";
    }
    parameters_ += "const int4 groups" + number + ", const int4 items" + number + ", ";
    choice_ += "    groups = groups" + number + ";\n    items = items" + number + ";\n  }";
  }

  [[nodiscard]] std::string Text(const std::string& kernel) const {
    return "__kernel TENON_GROUP_SIZE void " + kernel + "(" +
           parameters_.substr(0, parameters_.size() - 2) + ") {\n" + LocalMemory() +
           "  const uint group_id = get_group_id(0);\n  uint end = 0;\n  int function = -1;\n"
           "  int4 groups = (int4)(1);\n  int4 items = (int4)(1);\n" +
           arguments_ + choice_ + "\n  const uint group = group_id - (end - (uint)groups.w);\n" +
           calls_ + "}\n";
  }

  /// The name of the type of a launch's parameter.
  static std::string TypeName(const std::string& prefix, const SubKernel& launch, size_t index) {
    return prefix + "type_" + launch.on_cpu.function + "_" + std::to_string(index);
  }

 private:
  static std::string Argument(size_t function, size_t index) {
    return "a" + std::to_string(function) + "_" + std::to_string(index);
  }

  void AddFunction(const std::string& name, const std::string& prefix, const SubKernel& launch,
                   size_t parameters) {
    const size_t function = functions_.size();
    functions_.push_back(name);
    std::string call = name + "(tenon_find_item(group, item, groups, items), groups * items";
    for (size_t i = 0; i < parameters; ++i) {
      arguments_ += "  " + TypeName(prefix, launch, i) + " " + Argument(function, i) + ";\n";
      call += ", " + Argument(function, i);
    }
    calls_ += "  if (function == " + std::to_string(function) + ") {\n";
    const bool has_local = HasLocalMemory(launch);
    if (has_local) {
      calls_ += "#ifdef LOCAL_MEMORY\n    const uint item = get_local_id(0);\n    " + call +
                ", tenon_local);\n#else\n";
    }
    calls_ += "    TENON_FOR_EACH_ITEM(items) " + call + ");\n";
    if (has_local) calls_ += "#endif\n";
    calls_ += "  }\n";
  }

  /// What the launches share: each has a work-group of its own.
  [[nodiscard]] std::string LocalMemory() const {
    if (local_floats_ == 0) return "";
    constexpr int kVector = 4;
    return "#ifdef LOCAL_MEMORY\n  __local JOIN(DTYPE, 4) tenon_local[" +
           std::to_string((local_floats_ + kVector - 1) / kVector) + "];\n#endif\n";
  }

  size_t launches_ = 0;
  int local_floats_ = 0;
  std::vector<std::string> functions_;
  std::string parameters_;
  std::string arguments_;
  std::string choice_;
  std::string calls_;
};

}  // namespace

uint32_t ParameterCount(const SubKernel& launch) {
  const std::string text = WithoutComments(FindKernelSource(launch.on_cpu.file));
  return static_cast<uint32_t>(KernelParameters(text, launch.on_cpu.function).size()) + 2;
}

int32_t ParameterBytes(const SubKernel& launch) {
  const std::string text = WithoutComments(FindKernelSource(launch.on_cpu.file));
  int32_t bytes = 2 * 16;
  for (const std::string& parameter : KernelParameters(text, launch.on_cpu.function)) {
    bytes += BytesOfType(TypeOf(parameter));
  }
  return (bytes + 15) / 16 * 16;
}

std::string GroupKernelName(uint32_t phase) {
  return phase == 0 ? "group" : "group_phase_" + std::to_string(phase);
}

std::string GroupSource(const std::vector<SubKernel>& launches) {
  std::vector<size_t> programs;  // the first launch of each
  std::vector<std::string> prefixes;
  for (size_t i = 0; i < launches.size(); ++i) {
    size_t program = 0;
    while (program < programs.size() && !IsSameProgram(launches[programs[program]], launches[i])) {
      ++program;
    }
    if (program == programs.size()) programs.push_back(i);
    prefixes.push_back("s" + std::to_string(program) + "_");
  }
  std::string source = kHead;
  for (const size_t first : programs) {
    std::vector<const char*> functions;
    for (size_t i = first; i < launches.size(); ++i) {
      const char* function = launches[i].on_cpu.function;
      const auto is_it = [&](const char* known) { return std::strcmp(known, function) == 0; };
      if (prefixes[i] == prefixes[first] &&
          std::none_of(functions.begin(), functions.end(), is_it)) {
        functions.push_back(function);
      }
    }
    source += ProgramText(launches[first], prefixes[first], functions);
  }
  std::vector<GroupKernel> kernels;
  for (size_t i = 0; i < launches.size(); ++i) {
    if (kernels.size() <= launches[i].phase) kernels.resize(launches[i].phase + 1);
    kernels[launches[i].phase].Add(launches[i], prefixes[i]);
  }
  for (uint32_t phase = 0; phase < kernels.size(); ++phase) {
    source += kernels[phase].Text(GroupKernelName(phase));
  }
  return source;
}

}  // namespace tenon::opencl
