// Changes of protobuf messages by their fields, which stay messages: changed bytes rarely do, since
// what is inside a field would have to keep its length.
#pragma once

#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>

#include <cstdint>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "tests/fuzz/targets/edge_values.hpp"

namespace tenon::fuzz {

/// Changes messages field by field. Strings become others of the same message more often than
/// other bytes, so that names lead somewhere.
class MessageMutator {
 public:
  using Message = google::protobuf::Message;
  using Field = google::protobuf::FieldDescriptor;

  explicit MessageMutator(std::mt19937& random) : random_(random) {}

  void Change(Message& message) {
    strings_.clear();
    CollectStrings(message);
    std::vector<Place> places;
    CollectPlaces(message, places);
    if (places.empty()) return;
    const Place& place = places[random_() % places.size()];
    ChangeField(*place.message, *place.field);
  }

 private:
  struct Place {
    Message* message;
    const Field* field;
  };

  void CollectStrings(const Message& message) {
    std::vector<const Field*> fields;
    const auto* reflection = message.GetReflection();
    reflection->ListFields(message, &fields);
    for (const Field* field : fields) {
      const int count = field->is_repeated() ? reflection->FieldSize(message, field) : 1;
      for (int i = 0; i < count; ++i) {
        if (field->cpp_type() == Field::CPPTYPE_MESSAGE) {
          CollectStrings(field->is_repeated() ? reflection->GetRepeatedMessage(message, field, i)
                                              : reflection->GetMessage(message, field));
        } else if (field->cpp_type() == Field::CPPTYPE_STRING) {
          std::string text = field->is_repeated() ? reflection->GetRepeatedString(message, field, i)
                                                  : reflection->GetString(message, field);
          if (text.size() < 64) strings_.push_back(std::move(text));
        }
      }
    }
  }

  /// Every field that is there, and now and then one that is not.
  void CollectPlaces(Message& message, std::vector<Place>& places) {
    const auto* reflection = message.GetReflection();
    const auto* type = message.GetDescriptor();
    for (int i = 0; i < type->field_count(); ++i) {
      const Field* field = type->field(i);
      const bool there = field->is_repeated() ? reflection->FieldSize(message, field) > 0
                                              : reflection->HasField(message, field);
      if (there || random_() % 32 == 0) places.push_back({&message, field});
      if (!there || field->cpp_type() != Field::CPPTYPE_MESSAGE) continue;
      if (!field->is_repeated()) {
        CollectPlaces(*reflection->MutableMessage(&message, field), places);
        continue;
      }
      for (int k = 0; k < reflection->FieldSize(message, field); ++k) {
        CollectPlaces(*reflection->MutableRepeatedMessage(&message, field, k), places);
      }
    }
  }

  void ChangeField(Message& message, const Field& field) {
    if (field.is_repeated()) return ChangeList(message, field);
    const auto* reflection = message.GetReflection();
    if (reflection->HasField(message, &field) && random_() % 8 == 0) {
      return reflection->ClearField(&message, &field);
    }
    switch (field.cpp_type()) {
      case Field::CPPTYPE_MESSAGE:
        (void)reflection->MutableMessage(&message, &field);
        return;
      case Field::CPPTYPE_STRING:
        return reflection->SetString(&message, &field,
                                     NewText(reflection->GetString(message, &field)));
      case Field::CPPTYPE_INT32:
        return reflection->SetInt32(
            &message, &field,
            static_cast<int32_t>(NewNumber(reflection->GetInt32(message, &field))));
      case Field::CPPTYPE_INT64:
        return reflection->SetInt64(&message, &field,
                                    NewNumber(reflection->GetInt64(message, &field)));
      case Field::CPPTYPE_UINT32:
        return reflection->SetUInt32(
            &message, &field,
            static_cast<uint32_t>(NewNumber(reflection->GetUInt32(message, &field))));
      case Field::CPPTYPE_UINT64:
        return reflection->SetUInt64(&message, &field, static_cast<uint64_t>(NewNumber(0)));
      case Field::CPPTYPE_FLOAT:
        return reflection->SetFloat(&message, &field, static_cast<float>(EdgeFloat(random_)));
      case Field::CPPTYPE_DOUBLE:
        return reflection->SetDouble(&message, &field, EdgeFloat(random_));
      case Field::CPPTYPE_BOOL:
        return reflection->SetBool(&message, &field, !reflection->GetBool(message, &field));
      case Field::CPPTYPE_ENUM:
        return reflection->SetEnumValue(&message, &field, EnumNumber(field));
    }
  }

