// Three of the DSPs' forms, with the ports that tests move: `head` has the pre-adder and all its
// registers, `tail` takes A, B and P from it, `plain` has no register at all.
/* verilator lint_off PINCONNECTEMPTY */
/* verilator lint_off DECLFILENAME */
module dsp48e2_bench (
    input logic CLK,
    input logic [29:0] A,
    input logic [17:0] B,
    input logic [47:0] C,
    input logic [26:0] D,
    input logic CARRYIN,
    input logic [4:0] INMODE,
    input logic [8:0] OPMODE,
    input logic [8:0] TAIL_OPMODE,
    input logic CEB1,
    input logic CEB2,
    input logic CEA2,
    input logic CED,
    output logic [47:0] head_p,
    output logic [47:0] tail_p,
    output logic [47:0] plain_p
);
  logic [29:0] a;
  logic [17:0] b;
  logic [47:0] p;
  `define REST \
      .CLK(CLK), .C(C), .D(D), .CARRYIN(CARRYIN), .CARRYCASCIN(1'b0), .MULTSIGNIN(1'b0), \
      .ALUMODE(4'd0), .CARRYINSEL(3'd0), .CEA1(1'b1), .CEAD(1'b1), .CEC(1'b1), .CEM(1'b1), \
      .CEP(1'b1), .CEINMODE(1'b1), .CECTRL(1'b1), .CEALUMODE(1'b1), .CECARRYIN(1'b1), \
      .RSTA(1'b0), .RSTB(1'b0), .RSTC(1'b0), .RSTD(1'b0), .RSTM(1'b0), .RSTP(1'b0), \
      .RSTINMODE(1'b0), .RSTCTRL(1'b0), .RSTALUMODE(1'b0), .RSTALLCARRYIN(1'b0), .CARRYCASCOUT(), \
      .CARRYOUT(), .MULTSIGNOUT(), .OVERFLOW(), .UNDERFLOW(), .PATTERNDETECT(), .PATTERNBDETECT(), \
      .XOROUT()
  DSP48E2 #(
      .AMULTSEL("AD"), .BREG(2), .BCASCREG(1), .INMODEREG(0), .OPMODEREG(0), .ALUMODEREG(0),
      .CARRYINSELREG(0), .RND(48'hF00000000FFF)
  ) head (
      .A(A), .B(B), .ACIN(30'd0), .BCIN(18'd0), .PCIN(48'd0), .INMODE(INMODE), .OPMODE(OPMODE),
      .CEA2(CEA2), .CED(CED), .CEB1(CEB1), .CEB2(CEB2), .P(head_p), .PCOUT(p), .ACOUT(a),
      .BCOUT(b), `REST
  );
  DSP48E2 #(
      .A_INPUT("CASCADE"), .B_INPUT("CASCADE"), .AREG(2), .ACASCREG(1), .INMODEREG(0),
      .OPMODEREG(0), .ALUMODEREG(0), .CARRYINSELREG(0), .MREG(0)
  ) tail (
      .A(30'd0), .B(18'd0), .ACIN(a), .BCIN(b), .PCIN(p), .INMODE(5'd0), .OPMODE(TAIL_OPMODE),
      .CEA2(1'b1), .CED(1'b0), .CEB1(1'b0), .CEB2(1'b1), .P(tail_p), .PCOUT(), .ACOUT(), .BCOUT(),
      `REST
  );
  DSP48E2 #(
      .AREG(0), .ACASCREG(0), .BREG(0), .BCASCREG(0), .CREG(0), .MREG(0), .PREG(0), .CARRYINREG(0),
      .INMODEREG(0), .OPMODEREG(0), .ALUMODEREG(0), .CARRYINSELREG(0)
  ) plain (
      .A(A), .B(B), .ACIN(30'd0), .BCIN(18'd0), .PCIN(C), .INMODE(5'd0), .OPMODE(TAIL_OPMODE),
      .CEA2(1'b0), .CED(1'b0), .CEB1(1'b0), .CEB2(1'b0), .P(plain_p), .PCOUT(), .ACOUT(), .BCOUT(),
      `REST
  );
endmodule
