// The model of the DSP48E2 against the function that UG579 documents for it.
#include <doctest/doctest.h>

#include <cstdint>
#include <memory>

#include "Dsp48e2Bench.h"
#include "clocked.hpp"

namespace tenon::fpga {
namespace {

constexpr uint64_t kMask48 = (uint64_t{1} << 48) - 1;
constexpr uint64_t kRound = 0xF00000000FFF;  // as in dsp48e2_bench.sv

int64_t SignExtended(uint64_t value, int bits) {
  const uint64_t sign = uint64_t{1} << (bits - 1);
  value &= (sign << 1) - 1;
  return static_cast<int64_t>((value ^ sign) - sign);
}

struct Inputs {
  uint64_t a, b, c, d;
  uint64_t carry;
  int inmode;
  int opmode;
  int tail_opmode;
  bool ceb1, ceb2, cea2, ced;
};

/// W + Z + X and Y, which are the product, + carry.
uint64_t Alu(int opmode, int64_t product, uint64_t c, uint64_t rnd, uint64_t pcin, uint64_t carry) {
  uint64_t sum = static_cast<uint64_t>(product) + carry;
  const int w = opmode >> 7;
  const int z = opmode >> 4 & 7;
  if (w == 2) sum += rnd;
  if (w == 3) sum += c;
  if (z == 1) sum += pcin;
  if (z == 3) sum += c;
  if (z == 5) sum += static_cast<uint64_t>(SignExtended(pcin, 48) >> 17);
  return sum & kMask48;
}

/// The registers of `head` and `tail`.
struct Registers {
  uint64_t a2 = 0, d = 0, ad = 0, b1 = 0, b2 = 0, c = 0, carry = 0, p = 0;
  int64_t m = 0;
  uint64_t tail_a1 = 0, tail_a2 = 0, tail_b2 = 0, tail_p = 0;

  void Clock(const Inputs& in) {
    const Registers old = *this;
    if (in.cea2) a2 = in.a;
    if (in.ced) d = in.d;
    if (in.ceb1) b1 = in.b;
    if (in.ceb2) b2 = old.b1;
    c = in.c;
    carry = in.carry;
    const bool has_a = (in.inmode & 2) == 0;
    const bool has_d = (in.inmode & 4) != 0;
    ad = (has_a ? old.a2 & 0x7FFFFFF : 0) + (has_d ? old.d : 0);
    m = SignExtended(old.ad, 27) * SignExtended(old.b2, 18);
    p = Alu(in.opmode, old.m, old.c, kRound, 0, old.carry);
    tail_a1 = old.a2;
    tail_a2 = old.tail_a1;
    tail_b2 = old.b1;
    const int64_t product = SignExtended(old.tail_a2, 27) * SignExtended(old.tail_b2, 18);
    tail_p = Alu(in.tail_opmode, product, old.c, 0, old.p, old.carry);
  }
};

Inputs RandomInputs(Numbers& numbers) {
  constexpr int kInModes[] = {0b00000, 0b00100, 0b00110};
  constexpr int kW[] = {0, 2, 3};
  constexpr int kZ[] = {0, 1, 3, 5};
  const auto opmode = [&] { return kW[numbers.Below(3)] << 7 | kZ[numbers.Below(4)] << 4 | 5; };
  Inputs in{};
  in.a = static_cast<uint64_t>(numbers.Signed(30)) & 0x3FFFFFFF;
  in.b = static_cast<uint64_t>(numbers.Signed(18)) & 0x3FFFF;
  in.c = static_cast<uint64_t>(numbers.Signed(48)) & kMask48;
  in.d = static_cast<uint64_t>(numbers.Signed(27)) & 0x7FFFFFF;
  in.carry = numbers.Bits(1);
  in.inmode = kInModes[numbers.Below(3)];
  in.opmode = opmode();
  in.tail_opmode = opmode();
  in.ceb1 = numbers.Below(4) != 0;
  in.ceb2 = numbers.Below(4) != 0;
  in.cea2 = numbers.Below(4) != 0;
  in.ced = numbers.Below(4) != 0;
  return in;
}

void ClockSlice(Dsp48e2Bench& bench, const Inputs& in) {
  bench.A = static_cast<uint32_t>(in.a);
  bench.B = static_cast<uint32_t>(in.b);
  bench.C = in.c;
  bench.D = static_cast<uint32_t>(in.d);
  bench.CARRYIN = in.carry != 0;
  bench.INMODE = static_cast<uint8_t>(in.inmode);
  bench.OPMODE = static_cast<uint16_t>(in.opmode);
  bench.TAIL_OPMODE = static_cast<uint16_t>(in.tail_opmode);
  bench.CEB1 = in.ceb1;
  bench.CEB2 = in.ceb2;
  bench.CEA2 = in.cea2;
  bench.CED = in.ced;
  bench.CLK = 0;
  bench.eval();
  bench.CLK = 1;
  bench.eval();
}

TEST_CASE("DSP48E2: registers, pre-adder, product, sums and cascades are as documented") {
  const auto bench = std::make_unique<Dsp48e2Bench>();
  Numbers numbers(1);
  Registers registers;
  int differences = 0;
  for (int i = 0; i < 300000; ++i) {
    Inputs in = RandomInputs(numbers);
    const bool is_filling = i < 8;  // what registers begin with is not defined
    if (is_filling) in.ceb1 = in.ceb2 = in.cea2 = in.ced = true;
    ClockSlice(*bench, in);
    registers.Clock(in);
    if (is_filling) continue;
    const int64_t plain = SignExtended(in.a, 27) * SignExtended(in.b, 18);
    differences += bench->head_p != registers.p ? 1 : 0;
    differences += bench->tail_p != registers.tail_p ? 1 : 0;
    differences += bench->plain_p != Alu(in.tail_opmode, plain, in.c, 0, in.c, in.carry) ? 1 : 0;
  }
  CHECK(differences == 0);
}

TEST_CASE("DSP48E2: two pixels beside each other give both products with one weight") {
  const auto bench = std::make_unique<Dsp48e2Bench>();
  int differences = 0;
  for (int second : {-128, -1, 0, 1, 127}) {
    for (int first = -128; first < 128; ++first) {
      for (int weight = -128; weight < 128; ++weight) {
        Inputs in{};
        in.a = static_cast<uint64_t>(int64_t{second} * (1 << 18)) & 0x3FFFFFFF;
        in.d = static_cast<uint64_t>(int64_t{first}) & 0x7FFFFFF;
        in.b = static_cast<uint64_t>(int64_t{weight}) & 0x3FFFF;
        in.inmode = 0b00100;
        in.opmode = in.tail_opmode = 5;
        in.ceb1 = in.ceb2 = in.cea2 = in.ced = true;
        for (int i = 0; i < 4; ++i) ClockSlice(*bench, in);
        const int64_t expected = int64_t{second} * weight * (1 << 18) + int64_t{first} * weight;
        differences += SignExtended(bench->head_p, 48) != expected ? 1 : 0;
      }
    }
  }
  CHECK(differences == 0);
}

}  // namespace
}  // namespace tenon::fpga
