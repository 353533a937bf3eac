#include <doctest/doctest.h>

#include <cstdlib>
#include <limits>

#include "converter/emit/c_source.hpp"

namespace tenon::converter {
namespace {

TEST_CASE("CIdentifier: what a C identifier cannot hold becomes '_'") {
  CHECK(CIdentifier("kws") == "kws");
  CHECK(CIdentifier("kws-int8 v2.1") == "kws_int8_v2_1");
  CHECK(CIdentifier("caf\xc3\xa9") == "caf__");
  CHECK(CIdentifier("").empty());
}

TEST_CASE("CIdentifier: names that C or tenon.h keep for themselves get a prefix") {
  CHECK(CIdentifier("3net") == "model_3net");
  CHECK(CIdentifier("_net") == "model__net");
  CHECK(CIdentifier("tenon") == "model_tenon");
  CHECK(CIdentifier("Tenon_kws") == "model_Tenon_kws");
  CHECK(CIdentifier("teno") == "teno");
}

TEST_CASE("CMacro: capitals, whatever the locale") { CHECK(CMacro("kws_Int8") == "KWS_INT8"); }

TEST_CASE("CString: quotes, backslashes, trigraphs and bytes beyond ASCII are escaped") {
  CHECK(CString("data") == "\"data\"");
  CHECK(CString("a\"b\\c") == R"("a\"b\\c")");
  CHECK(CString("?\?/") == R"("\?\?/")");
  // Octal escapes end after three digits, so that a digit may follow.
  CHECK(CString("\xc3\xa9\n1") == R"("\303\251\0121")");
}

TEST_CASE("CFloat: a literal of type float that reads back as the same value") {
  CHECK(CFloat(1) == "1.0f");
  CHECK(CFloat(0.00390625f) == "0.00390625f");
  CHECK(CFloat(-2) == "-2.0f");
  CHECK(CFloat(1e20f) == "1e+20f");
  for (const float value : {0.1f, 0.58470291f, std::numeric_limits<float>::denorm_min(),
                            std::numeric_limits<float>::max()}) {
    CHECK(std::strtof(CFloat(value).c_str(), nullptr) == value);
  }
}

}  // namespace
}  // namespace tenon::converter
