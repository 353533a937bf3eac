// Fetches a quarter of each line of weights, in the order of use and across layers, as far ahead as the
// ring has space, and holds them.
module weight_plane #(
    parameter int LINES = 2048  // a power of two
) (
    input logic clk,
    input logic reset,
    input logic announce,
    output logic ready,
    input logic [63:0] base,  // of this plane
    /* verilator lint_off UNUSEDSIGNAL */  // what others need of a layer
    input layer_pkg::layer_t layer,
    /* verilator lint_on UNUSEDSIGNAL */
    output logic request,
    output logic [63:0] address,
    output logic [4:0] beats,
    input logic grant,
    input logic valid,
    input logic [127:0] data,

    output logic [31:0] arrived,  // lines so far
    input logic [31:0] released,
    input logic [$clog2(LINES)-1:0] line,
    output logic [127:0] quarter  // a clock after `line`
);
  typedef struct packed {
    logic [63:0] base;
    logic [31:0] lines;    // of a stretch
    logic [31:0] repeats;  // of each stretch
    logic [31:0] stretches;
  } job_t;
  job_t jobs[4];
  logic [1:0] head, tail;
  logic [2:0] count;
  logic [31:0] now_lines, now_repeats;
  logic busy;
  logic [31:0] left, repeats_left, stretches_left, asked;
  logic [63:0] begin_address, at;
  logic [127:0] memory[LINES];

  assign ready = count < 3'd4;
  // All lines of a layer follow each other unless stretches repeat.
  job_t added;
  always_comb begin
    added.base = base;
    added.lines = layer.reload ? layer.group_lines : layer.all_lines;
    added.repeats = layer.reload ? layer.blocks : 32'd1;
    added.stretches = layer.reload ? {16'd0, layer.out_groups} : 32'd1;
  end

  logic [31:0] room, wanted, to_edge;
  always_comb begin
    room = 32'(LINES) - (asked - released);
    to_edge = 32'd16 - {28'd0, at[7:4]};
    wanted = left < to_edge ? left : to_edge;
    request = busy && left != 32'd0 && room >= wanted;
    address = at;
    beats = wanted[4:0];
  end

  always_ff @(posedge clk) begin
    if (announce && layer.op != layer_pkg::TRANSFER) begin
      jobs[tail] <= added;
      tail <= tail + 2'd1;
    end
    count <= count + 3'(announce && layer.op != layer_pkg::TRANSFER) - 3'(!busy && count != 3'd0);
    if (!busy && count != 3'd0) begin
      now_lines <= jobs[head].lines;
      now_repeats <= jobs[head].repeats;
      head <= head + 2'd1;
      busy <= 1'b1;
      at <= jobs[head].base;
      begin_address <= jobs[head].base;
      left <= jobs[head].lines;
      repeats_left <= jobs[head].repeats;
      stretches_left <= jobs[head].stretches;
    end
    if (grant) begin
      asked <= asked + wanted;
      at <= at + {28'd0, wanted, 4'd0};
      left <= left - wanted;
      if (left == wanted) begin
        left <= now_lines;
        if (repeats_left != 32'd1) begin
          repeats_left <= repeats_left - 32'd1;
          at <= begin_address;
        end else if (stretches_left != 32'd1) begin
          stretches_left <= stretches_left - 32'd1;
          repeats_left <= now_repeats;
          begin_address <= at + {28'd0, wanted, 4'd0};
        end else begin
          busy <= 1'b0;
        end
      end
    end
    if (valid) begin
      memory[arrived[$clog2(LINES)-1:0]] <= data;
      arrived <= arrived + 32'd1;
    end
    quarter <= memory[line];
    if (reset) begin
      {head, tail} <= '0;
      count <= '0;
      busy <= 1'b0;
      asked <= '0;
      arrived <= '0;
    end
  end
endmodule
