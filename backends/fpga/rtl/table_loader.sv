// Loads the tables of a layer, four bytes a clock for all lanes at once.
module table_loader (
    input logic clk,
    input logic reset,
    input logic start,
    input logic [63:0] base,
    input logic with_residual,
    output logic request,
    output logic [63:0] address,
    output logic [4:0] beats,
    input logic grant,
    input logic valid,
    input logic [127:0] data,
    output logic write,
    output logic [9:0] word,
    output logic [31:0] word_data,
    output logic ready
);
  localparam int TABLE_BEATS = 16;                  // 256 bytes
  localparam int ALL_BEATS = TABLE_BEATS + 2 * 64;  // and twice 256 words
  logic [127:0] fifo[256];
  logic [7:0] left, tail;
  logic [9:0] words;
  logic [63:0] at;
  logic [4:0] wanted;
  assign wanted = left < {3'd0, 5'd16 - {1'b0, at[7:4]}} ? left[4:0] : 5'd16 - {1'b0, at[7:4]};
  assign request = left != 8'd0;
  assign address = at;
  assign beats = wanted;
  assign write = !ready && word < {tail, 2'd0};
  assign word_data = fifo[word[9:2]][word[1:0]*32+:32];

  always_ff @(posedge clk) begin
    if (grant) begin
      left <= left - {3'd0, wanted};
      at <= at + {55'd0, wanted, 4'd0};
    end
    if (valid) begin
      fifo[tail] <= data;
      tail <= tail + 8'd1;
    end
    if (write) begin
      word <= word + 10'd1;
      if (word + 10'd1 == words) ready <= 1'b1;
    end
    if (start) begin
      ready <= 1'b0;
      at <= base;
      tail <= '0;
      word <= '0;
      left <= with_residual ? 8'(ALL_BEATS) : 8'(TABLE_BEATS);
      words <= with_residual ? 10'(4 * ALL_BEATS) : 10'(4 * TABLE_BEATS);
    end
    if (reset) begin
      ready <= 1'b1;
      left <= '0;
    end
  end
endmodule
