// One DSP48E2 that multiplies the bytes of two pixels by one weight and adds its predecessor's sum:
// P = (second * 2^18 + first) * weight + PCIN. The pre-adder puts the pixels side by side, the two B
// registers hold the next weight and the present one. A tap is added to the first pixel, so that of the two
// one must be 0; it spoils the second pixel's sum, as it fills the bits below it with its sign.
//
// The head of a cascade adds a constant instead, which makes all sums of eight first products
// positive: the field of 18 bits then borrows nothing from the second pixel's above it.
/* verilator lint_off PINCONNECTEMPTY */  // the primitive has outputs that nobody needs
module mac_cell #(
    parameter bit HEAD = 1'b0,
    parameter logic [47:0] CONSTANT = 48'd0
) (
    input logic clk,
    input logic signed [7:0] first,
    input logic signed [7:0] second,
    input logic signed [7:0] tap,
    input logic signed [7:0] weight,
    input logic load_weight,  // takes `weight` as the next one
    input logic swap_weight,  // the next weight is used for what came a clock earlier, and after it
    input logic [47:0] cascade_in,
    output logic [47:0] cascade_out,
    output logic [47:0] sum
);
  DSP48E2 #(
      .AMULTSEL("AD"), .AREG(1), .ACASCREG(1), .DREG(1), .ADREG(1), .BREG(2), .BCASCREG(2),
      .MREG(1), .PREG(1), .CREG(0), .INMODEREG(0), .OPMODEREG(0), .ALUMODEREG(0), .CARRYINREG(0),
      .CARRYINSELREG(0), .RND(CONSTANT)
  ) dsp (
      .CLK(clk),
      .A({{4{second[7]}}, second, 18'(tap)}),
      .D(27'(first)),
      .B(18'(weight)),
      .C(48'd0),
      .CARRYIN(1'b0),
      .PCIN(cascade_in),
      .ACIN(30'd0), .BCIN(18'd0), .CARRYCASCIN(1'b0), .MULTSIGNIN(1'b0),
      .INMODE(5'b00100),                              // D + A2, times B2
      .OPMODE(HEAD ? 9'b10_000_01_01 : 9'b00_001_01_01),  // product + RND, or + PCIN
      .ALUMODE(4'b0000), .CARRYINSEL(3'b000),
      .CEA1(1'b0), .CEA2(1'b1), .CED(1'b1), .CEAD(1'b1), .CEB1(load_weight), .CEB2(swap_weight),
      .CEC(1'b0), .CEM(1'b1), .CEP(1'b1), .CEINMODE(1'b1), .CECTRL(1'b1), .CEALUMODE(1'b1),
      .CECARRYIN(1'b1),
      .RSTA(1'b0), .RSTB(1'b0), .RSTC(1'b0), .RSTD(1'b0), .RSTM(1'b0), .RSTP(1'b0),
      .RSTINMODE(1'b0), .RSTCTRL(1'b0), .RSTALUMODE(1'b0), .RSTALLCARRYIN(1'b0),
      .PCOUT(cascade_out), .P(sum),
      .ACOUT(), .BCOUT(), .CARRYCASCOUT(), .CARRYOUT(), .MULTSIGNOUT(), .OVERFLOW(), .UNDERFLOW(),
      .PATTERNDETECT(), .PATTERNBDETECT(), .XOROUT()
  );
endmodule
/* verilator lint_on PINCONNECTEMPTY */
