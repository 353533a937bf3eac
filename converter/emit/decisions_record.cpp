#include "converter/emit/decisions_record.hpp"

#include <cstddef>
#include <cstring>

#include "converter/aligned_bytes.hpp"
#include "runtime/base/crc32c.hpp"
#include "runtime/base/round_up.hpp"

namespace tenon::converter {
namespace {

constexpr char kMagic[] = {'T', 'N', 'D', 'C'};

struct RecordHeader {
  char magic[4];
  uint32_t crc32c;  ///< of the text
  uint64_t bytes;   ///< of the text, which follows
};
static_assert(sizeof(RecordHeader) == 16);

/// Returns where the record of a plan begins, if it has one: behind its last section.
size_t RecordPosition(const PlanView& plan) {
  uint64_t end = plan.header().bytes;
  for (size_t i = 0; i < plan.section_count(); ++i) {
    end = plan.section(i).file_offset + plan.section(i).bytes;
  }
  return RoundUp(static_cast<size_t>(end), alignof(RecordHeader));
}

}  // namespace

Status AppendDecisions(std::string_view json, std::vector<uint8_t>& file) {
  const AlignedBytes<kPlanAlignment> emitted(file);
  const auto plan = PlanView::Open({emitted.data(), emitted.size()}, /*skip_section_crc=*/true);
  if (!plan.ok())
    return InternalError("the new plan cannot be opened: {}", ToString(plan.status()));
  const size_t position = RecordPosition(*plan);
  RecordHeader header{};
  std::memcpy(header.magic, kMagic, sizeof kMagic);
  header.crc32c = Crc32c(json.data(), json.size());
  header.bytes = json.size();
  file.resize(position, 0);
  const auto* bytes = reinterpret_cast<const uint8_t*>(&header);
  file.insert(file.end(), bytes, bytes + sizeof header);
  file.insert(file.end(), json.begin(), json.end());
  return {};
}

Result<std::string> ReadDecisions(const PlanView& plan) {
  const Span<const uint8_t> file = plan.file();
  const size_t position = RecordPosition(plan);
  RecordHeader header{};
  if (position > file.size() || file.size() - position < sizeof header) return std::string();
  std::memcpy(&header, file.data() + position, sizeof header);
  if (std::memcmp(header.magic, kMagic, sizeof kMagic) != 0) return std::string();
  const uint8_t* text = file.data() + position + sizeof header;
  if (header.bytes > file.size() - position - sizeof header ||
      Crc32c(text, static_cast<size_t>(header.bytes)) != header.crc32c) {
    return InputError("the plan's record of decisions is damaged");
  }
  return std::string(reinterpret_cast<const char*>(text), static_cast<size_t>(header.bytes));
}

}  // namespace tenon::converter
