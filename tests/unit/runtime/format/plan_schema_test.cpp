#include "runtime/format/plan_schema.hpp"

#include <doctest/doctest.h>
#include <plan_generated.h>

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

using namespace tenon;  // NOLINT

namespace {

struct SchemaField {
  std::string name;
  std::string type;
  bool vector = false;
  bool required = false;
};
using SchemaTables = std::vector<std::pair<std::string, std::vector<SchemaField>>>;

/// The tables of plan.fbs, read by the little grammar that it keeps to.
SchemaTables ReadSchema(std::istream& stream) {
  std::string text;
  for (std::string line; std::getline(stream, line);) {
    for (const char c : line.substr(0, line.find("//"))) {
      const bool punctuation = std::strchr(":;{}()[]=", c) != nullptr;
      text += punctuation ? std::string(" ") + c + " " : std::string(1, c);
    }
    text += ' ';
  }
  std::istringstream words(text);
  SchemaTables tables;
  for (std::string word; words >> word;) {
    if (word != "table") continue;
    words >> word;
    tables.emplace_back(word, std::vector<SchemaField>());
    words >> word;  // {
    while (words >> word && word != "}") {
      SchemaField field;
      field.name = word;
      words >> word >> word;  // : type
      field.vector = word == "[";
      if (field.vector) words >> word;
      field.type = word;
      while (words >> word && word != ";") field.required |= word == "required";
      tables.back().second.push_back(field);
    }
  }
  return tables;
}

/// What the verifier should know of a field.
plan_schema::Field Describe(const SchemaField& field) {
  using plan_schema::FieldKind;
  for (size_t id = 0; id < plan_schema::kTableCount; ++id) {
    if (field.type == plan_schema::kTableNames[id]) {
      REQUIRE(field.vector);
      return {FieldKind::kTableVector, static_cast<int>(id), field.required};
    }
  }
  if (field.type == "string") {
    return {field.vector ? FieldKind::kStringVector : FieldKind::kString, 0, field.required};
  }
  int size = 1;  // ubyte and the enums
  if (field.type == "ushort") size = 2;
  if (field.type == "uint" || field.type == "int" || field.type == "float") size = 4;
  if (field.type == "ulong") size = 8;
  if (field.type == "Wait") size = sizeof(plan::Wait);
  if (field.type == "Relocation") size = sizeof(plan::Relocation);
  if (field.type == "State") size = sizeof(plan::State);
  if (field.type == "Storage") size = sizeof(plan::Storage);
  if (field.type == "FileHeader") return {FieldKind::kStruct, sizeof(plan::FileHeader), true};
  if (!field.vector) return {FieldKind::kScalar, size, field.required};
  REQUIRE(size % 4 == 0);
  return {FieldKind::kScalarVector, size / 4, field.required};
}

}  // namespace

// The verifier's table is written by hand; a field that it lacks would be read unverified.
TEST_CASE("PlanView: the verifier knows every field of the schema") {
  const char* root = std::getenv("TENON_SOURCE_DIR");
  REQUIRE(root != nullptr);
  std::ifstream stream(std::string(root) + "/sdk/schema/plan.fbs");
  const SchemaTables tables = ReadSchema(stream);
  CHECK(tables.size() == plan_schema::kTableCount);
  for (const auto& [name, fields] : tables) {
    CAPTURE(name);
    size_t id = 0;
    while (id < plan_schema::kTableCount && name != plan_schema::kTableNames[id]) ++id;
    REQUIRE(id < plan_schema::kTableCount);
    const size_t begin = plan_schema::kSchema.begin[id];
    REQUIRE(fields.size() == plan_schema::kSchema.begin[id + 1] - begin);
    for (size_t i = 0; i < fields.size(); ++i) {
      CAPTURE(fields[i].name);
      const plan_schema::Field expected = Describe(fields[i]);
      const plan_schema::Field known = plan_schema::kSchema.fields[begin + i];
      CHECK(known.kind() == expected.kind());
      CHECK(int{known.size()} == int{expected.size()});
      CHECK(known.required() == expected.required());
    }
  }
}
