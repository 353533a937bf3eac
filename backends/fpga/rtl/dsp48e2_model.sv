// The DSP48E2 of AMD UltraScale+ for simulation, as far as the accelerator uses it: what UG579
// documents of the registers, the pre-adder, the 27 x 18 multiplier, the ALU as an adder and the
// cascades. Everything else is an error when it is used. Synthesis has the primitive itself, under
// the same name with the same ports; where those lists have an entry, its default is the primitive's.
/* verilator lint_off DECLFILENAME */   // the primitive's name is in capitals
/* verilator lint_off UNUSEDSIGNAL */   // ports for functions that are refused
/* verilator lint_off UNUSEDPARAM */
module DSP48E2 #(
    parameter integer ACASCREG = 1,
    parameter integer ADREG = 1,
    parameter integer ALUMODEREG = 1,
    parameter AMULTSEL = "A",
    parameter integer AREG = 1,
    parameter A_INPUT = "DIRECT",
    parameter integer BCASCREG = 1,
    parameter BMULTSEL = "B",
    parameter integer BREG = 1,
    parameter B_INPUT = "DIRECT",
    parameter integer CARRYINREG = 1,
    parameter integer CARRYINSELREG = 1,
    parameter integer CREG = 1,
    parameter integer DREG = 1,
    parameter integer INMODEREG = 1,
    parameter integer MREG = 1,
    parameter integer OPMODEREG = 1,
    parameter integer PREG = 1,
    parameter PREADDINSEL = "A",
    parameter logic [47:0] RND = 48'h0,
    parameter USE_MULT = "MULTIPLY"
) (
    output logic [29:0] ACOUT,
    output logic [17:0] BCOUT,
    output logic CARRYCASCOUT,
    output logic [3:0] CARRYOUT,
    output logic MULTSIGNOUT,
    output logic OVERFLOW,
    output logic [47:0] P,
    output logic PATTERNBDETECT,
    output logic PATTERNDETECT,
    output logic [47:0] PCOUT,
    output logic UNDERFLOW,
    output logic [7:0] XOROUT,
    input logic [29:0] A,
    input logic [29:0] ACIN,
    input logic [3:0] ALUMODE,
    input logic [17:0] B,
    input logic [17:0] BCIN,
    input logic [47:0] C,
    input logic CARRYCASCIN,
    input logic CARRYIN,
    input logic [2:0] CARRYINSEL,
    input logic CEA1,
    input logic CEA2,
    input logic CEAD,
    input logic CEALUMODE,
    input logic CEB1,
    input logic CEB2,
    input logic CEC,
    input logic CECARRYIN,
    input logic CECTRL,
    input logic CED,
    input logic CEINMODE,
    input logic CEM,
    input logic CEP,
    input logic CLK,
    input logic [26:0] D,
    input logic [4:0] INMODE,
    input logic MULTSIGNIN,
    input logic [8:0] OPMODE,
    input logic [47:0] PCIN,
    input logic RSTA,
    input logic RSTALLCARRYIN,
    input logic RSTALUMODE,
    input logic RSTB,
    input logic RSTC,
    input logic RSTCTRL,
    input logic RSTD,
    input logic RSTINMODE,
    input logic RSTM,
    input logic RSTP
);
  // The two registers of A and of B. With one of them it is the second.
  logic [29:0] a_in, a1, a2;
  logic [17:0] b_in, b1, b2;
  /* verilator lint_off WIDTH */  // words of different lengths are compared
  localparam bit A_FROM_CASCADE = A_INPUT == "CASCADE";
  localparam bit B_FROM_CASCADE = B_INPUT == "CASCADE";
  localparam bit HAS_PREADDER = AMULTSEL == "AD";
  /* verilator lint_on WIDTH */
  assign a_in = A_FROM_CASCADE ? ACIN : A;
  assign b_in = B_FROM_CASCADE ? BCIN : B;
  if (AREG == 2) begin : g_a1
    always_ff @(posedge CLK) if (CEA1) a1 <= a_in;
  end else begin : g_no_a1
    assign a1 = a_in;
  end
  if (AREG >= 1) begin : g_a2
    always_ff @(posedge CLK) if (CEA2) a2 <= a1;
  end else begin : g_no_a2
    assign a2 = a1;
  end
  if (BREG == 2) begin : g_b1
    always_ff @(posedge CLK) if (CEB1) b1 <= b_in;
  end else begin : g_no_b1
    assign b1 = b_in;
  end
  if (BREG >= 1) begin : g_b2
    always_ff @(posedge CLK) if (CEB2) b2 <= b1;
  end else begin : g_no_b2
    assign b2 = b1;
  end
  assign ACOUT = ACASCREG == AREG ? a2 : a1;
  assign BCOUT = BCASCREG == BREG ? b2 : b1;

  // The pre-adder: 27 bits, what overflows is lost.
  logic signed [26:0] preadded;
  if (HAS_PREADDER) begin : g_ad
    logic [26:0] d, sum, ad;
    if (DREG == 1) begin : g_d
      always_ff @(posedge CLK) if (CED) d <= D;
    end else begin : g_no_d
      assign d = D;
    end
    assign sum = (INMODE[2] ? d : 27'd0) + (INMODE[1] ? 27'd0 : a2[26:0]);
    if (ADREG == 1) begin : g_adreg
      always_ff @(posedge CLK) if (CEAD) ad <= sum;
    end else begin : g_no_adreg
      assign ad = sum;
    end
    assign preadded = ad;
  end else begin : g_no_ad
    assign preadded = a2[26:0];
  end

  logic signed [63:0] product, m;  // 45 bits; as wide as a word, that simulates faster
  assign product = 64'(preadded) * 64'($signed(b2));
  if (MREG == 1) begin : g_m
    always_ff @(posedge CLK) if (CEM) m <= product;
  end else begin : g_no_m
    assign m = product;
  end

  logic [47:0] c;
  if (CREG == 1) begin : g_c
    always_ff @(posedge CLK) if (CEC) c <= C;
  end else begin : g_no_c
    assign c = C;
  end
  logic carry;
  if (CARRYINREG == 1) begin : g_carry
    always_ff @(posedge CLK) if (CECARRYIN) carry <= CARRYIN;
  end else begin : g_no_carry
    assign carry = CARRYIN;
  end

  // The ALU adds four numbers of 48 bits and the carry.
  logic [47:0] w, z, alu;
  assign w = OPMODE[8:7] == 2'b10 ? RND : OPMODE[8:7] == 2'b11 ? c : 48'd0;
  assign z = OPMODE[6:4] == 3'b001 ? PCIN
             : OPMODE[6:4] == 3'b011 ? c
             : OPMODE[6:4] == 3'b101 ? {{17{PCIN[47]}}, PCIN[47:17]} : 48'd0;
  assign alu = w + z + m[47:0] + 48'(carry);
  if (PREG == 1) begin : g_p
    always_ff @(posedge CLK) if (CEP) P <= alu;
  end else begin : g_no_p
    assign P = alu;
  end
  assign PCOUT = P;

  // Nobody may use what is not modelled.
  assign {CARRYCASCOUT, CARRYOUT, MULTSIGNOUT, OVERFLOW, UNDERFLOW} = '0;
  assign {PATTERNBDETECT, PATTERNDETECT, XOROUT} = '0;

  if (!(AREG inside {0, 1, 2}) || !(BREG inside {0, 1, 2})) $error("AREG and BREG are 0, 1 or 2");
  if (!(ACASCREG == AREG || (AREG == 2 && ACASCREG == 1))) $error("ACASCREG does not go with AREG");
  if (!(BCASCREG == BREG || (BREG == 2 && BCASCREG == 1))) $error("BCASCREG does not go with BREG");
  if (BMULTSEL != "B" || PREADDINSEL != "A") $error("the model's pre-adder adds A to D only");
  if (USE_MULT != "MULTIPLY") $error("the model always multiplies");
  if (INMODEREG != 0 || OPMODEREG != 0 || ALUMODEREG != 0 || CARRYINSELREG != 0)
    $error("the model's modes have no registers: they are constants");
  always_ff @(posedge CLK) begin
    assert (ALUMODE == 4'b0000) else $error("the model's ALU adds only");
    assert (CARRYINSEL == 3'b000) else $error("the model's carry is CARRYIN");
    assert (INMODE inside {5'b00000, 5'b00100, 5'b00110}) else $error("INMODE is not modelled");
    assert (INMODE == 5'b00000 || HAS_PREADDER) else $error("INMODE asks for the pre-adder");
    assert (OPMODE[3:0] == 4'b0101) else $error("X and Y must be the product");
    assert (OPMODE[6:4] inside {3'b000, 3'b001, 3'b011, 3'b101}) else $error("Z is not modelled");
    assert (OPMODE[8:7] != 2'b01) else $error("the model does not add P to itself");
    assert (!(|{RSTA, RSTB, RSTC, RSTD, RSTM, RSTP, RSTINMODE, RSTCTRL, RSTALUMODE, RSTALLCARRYIN}))
    else $error("the model has no resets");
  end
endmodule
