#include "backends/fpga/sim/xclbin_image.hpp"

#include <xclbin.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <set>

namespace tenon::fpga::sim {
namespace {

constexpr uint64_t kControlBase = 0x1800000;
constexpr size_t kAlignment = 8;

struct Section {
  axlf_section_kind kind;
  const char* name;
  std::vector<char> bytes;
};

/// Copies a name into a field of a section, cut to the field.
template <typename Byte, size_t size>
void SetText(Byte (&field)[size], const std::string& text) {
  std::memcpy(field, text.data(), text.size() < size ? text.size() : size - 1);
}

/// A section that is a count and then entries, which begin at `first`.
template <typename Entry>
std::vector<char> Counted(const std::vector<Entry>& entries, size_t first, size_t least) {
  std::vector<char> bytes(std::max(least, first + entries.size() * sizeof(Entry)), 0);
  const auto count = static_cast<int32_t>(entries.size());
  std::memcpy(bytes.data(), &count, sizeof count);
  if (!entries.empty()) {
    std::memcpy(bytes.data() + first, entries.data(), entries.size() * sizeof(Entry));
  }
  return bytes;
}

std::vector<char> MemoryTopology(const XclbinDescription& description) {
  std::vector<mem_data> banks;
  for (const XclbinBank& bank : description.banks) {
    mem_data data{};
    data.m_type = MEM_DDR4;
    data.m_used = 1;
    data.m_size = bank.bytes / 1024;
    data.m_base_address = bank.base;
    SetText(data.m_tag, bank.name);
    banks.push_back(data);
  }
  return Counted(banks, offsetof(mem_topology, m_mem_data), sizeof(mem_topology));
}

std::vector<char> Connectivity(const XclbinDescription& description) {
  std::vector<connection> connections;
  for (size_t i = 0; i < description.arguments.size(); ++i) {
    const XclbinArgument& argument = description.arguments[i];
    if (argument.port.empty()) continue;
    connections.push_back({static_cast<int32_t>(i), 0, static_cast<int32_t>(argument.bank)});
  }
  return Counted(connections, offsetof(connectivity, m_connection), sizeof(connectivity));
}

std::vector<char> IpLayout(const XclbinDescription& description) {
  ip_data unit{};
  unit.m_type = IP_KERNEL;
  unit.properties = IP_INT_ENABLE_MASK | (AP_CTRL_HS << IP_CONTROL_SHIFT);
  unit.m_base_address = kControlBase;
  SetText(unit.m_name, description.kernel + ":" + description.instance);
  return Counted(std::vector<ip_data>{unit}, offsetof(ip_layout, m_ip_data), sizeof(ip_layout));
}

std::string Hex(uint64_t value) {
  std::string digits;
  do {
    digits.insert(digits.begin(), "0123456789abcdef"[value % 16]);
    value /= 16;
  } while (value != 0);
  return "0x" + digits;
}

std::string ArgumentXml(const XclbinArgument& argument, size_t id) {
  const bool is_pointer = !argument.port.empty();
  return "<arg name=\"" + argument.name + "\" addressQualifier=\"" + (is_pointer ? "1" : "0") +
         "\" id=\"" + std::to_string(id) + "\" port=\"" +
         (is_pointer ? argument.port : "s_axi_control") + "\" size=\"" + Hex(argument.bytes) +
         "\" offset=\"" + Hex(argument.offset) + "\" type=\"" +
         (is_pointer ? "void*" : "unsigned int") + "\" hostOffset=\"0x0\" hostSize=\"" +
         Hex(argument.bytes) + "\"/>\n";
}

/// The attributes of the kernel, as both files that describe one have them.
std::string KernelAttributes(const XclbinDescription& description) {
  return "name=\"" + description.kernel +
         "\" language=\"ip_c\" vlnv=\"tenon:rtl:" + description.kernel + ":1.0\" attributes=\"" +
         description.configuration +
         "\" preferredWorkGroupSizeMultiple=\"0\" workGroupSize=\"1\" interrupt=\"true\" "
         "hwControlProtocol=\"ap_ctrl_hs\"";
}

std::string PortsXml(const XclbinDescription& description) {
  std::string xml;
  std::set<std::string> ports;
  for (const XclbinArgument& argument : description.arguments) {
    if (argument.port.empty() || !ports.insert(argument.port).second) continue;
    xml += "<port name=\"" + argument.port +
           "\" mode=\"master\" range=\"0xFFFFFFFFFFFFFFFF\" dataWidth=\"128\" "
           "portType=\"addressable\" base=\"0x0\"/>\n";
  }
  return xml +
         "<port name=\"s_axi_control\" mode=\"slave\" range=\"0x1000\" dataWidth=\"32\" "
         "portType=\"addressable\" base=\"0x0\"/>\n";
}

std::string ArgumentsXml(const XclbinDescription& description) {
  std::string xml;
  for (size_t i = 0; i < description.arguments.size(); ++i) {
    xml += ArgumentXml(description.arguments[i], i);
  }
  return xml;
}

/// What XRT reads the kernel's arguments from.
std::vector<char> Metadata(const XclbinDescription& description) {
  const std::string clock = std::to_string(description.clock_mhz) + "MHz";
  const std::string xml =
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<project name=\"" + description.kernel +
      "\">\n<platform vendor=\"tenon\" boardid=\"simulated\" name=\"simulated\" "
      "featureRomTime=\"0\">\n<version major=\"1\" minor=\"0\"/>\n"
      "<device name=\"fpga0\" fpgaDevice=\"simulated\" addrWidth=\"0\">\n"
      "<core name=\"OCL_REGION_0\" target=\"bitstream\" type=\"clc_region\" clockFreq=\"" +
      clock + "\" numComputeUnits=\"1\">\n<kernelClocks><clock port=\"KERNEL_CLK\" frequency=\"" +
      clock + "\"/></kernelClocks>\n<kernel " + KernelAttributes(description) + ">\n" +
      PortsXml(description) + ArgumentsXml(description) + "<instance name=\"" +
      description.instance + "\"><addrRemap base=\"" + Hex(kControlBase) +
      "\" port=\"s_axi_control\"/></instance>\n"
      "</kernel>\n</core>\n</device>\n</platform>\n</project>\n";
  return {xml.begin(), xml.end()};
}

/// Sixteen bytes that follow from all sections.
void SetUuid(const std::vector<Section>& sections, axlf* image) {
  uint64_t digest[2] = {14695981039346656037U, 88172645463325252U};
  for (const Section& section : sections) {
    for (const char byte : section.bytes) {
      const auto value = static_cast<unsigned char>(byte);
      digest[0] = (digest[0] ^ value) * 1099511628211U;
      digest[1] = digest[1] * 6364136223846793005U + value + 1;
    }
  }
  std::memcpy(image->m_header.uuid, digest, sizeof image->m_header.uuid);
  image->m_uniqueId = digest[0];
}

constexpr size_t AlignUp(size_t bytes) {
  return (bytes + kAlignment - 1) / kAlignment * kAlignment;
}

}  // namespace

std::string MakeKernelXml(const XclbinDescription& description) {
  return "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<root versionMajor=\"1\" "
         "versionMinor=\"6\">\n"
         "<kernel " +
         KernelAttributes(description) + ">\n<ports>\n" + PortsXml(description) +
         "</ports>\n<args>\n" + ArgumentsXml(description) + "</args>\n</kernel>\n</root>\n";
}

std::vector<char> MakeXclbin(const XclbinDescription& description) {
  const std::vector<Section> sections = {
      {MEM_TOPOLOGY, "mem_topology", MemoryTopology(description)},
      {ASK_GROUP_TOPOLOGY, "group_topology", MemoryTopology(description)},
      {CONNECTIVITY, "connectivity", Connectivity(description)},
      {ASK_GROUP_CONNECTIVITY, "group_connect", Connectivity(description)},
      {IP_LAYOUT, "ip_layout", IpLayout(description)},
      {EMBEDDED_METADATA, "embedded_meta", Metadata(description)},
  };
  const size_t header = sizeof(axlf) + (sections.size() - 1) * sizeof(axlf_section_header);
  size_t total = AlignUp(header);
  for (const Section& section : sections) total += AlignUp(section.bytes.size());
  std::vector<char> bytes(total, 0);
  auto* const image = reinterpret_cast<axlf*>(bytes.data());
  std::memcpy(image->m_magic, "xclbin2", sizeof image->m_magic);
  image->m_signature_length = -1;
  std::memset(image->reserved, 0xFF, sizeof image->reserved);
  std::memset(image->m_keyBlock, 0xFF, sizeof image->m_keyBlock);
  image->m_header.m_length = total;
  image->m_header.m_versionMajor = 2;
  image->m_header.m_versionMinor = 13;
  image->m_header.m_mode = XCLBIN_PR;
  SetText(image->m_header.m_platformVBNV, "tenon_simulated_board");
  image->m_header.m_numSections = static_cast<uint32_t>(sections.size());
  SetUuid(sections, image);
  size_t offset = AlignUp(header);
  for (size_t i = 0; i < sections.size(); ++i) {
    axlf_section_header& entry = image->m_sections[i];
    entry.m_sectionKind = sections[i].kind;
    SetText(entry.m_sectionName, sections[i].name);
    entry.m_sectionOffset = offset;
    entry.m_sectionSize = sections[i].bytes.size();
    std::memcpy(bytes.data() + offset, sections[i].bytes.data(), sections[i].bytes.size());
    offset += AlignUp(sections[i].bytes.size());
  }
  return bytes;
}

}  // namespace tenon::fpga::sim
