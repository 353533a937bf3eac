// How tables of the plan's FlatBuffer are read where speed counts. Internal to runtime/format.
#pragma once

#include <flatbuffers/flatbuffers.h>

#include <cstddef>
#include <cstdint>

namespace tenon::format {

/// A table with its list of fields, which is looked up once: generated accessors do so for every
/// field. The file has been verified: required fields are there, and so a list has room for a
/// table's last required field. Inlined: what a run of many small ops does beside their kernels is
/// mostly this.
class Fields {
 public:
  [[gnu::always_inline]] explicit Fields(const uint8_t* table)
      : table_(table), list_(table - flatbuffers::ReadScalar<flatbuffers::soffset_t>(table)) {}

  /// Returns a number that precedes a required field; 0 if it is absent.
  template <typename T>
  [[nodiscard, gnu::always_inline]] T Number(flatbuffers::voffset_t field) const {
    uint32_t value = At(field);
    if (value != 0) value = flatbuffers::ReadScalar<T>(table_ + value);
    return static_cast<T>(value);
  }
  /// Returns the address of any number, or null.
  [[nodiscard, gnu::always_inline]] const uint8_t* Find(flatbuffers::voffset_t field) const {
    return field < At(0) && At(field) != 0 ? table_ + At(field) : nullptr;
  }
  /// The elements of a required vector; their number stands before them.
  [[nodiscard, gnu::always_inline]] const int32_t* Words(flatbuffers::voffset_t field) const {
    return WordsAt(table_ + At(field));
  }
  /// The same where the offset to the vector is at hand.
  [[nodiscard, gnu::always_inline]] static const int32_t* WordsAt(const uint8_t* offset) {
    return reinterpret_cast<const int32_t*>(
               offset + flatbuffers::ReadScalar<flatbuffers::uoffset_t>(offset)) +
           1;
  }

 private:
  [[nodiscard, gnu::always_inline]] flatbuffers::voffset_t At(flatbuffers::voffset_t field) const {
    return flatbuffers::ReadScalar<flatbuffers::voffset_t>(list_ + field);
  }

  const uint8_t* table_;
  const uint8_t* list_;
};

/// The table that an element of a vector of tables leads to.
[[nodiscard, gnu::always_inline]] inline const uint8_t* TableAt(const uint32_t* first,
                                                                size_t index) {
  const uint32_t* element = first + index;
  return reinterpret_cast<const uint8_t*>(element) + *element;
}

/// A storage as it stands in the file; at a multiple of 4, whatever a compiler would want.
struct StorageWords {
  uint32_t offset[2];  ///< lower half first, as in all numbers of the file
  uint32_t bytes[2];
  uint16_t index;
  uint8_t home;
  uint8_t unused[5];
};
static_assert(sizeof(StorageWords) == 24 && alignof(StorageWords) == 4);

/// A relocation as it stands in the file; as a storage does.
struct RelocationWords {
  uint32_t offset[2];
  uint32_t bytes[2];
  uint16_t index;
  uint8_t home;
  uint8_t base_register;
  uint8_t writes;
  uint8_t unused[3];
};
static_assert(sizeof(RelocationWords) == 24 && alignof(RelocationWords) == 4);

/// The elements of any vector, and before them their number; 0 if the vector is absent.
[[nodiscard]] const uint32_t* Vector(const void* table, flatbuffers::voffset_t field);

}  // namespace tenon::format