  void ChangeList(Message& message, const Field& field) {
    const auto* reflection = message.GetReflection();
    const int count = reflection->FieldSize(message, &field);
    const auto any = [&] { return static_cast<int>(random_() % static_cast<unsigned>(count)); };
    if (count > 0 && random_() % 4 == 0)
      return reflection->SwapElements(&message, &field, any(), any());
    if (count > 0 && random_() % 3 == 0) {
      reflection->SwapElements(&message, &field, any(), count - 1);
      return reflection->RemoveLast(&message, &field);
    }
    const int at = count == 0 || random_() % 3 == 0 ? -1 : any();  // -1: one more
    SetElement(message, field, at, count > 0 ? any() : -1);
  }

  /// Sets an element of a list, or adds one as another one is.
  void SetElement(Message& message, const Field& field, int at, int like) {
    const auto* r = message.GetReflection();
    switch (field.cpp_type()) {
      case Field::CPPTYPE_MESSAGE: {
        if (at >= 0) return;
        Message* added = r->AddMessage(&message, &field);
        if (like >= 0) added->CopyFrom(r->GetRepeatedMessage(message, &field, like));
        return;
      }
      case Field::CPPTYPE_STRING: {
        const std::string text = NewText(
            like < 0 ? std::string() : r->GetRepeatedString(message, &field, at < 0 ? like : at));
        return at < 0 ? r->AddString(&message, &field, text)
                      : r->SetRepeatedString(&message, &field, at, text);
      }
      case Field::CPPTYPE_INT32: {
        const auto value = static_cast<int32_t>(
            NewNumber(like < 0 ? 0 : r->GetRepeatedInt32(message, &field, at < 0 ? like : at)));
        return at < 0 ? r->AddInt32(&message, &field, value)
                      : r->SetRepeatedInt32(&message, &field, at, value);
      }
      case Field::CPPTYPE_INT64: {
        const int64_t value =
            NewNumber(like < 0 ? 0 : r->GetRepeatedInt64(message, &field, at < 0 ? like : at));
        return at < 0 ? r->AddInt64(&message, &field, value)
                      : r->SetRepeatedInt64(&message, &field, at, value);
      }
      case Field::CPPTYPE_UINT32: {
        const auto value = static_cast<uint32_t>(NewNumber(0));
        return at < 0 ? r->AddUInt32(&message, &field, value)
                      : r->SetRepeatedUInt32(&message, &field, at, value);
      }
      case Field::CPPTYPE_FLOAT: {
        const auto value = static_cast<float>(EdgeFloat(random_));
        return at < 0 ? r->AddFloat(&message, &field, value)
                      : r->SetRepeatedFloat(&message, &field, at, value);
      }
      case Field::CPPTYPE_DOUBLE: {
        const double value = EdgeFloat(random_);
        return at < 0 ? r->AddDouble(&message, &field, value)
                      : r->SetRepeatedDouble(&message, &field, at, value);
      }
      default:
        return;
    }
  }

  int64_t NewNumber(int64_t now) { return EdgeNumber(random_, now); }

  std::string NewText(std::string text) {
    if (!strings_.empty() && random_() % 2 == 0 && text.size() < 64) {
      return strings_[random_() % strings_.size()];
    }
    ChangeBytes(text, random_);
    return text;
  }

  int EnumNumber(const Field& field) {
    const auto* values = field.enum_type();
    return values->value(static_cast<int>(random_() % static_cast<unsigned>(values->value_count())))
        ->number();
  }

  std::mt19937& random_;
  std::vector<std::string> strings_;
};

}  // namespace tenon::fuzz
