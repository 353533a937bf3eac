// Registers behind AXI4-Lite, as Vitis' kernels have them (backends/fpga/isa/registers.hpp).
module control_port #(
    parameter logic [127:0] PARAMETERS = '0
) (
    input logic clk,
    input logic reset_n,
    input logic [11:0] awaddr,
    input logic awvalid,
    output logic awready,
    input logic [31:0] wdata,
    /* verilator lint_off UNUSEDSIGNAL */  // whole registers are written
    input logic [3:0] wstrb,
    /* verilator lint_on UNUSEDSIGNAL */
    input logic wvalid,
    output logic wready,
    output logic [1:0] bresp,
    output logic bvalid,
    input logic bready,
    input logic [11:0] araddr,
    input logic arvalid,
    output logic arready,
    output logic [31:0] rdata,
    output logic [1:0] rresp,
    output logic rvalid,
    input logic rready,

    output logic start,
    input logic finished,
    input logic idle,
    output logic [63:0] code,
    output logic [31:0] code_bytes,
    output logic [4*64-1:0] bases,
    input logic [31:0] error,
    input logic [31:0] error_place,
    input logic [5*32-1:0] counters
);
  localparam logic [31:0] ID = 32'h4E4E4354;
  logic [31:0] arguments[16];  // from 0x10 on
  logic is_done, writes;
  assign writes = awvalid && wvalid && !bvalid;
  assign awready = writes;
  assign wready = writes;
  assign bresp = 2'd0;
  assign rresp = 2'd0;
  assign arready = arvalid && !rvalid;
  assign code = {arguments[1], arguments[0]};
  assign code_bytes = arguments[3];
  for (genvar b = 0; b < 4; b++)
    assign bases[b*64+:64] = {arguments[5+3*b+1], arguments[5+3*b]};

  always_ff @(posedge clk) begin
    start <= 1'b0;
    if (bready) bvalid <= 1'b0;
    if (writes) begin
      bvalid <= 1'b1;
      if (awaddr == 12'd0 && wdata[0] && idle) start <= 1'b1;
      if (awaddr >= 12'h10 && awaddr < 12'h50) arguments[4'(awaddr[11:2] - 10'd4)] <= wdata;
    end
    if (finished) is_done <= 1'b1;
    if (rready) rvalid <= 1'b0;
    if (arready) begin
      rvalid <= 1'b1;
      rdata <= 32'd0;
      if (araddr == 12'd0) begin
        rdata <= {29'd0, idle, is_done, !idle};
        is_done <= finished;  // cleared by reading
      end
      if (araddr >= 12'h10 && araddr < 12'h50) rdata <= arguments[4'(araddr[11:2] - 10'd4)];
      if (araddr == 12'h54) rdata <= error;
      if (araddr == 12'h58) rdata <= error_place;
      if (araddr == 12'h60) rdata <= ID;
      if (araddr == 12'h64) rdata <= {24'd0, layer_pkg::FORMAT_VERSION};
      if (araddr >= 12'h70 && araddr < 12'h80) rdata <= PARAMETERS[araddr[3:2]*32+:32];
      if (araddr >= 12'h90 && araddr < 12'hA4) rdata <= counters[3'(araddr[11:2] - 10'h24)*32+:32];
    end
    if (!reset_n) begin
      {start, bvalid, rvalid, is_done} <= '0;
    end
  end
endmodule
