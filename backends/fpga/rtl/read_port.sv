// A master of AXI reads for several clients. A client asks for up to 16 beats that do not cross a
// multiple of 256 bytes, and must take its data when they come. Bursts come back in order.
module read_port #(
    parameter int CLIENTS = 2
) (
    input logic clk,
    input logic reset,
    input logic stop,  // no new bursts
    input logic [CLIENTS-1:0] request,
    input logic [CLIENTS*64-1:0] address,
    input logic [CLIENTS*5-1:0] beats,
    output logic [CLIENTS-1:0] grant,
    output logic [CLIENTS-1:0] valid,  // a beat for that client
    output logic [127:0] data,
    output logic idle,
    output logic error,

    output logic [63:0] araddr,
    output logic [7:0] arlen,
    output logic arvalid,
    input logic arready,
    input logic [127:0] rdata,
    input logic [1:0] rresp,
    input logic rlast,
    input logic rvalid,
    output logic rready
);
  localparam int DEPTH = 32;
  localparam int BITS = CLIENTS > 1 ? $clog2(CLIENTS) : 1;
  logic [BITS-1:0] owner[DEPTH];
  logic [4:0] head, tail;
  logic [5:0] outstanding;
  logic [BITS-1:0] turn, chosen;
  logic found, issue, ends;

  always_comb begin
    chosen = turn;
    found = 1'b0;
    for (int i = 0; i < CLIENTS; i++) begin
      logic [BITS:0] at;
      at = {1'b0, turn} + (BITS + 1)'(i);
      if (at >= (BITS + 1)'(CLIENTS)) at = at - (BITS + 1)'(CLIENTS);
      if (!found && request[at[BITS-1:0]]) begin
        found = 1'b1;
        chosen = at[BITS-1:0];
      end
    end
    issue = found && !stop && (!arvalid || arready) && outstanding < 6'(DEPTH);
    grant = '0;
    grant[chosen] = issue;
  end

  assign rready = 1'b1;
  assign data = rdata;
  assign ends = rvalid && rlast;
  assign idle = outstanding == 6'd0 && !arvalid;
  always_comb begin
    valid = '0;
    valid[owner[head]] = rvalid;
  end

  always_ff @(posedge clk) begin
    if (arready) arvalid <= 1'b0;
    if (issue) begin
      arvalid <= 1'b1;
      araddr <= {address[chosen*64+4+:60], 4'd0};
      arlen <= {3'd0, beats[chosen*5+:5] - 5'd1};
      owner[tail] <= chosen;
      tail <= tail + 5'd1;
      turn <= chosen == BITS'(CLIENTS - 1) ? '0 : chosen + BITS'(1);
    end
    if (ends) head <= head + 5'd1;
    outstanding <= outstanding + 6'(issue) - 6'(ends);
    if (rvalid && rresp != 2'd0) error <= 1'b1;
    if (reset) begin
      arvalid <= 1'b0;
      head <= '0;
      tail <= '0;
      turn <= '0;
      outstanding <= '0;
      error <= 1'b0;
    end
  end
endmodule
