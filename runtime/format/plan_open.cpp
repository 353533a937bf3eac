// PlanView::Open: what has to hold before any field of a plan may be read.
#include <plan_generated.h>

#include <cstring>

#include "runtime/base/crc32c.hpp"
#include "runtime/format/plan_schema.hpp"
#include "runtime/format/plan_view.hpp"

namespace tenon {
namespace {

// Message texts are constants, so the version that this runtime reads is spelled out in one.
static_assert(kPlanVersionMajor == 0 && kPlanVersionMinor == 3, "update the message below");
constexpr char kVersionMessage[] = "the plan has format {0}.{1}, this runtime reads 0.3";

// Programs in a Plan, workers in a program, steps in a worker: nothing nests deeper.
constexpr flatbuffers::uoffset_t kMaxDepth = 4;

struct Header {
  uint32_t bytes = 0;
  uint32_t crc32c = 0;
  size_t crc_position = 0;
  uint16_t version_major = 0;
  uint16_t version_minor = 0;
};

/// Reads size, sum and version without trusting anything else, as far as they lie in the file.
Status ReadHeader(Span<const uint8_t> file, Header* header) {
  const size_t limit = FLATBUFFERS_MAX_BUFFER_SIZE - 1;
  flatbuffers::Verifier verifier(file.data(), file.size() < limit ? file.size() : limit);
  TENON_ENSURE(file.size() > 2 * sizeof(flatbuffers::uoffset_t) &&
                   flatbuffers::BufferHasIdentifier(file.data(), plan::PlanIdentifier()),
               kCorruptPlan, "not a plan file");
  const size_t root = verifier.VerifyOffset(0);
  const auto* table = reinterpret_cast<const flatbuffers::Table*>(file.data() + root);
  TENON_ENSURE(
      root != 0 && table->VerifyTableStart(verifier) &&
          table->VerifyFieldRequired<plan::FileHeader>(verifier, plan::Plan::VT_HEADER, 4) &&
          table->VerifyField<uint16_t>(verifier, plan::Plan::VT_VERSION_MAJOR, 2) &&
          table->VerifyField<uint16_t>(verifier, plan::Plan::VT_VERSION_MINOR, 2),
      kCorruptPlan, "the plan's header is damaged");
  const auto* stored = table->GetStruct<const plan::FileHeader*>(plan::Plan::VT_HEADER);
  header->bytes = stored->bytes();
  header->crc32c = stored->crc32c();
  header->crc_position =
      static_cast<size_t>(reinterpret_cast<const uint8_t*>(stored) - file.data()) +
      sizeof(uint32_t);
  header->version_major = table->GetField<uint16_t>(plan::Plan::VT_VERSION_MAJOR, 0);
  header->version_minor = table->GetField<uint16_t>(plan::Plan::VT_VERSION_MINOR, 0);
  return OkStatus();
}

Status CheckSum(Span<const uint8_t> file, const Header& header) {
  TENON_ENSURE(header.bytes <= file.size() && header.bytes < FLATBUFFERS_MAX_BUFFER_SIZE,
               kCorruptPlan, "the plan's header says {0} bytes, the file has {1}", header.bytes,
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

/// Where the string or vector that `position` holds the offset of begins.
const uint8_t* Follow(const uint8_t* position) {
  return position + flatbuffers::ReadScalar<flatbuffers::uoffset_t>(position);
}

bool VerifyTable(flatbuffers::Verifier& verifier, const uint8_t* file, const uint8_t* position,
                 uint8_t id);

/// Elements of a vector of strings or tables. An absent one (offset 0) is refused: readers index
/// vectors and do not expect holes.
bool VerifyElements(flatbuffers::Verifier& verifier, const uint8_t* file, const uint8_t* vector,
                    const plan_schema::Field& field) {
  const auto count = flatbuffers::ReadScalar<flatbuffers::uoffset_t>(vector);
  for (const uint8_t* element = vector + 4; element != vector + 4 + size_t{count} * 4;
       element += 4) {
    if (verifier.VerifyOffset(static_cast<size_t>(element - file)) == 0) return false;
    const uint8_t* target = Follow(element);
    if (field.kind == plan_schema::FieldKind::kTableVector
            ? !VerifyTable(verifier, file, target, field.size)
            : !verifier.VerifyString(reinterpret_cast<const flatbuffers::String*>(target))) {
      return false;
    }
  }
  return true;
}

bool VerifyField(flatbuffers::Verifier& verifier, const uint8_t* file, const uint8_t* position,
                 const plan_schema::Field& field) {
  using plan_schema::FieldKind;
  const auto offset = static_cast<size_t>(position - file);
  if (field.kind == FieldKind::kScalar || field.kind == FieldKind::kStruct) {
    return verifier.VerifyAlignment(offset, field.kind == FieldKind::kStruct ? 4 : field.size) &&
           verifier.Verify(offset, field.size);
  }
  if (verifier.VerifyOffset(offset) == 0) return false;
  const uint8_t* target = Follow(position);
  if (field.kind == FieldKind::kString) {
    return verifier.VerifyString(reinterpret_cast<const flatbuffers::String*>(target));
  }
  const bool scalars = field.kind == FieldKind::kScalarVector;
  return verifier.VerifyVectorOrString(target, scalars ? field.size : 4) &&
         (scalars || VerifyElements(verifier, file, target, field));
}

/// Recursive, as deep as the schema (kMaxDepth).
bool VerifyTable(flatbuffers::Verifier& verifier, const uint8_t* file, const uint8_t* position,
                 uint8_t id) {
  if (!verifier.VerifyTableStart(position)) return false;
  const auto& table = *reinterpret_cast<const flatbuffers::Table*>(position);
  const plan_schema::Table& schema = plan_schema::kTables[id];
  for (size_t i = 0; i < schema.field_count; ++i) {
    const plan_schema::Field& field = schema.fields[i];
    const auto where = table.GetOptionalFieldOffset(static_cast<flatbuffers::voffset_t>(4 + 2 * i));
    if (where == 0 ? field.required : !VerifyField(verifier, file, position + where, field)) {
      return false;
    }
  }
  return verifier.EndTable();
}

Status CheckStructure(Span<const uint8_t> file, const Header& header) {
  flatbuffers::Verifier::Options options;
  options.max_depth = kMaxDepth;
  // Every table takes 4 bytes and so does the offset that leads to it. A file in which many
  // offsets lead to one table could make the verifier walk it again and again.
  options.max_tables = header.bytes / 8;
  flatbuffers::Verifier verifier(file.data(), header.bytes, options);
  TENON_ENSURE(VerifyTable(verifier, file.data(), Follow(file.data()), plan_schema::kPlan),
               kCorruptPlan, "the plan's structure is damaged");
  return OkStatus();
}

/// Sections stand behind the FlatBuffer in the order of their list, so that one comparison shows
/// that they do not overlap.
Status CheckSections(const PlanView& view, uint64_t begin, bool skip_crc) {
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
  Header header;
  TENON_RETURN_IF_ERROR(ReadHeader(file, &header));
  TENON_RETURN_IF_ERROR(CheckSum(file, header));
  // Before 1.0 nothing is promised between minor versions.
  TENON_ENSURE(header.version_major == kPlanVersionMajor &&
                   (kPlanVersionMajor == 0 ? header.version_minor == kPlanVersionMinor
                                           : header.version_minor <= kPlanVersionMinor),
               kUnsupportedVersion, kVersionMessage, header.version_major, header.version_minor);
  TENON_RETURN_IF_ERROR(CheckStructure(file, header));
  PlanView view;
  view.file_ = file;
  TENON_RETURN_IF_ERROR(CheckSections(view, header.bytes, skip_section_crc));
  return view;
}

}  // namespace tenon
