// PlanView::Open checks what must be true before any field of a plan may be read.
#include <plan_generated.h>

#include "runtime/base/crc32c.hpp"
#include "runtime/format/plan_schema.hpp"
#include "runtime/format/plan_view.hpp"

namespace tenon {
namespace {

// Message texts are constants, so the version that this runtime reads is spelled out in one.
static_assert(kPlanVersionMajor == 0 && kPlanVersionMinor == 7, "update the message below");
constexpr char kVersionMessage[] = "the plan has format {0}.{1}, this runtime reads 0.7";

/// Looks whether a FlatBuffer says what the schema's table (plan_schema.hpp) wants, without
/// trusting any byte of it. Positions count from the start of the file. Refuses what the reference
/// verifier refuses (`flatbuffers::Verifier`; a test compares), and absent elements of vectors too:
/// readers index vectors and do not expect holes.
///
/// FlatBuffers are little-endian and so is every target; values are read where they stand.
class Verifier {
 public:
  /// `size` is below 2^31. Every table takes 4 bytes and so does the offset that leads to it. A
  /// file in which many offsets lead to one table could make this walk it again and again.
  Verifier(const uint8_t* file, uint32_t size) : file_(file), size_(size), tables_left_(size / 8) {}

  /// Fields [field, end) of the schema: those of the table that the offset at `position` leads to,
  /// or the first of them.
  bool Table(uint32_t position, uint32_t field, uint32_t end) {
    const uint32_t table = Follow(position);
    if (table == 0 || tables_left_-- == 0) return false;
    // A table begins with the distance back to the list of its fields' places, which begins with
    // its own size and the table's.
    const uint32_t list = table - Word(table);
    if (list % 2 != 0 || !Holds(list, 4)) return false;
    const uint32_t list_bytes = HalfWord(list);
    if (list_bytes < 4 || list_bytes % 2 != 0 || !Holds(list, list_bytes)) return false;
    for (uint32_t entry = 4; field < end; ++field, entry += 2) {
      const plan_schema::Field wanted = plan_schema::kSchema.fields[field];
      const uint32_t place = entry < list_bytes ? HalfWord(list + entry) : 0;
      if (place == 0 ? wanted.required() : !Field(table + place, wanted)) return false;
    }
    return true;
  }

 private:
  [[nodiscard]] bool Holds(uint32_t position, uint32_t bytes) const {
    return position <= size_ && bytes <= size_ - position;
  }
  [[nodiscard]] uint32_t Word(uint32_t position) const {
    return *reinterpret_cast<const uint32_t*>(file_ + position);
  }
  [[nodiscard]] uint32_t HalfWord(uint32_t position) const {
    return *reinterpret_cast<const uint16_t*>(file_ + position);
  }

  /// Where the offset at `position` leads: a word inside the file; 0 if it does not.
  [[nodiscard]] uint32_t Follow(uint32_t position) const {
    if (position % 4 != 0 || !Holds(position, 4)) return 0;
    const uint32_t offset = Word(position);
    if (offset == 0 || offset > size_ - position) return 0;
    const uint32_t target = position + offset;
    return target % 4 == 0 && Holds(target, 4) ? target : 0;
  }

  bool Field(uint32_t position, plan_schema::Field field) {
    using plan_schema::FieldKind;
    if (field.kind() == FieldKind::kScalar || field.kind() == FieldKind::kStruct) {
      const uint32_t alignment = field.kind() == FieldKind::kStruct ? 4 : field.size();
      return position % alignment == 0 && Holds(position, field.size());
    }
    const uint32_t list = Follow(position);
    if (list == 0) return false;
    const uint32_t count = Word(list);
    const bool has_elements =
        field.kind() == FieldKind::kStringVector || field.kind() == FieldKind::kTableVector;
    const uint32_t bytes = has_elements ? 4 : 4 * field.size();
    const uint32_t left = size_ - list - 4;
    // A string ends in a zero that its length does not count.
    if (field.kind() == FieldKind::kString) return count < left && file_[list + 4 + count] == 0;
    if (count > left / bytes) return false;
    for (uint32_t i = 1; has_elements && i <= count; ++i) {
      if (!Element(list + 4 * i, field)) return false;
    }
    return true;
  }

  bool Element(uint32_t position, plan_schema::Field field) {
    if (field.kind() == plan_schema::FieldKind::kStringVector) {
      return Field(position, plan_schema::kText);
    }
    const uint8_t* begin = plan_schema::kSchema.begin + field.size();
    return Table(position, begin[0], begin[1]);
  }

