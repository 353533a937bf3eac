// Fetches descriptors one ahead of the layer that runs. `next` is decoded and offered to the fetchers
// of weights before it is taken as the layer to run.
module descriptor_fetch (
    input logic clk,
    input logic reset,
    input logic start,
    input logic [63:0] code,
    input logic [31:0] code_bytes,
    output logic request,
    output logic [63:0] address,
    output logic [4:0] beats,
    input logic grant,
    input logic valid,
    input logic [127:0] data,

    output logic announce,  // `announced` is a new layer, whose weights may be fetched
    input logic announce_ready,
    output layer_pkg::layer_t announced,
    output logic next_valid,  // the layer after those taken
    output layer_pkg::layer_t next,
    input logic take,
    output logic [31:0] number,  // of the next
    output logic error
);
  import layer_pkg::*;
  localparam int DEPTH = 2;
  logic active, asking;
  logic [1:0] half_asked;
  logic [2:0] beat;
  logic [1023:0] words, queue[DEPTH];
  logic [1:0] count;
  logic head, tail;
  logic [31:0] fetched;
  logic full_word, is_checked;
  layer_t decoded;
  // The sum of the words grows beat by beat, as they come: two clocks behind them.
  logic added, is_last_beat;
  logic [31:0] low_pair, high_pair, sum;

  assign decoded = words;
  assign request = active && asking && half_asked != 2'd2;
  assign address = code + {25'd0, fetched, 7'd0} + {57'd0, half_asked[0], 6'd0};
  assign beats = 5'd4;
  assign announced = words;
  assign announce = is_checked && announce_ready && count < 2'(DEPTH);
  assign next = queue[head];
  assign next_valid = count != 2'd0;

  always_ff @(posedge clk) begin
    added <= valid;
    is_last_beat <= valid && beat == 3'd7;
    low_pair <= data[31:0] + data[63:32];
    high_pair <= data[95:64] + data[127:96];
    if (added) sum <= sum + low_pair + high_pair;
    full_word <= is_last_beat;
    if (request && grant) half_asked <= half_asked + 2'd1;
    if (valid) begin
      words <= {data, words[1023:128]};
      beat <= beat + 3'd1;
    end
    if (full_word) begin
      sum <= '0;
      if (is_legal(decoded, sum)) is_checked <= 1'b1;
      else error <= 1'b1;
    end
    if (announce) begin
      is_checked <= 1'b0;
      queue[tail] <= words;
      tail <= !tail;
      asking <= !decoded.last;
      half_asked <= 2'd0;
      fetched <= fetched + 32'd1;
    end
    if (active && asking && half_asked == 2'd0 && {fetched[24:0], 7'd0} + 32'd128 > code_bytes)
      error <= 1'b1;
    count <= count + 2'(announce) - 2'(take);
    if (take) begin
      head <= !head;
      number <= number + 32'd1;
    end
    if (start) begin
      active <= 1'b1;
      asking <= 1'b1;
    end
    if (reset) begin
      {active, asking, full_word, is_checked, error} <= '0;
      {added, is_last_beat} <= '0;
      sum <= '0;
      half_asked <= '0;
      beat <= '0;
      count <= '0;
      {head, tail} <= '0;
      fetched <= '0;
      number <= '0;
    end
  end
endmodule
