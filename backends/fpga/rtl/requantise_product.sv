// 32 x 31 bits, both positive, in two DSPs and 100 LUTs: size * multiplier, plus 2^30 - 1 with
// round_up and 1 more with round_up_ties. The size's lowest 27 bits count as signed and are
// multiplied by the DSPs, by 17 and 14 bits; the rest of it is three Booth digits.
/* verilator lint_off PINCONNECTEMPTY */  // the primitives have outputs that nobody needs
module requantise_product (
    input logic clk,
    input logic [31:0] size,  // a clock before its name would be size_4: the register is in here
    input logic [30:0] multiplier_4,
    input logic round_up_5,
    input logic round_up_ties_5,
    output logic [62:0] product_8
);
  // Digits are -2 to 2, the uppermost 0 or 1. -x is the complement of x, plus 1.
  logic [31:26] size_4;
  logic [31:28] size_5;
  logic last_6, negative_5, negative_6;
  logic [30:0] multiplier_5, multiplier_6;
  logic [32:0] digit_4, digit_5, term_5;
  logic [35:0] terms_6, terms;
  /* verilator lint_off UNUSEDSIGNAL */  // the last bit is the carry's
  logic [34:0] biased_6;
  /* verilator lint_on UNUSEDSIGNAL */
  always_comb begin
    digit_4 = size_4[27] ^ size_4[26] ? {2'd0, multiplier_4}
              : size_4[28] ^ size_4[27] ? {1'b0, multiplier_4, 1'b0} : 33'd0;
    digit_5 = size_5[29] ^ size_5[28] ? {2'd0, multiplier_5}
              : size_5[30] ^ size_5[29] ? {1'b0, multiplier_5, 1'b0} : 33'd0;
    terms = terms_6 + (last_6 ? {1'b0, multiplier_6, 4'd0} : 36'd0);
  end
  logic [1:0] lowest_6;
  assign terms_6 = {biased_6[34:1], lowest_6};
  always_ff @(posedge clk) begin
    size_4 <= size[31:26];
    size_5 <= size_4[31:28];
    last_6 <= size_5[31] || size_5[30];
    multiplier_5 <= multiplier_4;
    multiplier_6 <= multiplier_5;
    term_5 <= digit_4 ^ {33{size_4[28]}};
    negative_5 <= size_4[28];
    negative_6 <= negative_5;
    // A bit below the addends' last makes the carry.
    biased_6 <= {{3{term_5[32]}}, term_5[32:2], 1'b1} +
                {size_5[30], digit_5 ^ {33{size_5[30]}}, size_5[30]};
    lowest_6 <= term_5[1:0];
  end

  logic [29:0] size_cascade;
  /* verilator lint_off UNUSEDSIGNAL */  // the upper bits go on in the cascade; the last are zeros
  logic [47:0] low_7, sum_8;
  /* verilator lint_on UNUSEDSIGNAL */
  logic [47:0] low_cascade;
  logic [16:0] low_8;
  always_ff @(posedge clk) low_8 <= low_7[16:0];
  assign product_8 = {sum_8[45:0], low_8};

  DSP48E2 #(
      .AMULTSEL("A"), .AREG(2), .ACASCREG(1), .DREG(0), .ADREG(0), .BREG(1), .BCASCREG(1),
      .MREG(1), .PREG(1), .CREG(1), .INMODEREG(0), .OPMODEREG(0), .ALUMODEREG(0), .CARRYINREG(1),
      .CARRYINSELREG(0)
  ) low (
      .CLK(clk), .A({{3{size[26]}}, size[26:0]}), .B({1'b0, multiplier_4[16:0]}), .D(27'd0),
      .C({18'd0, {30{round_up_5}}}), .CARRYIN(round_up_ties_5),
      .PCIN(48'd0), .ACIN(30'd0), .BCIN(18'd0), .CARRYCASCIN(1'b0), .MULTSIGNIN(1'b0),
      .INMODE(5'b00000), .OPMODE(9'b11_000_01_01),  // product + C
      .ALUMODE(4'b0000), .CARRYINSEL(3'b000),
      .CEA1(1'b1), .CEA2(1'b1), .CED(1'b0), .CEAD(1'b0), .CEB1(1'b0), .CEB2(1'b1), .CEC(1'b1),
      .CEM(1'b1), .CEP(1'b1), .CEINMODE(1'b1), .CECTRL(1'b1), .CEALUMODE(1'b1), .CECARRYIN(1'b1),
      .RSTA(1'b0), .RSTB(1'b0), .RSTC(1'b0), .RSTD(1'b0), .RSTM(1'b0), .RSTP(1'b0),
      .RSTINMODE(1'b0), .RSTCTRL(1'b0), .RSTALUMODE(1'b0), .RSTALLCARRYIN(1'b0),
      .ACOUT(size_cascade), .PCOUT(low_cascade), .P(low_7),
      .BCOUT(), .CARRYCASCOUT(), .CARRYOUT(), .MULTSIGNOUT(), .OVERFLOW(), .UNDERFLOW(),
      .PATTERNDETECT(), .PATTERNBDETECT(), .XOROUT()
  );
  // The first digit's carry comes in below ten ones.
  DSP48E2 #(
      .AMULTSEL("A"), .A_INPUT("CASCADE"), .AREG(2), .ACASCREG(2), .DREG(0), .ADREG(0), .BREG(1),
      .BCASCREG(1), .MREG(1), .PREG(1), .CREG(1), .INMODEREG(0), .OPMODEREG(0), .ALUMODEREG(0),
      .CARRYINREG(1), .CARRYINSELREG(0)
  ) high (
      .CLK(clk), .A(30'd0), .B({4'd0, multiplier_5[30:17]}), .D(27'd0),
      .C({{2{terms[35]}}, terms, {10{negative_6}}}), .CARRYIN(negative_6),
      .PCIN(low_cascade), .ACIN(size_cascade), .BCIN(18'd0), .CARRYCASCIN(1'b0), .MULTSIGNIN(1'b0),
      .INMODE(5'b00000), .OPMODE(9'b11_101_01_01),  // product + C + PCIN / 2^17
      .ALUMODE(4'b0000), .CARRYINSEL(3'b000),
      .CEA1(1'b1), .CEA2(1'b1), .CED(1'b0), .CEAD(1'b0), .CEB1(1'b0), .CEB2(1'b1), .CEC(1'b1),
      .CEM(1'b1), .CEP(1'b1), .CEINMODE(1'b1), .CECTRL(1'b1), .CEALUMODE(1'b1), .CECARRYIN(1'b1),
      .RSTA(1'b0), .RSTB(1'b0), .RSTC(1'b0), .RSTD(1'b0), .RSTM(1'b0), .RSTP(1'b0),
      .RSTINMODE(1'b0), .RSTCTRL(1'b0), .RSTALUMODE(1'b0), .RSTALLCARRYIN(1'b0),
      .PCOUT(), .P(sum_8), .ACOUT(),
      .BCOUT(), .CARRYCASCOUT(), .CARRYOUT(), .MULTSIGNOUT(), .OVERFLOW(), .UNDERFLOW(),
      .PATTERNDETECT(), .PATTERNBDETECT(), .XOROUT()
  );
endmodule
/* verilator lint_on PINCONNECTEMPTY */