  const uint8_t* file_;
  uint32_t size_;
  uint32_t tables_left_;
};

/// "TNON", as the four bytes read as one number.
constexpr uint32_t kIdentifier = 'T' | 'N' << 8 | 'O' << 16 | 'N' << 24;

/// Verifies size, sum and version without trusting anything else, as far as they lie in the file.
Status CheckHeader(Span<const uint8_t> file) {
  constexpr uint32_t kMost = INT32_MAX;
  constexpr uint32_t kHeaderFields = 3;
  const auto size = file.size() < kMost ? static_cast<uint32_t>(file.size()) : kMost;
  TENON_ENSURE(size > 8 && reinterpret_cast<const uint32_t*>(file.data())[1] == kIdentifier,
               kCorruptPlan, "not a plan file");
  TENON_ENSURE(Verifier(file.data(), size).Table(0, 0, kHeaderFields), kCorruptPlan,
               "the plan's header is damaged");
  return OkStatus();
}

Status CheckSum(Span<const uint8_t> file, const HeaderInfo& header) {
  TENON_ENSURE(header.bytes <= file.size() && header.bytes < INT32_MAX, kCorruptPlan,
               "the plan's header says {0} bytes, the file has {1}", header.bytes,
               static_cast<int64_t>(file.size()));
  const size_t after = header.crc_position + sizeof(uint32_t);
  TENON_ENSURE(after <= header.bytes, kCorruptPlan, "the plan's header is damaged");
  constexpr uint32_t kZero = 0;
  uint32_t crc = Crc32c(file.data(), header.crc_position);
  crc = Crc32c(&kZero, sizeof kZero, crc);
  crc = Crc32c(file.data() + after, header.bytes - after, crc);
  TENON_ENSURE(crc == header.crc32c, kCorruptPlan, "the plan is damaged: its check sum is wrong");
  return OkStatus();
}

/// Sections stand behind the FlatBuffer in the order of their list, so that one comparison shows
/// that they do not overlap.
Status CheckSections(const PlanView& view, PlanBytes begin, bool skip_crc) {
  const size_t size = view.file().size();
  for (size_t i = 0; i < view.section_count(); ++i) {
    const SectionInfo section = view.section(i);
    const uint32_t mask = section.alignment - 1;
    if (section.alignment == 0 || (section.alignment & mask) != 0 ||
        (section.file_offset & mask) != 0) {
      return Status(StatusCode::kCorruptPlan, "section is not aligned to {0}", section.alignment)
          .About(section.name);
    }
    if (section.file_offset < begin || section.file_offset > size ||
        section.bytes > size - section.file_offset) {
      return Status(StatusCode::kCorruptPlan,
                    "section of {0} bytes at {1} lies outside the file or on what precedes it",
                    static_cast<int64_t>(section.bytes), static_cast<int64_t>(section.file_offset))
          .About(section.name);
    }
    begin = section.file_offset + section.bytes;
    if (!skip_crc &&
        Crc32c(view.section_data(i), static_cast<size_t>(section.bytes)) != section.crc32c) {
      return Status(StatusCode::kCorruptPlan, "section is damaged: its check sum is wrong")
          .About(section.name);
    }
  }
  return OkStatus();
}

}  // namespace

Result<PlanView> PlanView::Open(Span<const uint8_t> file, bool skip_section_crc) {
  TENON_ENSURE(
      file.data() != nullptr && reinterpret_cast<uintptr_t>(file.data()) % kPlanAlignment == 0,
      kInvalidArgument, "a plan's address must be a multiple of {0}", kPlanAlignment);
  TENON_RETURN_IF_ERROR(CheckHeader(file));
  PlanView view;
  view.file_ = file;
  const HeaderInfo header = view.header();
  TENON_RETURN_IF_ERROR(CheckSum(file, header));
  // Before 1.0 nothing is promised between minor versions.
  const uint16_t major = view.version_major();
  const uint16_t minor = view.version_minor();
  TENON_ENSURE(major == kPlanVersionMajor && (kPlanVersionMajor == 0 ? minor == kPlanVersionMinor
                                                                     : minor <= kPlanVersionMinor),
               kUnsupportedVersion, kVersionMessage, major, minor);
  static_assert(plan_schema::kPlan == 0, "the plan's fields are the first");
  TENON_ENSURE(Verifier(file.data(), header.bytes).Table(0, 0, plan_schema::kSchema.begin[1]),
               kCorruptPlan, "the plan's structure is damaged");
  TENON_RETURN_IF_ERROR(CheckSections(view, header.bytes, skip_section_crc));
  return view;
}

}  // namespace tenon
