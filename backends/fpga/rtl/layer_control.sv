// Runs layer after layer: takes the next descriptor when the layer before is over, stops on errors and
// when nothing moves any more, and counts clocks.
module layer_control #(
    parameter int WATCHDOG_BITS = 20
) (
    input logic clk,
    input logic reset_n,
    input logic start,
    input logic next_valid,
    input layer_pkg::layer_t next,
    input logic [31:0] number,  // of the next
    output logic take,
    output layer_pkg::layer_t layer,
    output logic idle,
    output logic begins,  // the first clock of a layer
    output logic runs,
    output logic stop,  // no new bursts
    output logic clear,  // all engines begin anew
    output logic finished,

    input logic layer_done,
    input logic memory_idle,  // no burst is under way
    input logic progress,
    input logic descriptor_error,
    input logic axi_error,
    output logic [31:0] error_code,
    output logic [31:0] error_place,

    input logic array_active,
    input logic waits_for_data,
    input logic waits_for_sums,
    input logic waits_for_end,  // all pixels have been read
    output logic [5*32-1:0] counters
);
  import layer_pkg::*;
  typedef enum logic [2:0] {REST, WAIT, BEGIN, RUN, STOP, FINISH} state_t;
  state_t state;
  logic [WATCHDOG_BITS-1:0] still;
  logic [31:0] stop_code;
  assign idle = state == REST;
  assign begins = state == BEGIN;
  assign runs = state == RUN;
  assign stop = state == STOP;
  assign take = state == WAIT && next_valid;
  always_comb begin
    stop_code = 32'd0;
    if (&still) stop_code = WATCHDOG_ERROR;
    if (descriptor_error) stop_code = DESCRIPTOR_ERROR;
    if (axi_error) stop_code = AXI_ERROR;
  end

  always_ff @(posedge clk) begin
    finished <= 1'b0;
    clear <= 1'b0;
    still <= progress || take ? '0 : still + 1'b1;
    case (state)
      REST:
      if (start) begin
        state <= WAIT;
        still <= '0;
        error_code <= 32'd0;
        error_place <= 32'd0;
        counters <= '0;
      end
      WAIT:
      if (next_valid) begin
        layer <= next;
        state <= BEGIN;
      end
      BEGIN: state <= RUN;
      RUN: if (layer_done) state <= layer.last ? FINISH : WAIT;
      STOP:
      if (memory_idle || (&still)) begin
        state <= REST;
        finished <= 1'b1;
        clear <= 1'b1;
      end
      default:
      if (memory_idle) begin
        state <= REST;
        finished <= 1'b1;
        clear <= 1'b1;
      end
    endcase
    if (state != REST && state != STOP && stop_code != 32'd0) begin
      state <= STOP;
      still <= '0;
      error_code <= stop_code;
      error_place <= state == WAIT ? number : number - 32'd1;
    end
    if (state != REST) begin
      counters[31:0] <= counters[31:0] + 32'd1;
      counters[63:32] <= counters[63:32] + 32'(array_active);
      counters[95:64] <= counters[95:64] + 32'(waits_for_data);
      counters[127:96] <= counters[127:96] +
          32'(waits_for_sums || (state == RUN && waits_for_end && !layer_done));
      counters[159:128] <= counters[159:128] + 32'(state == WAIT);
    end
    if (!reset_n) begin
      state <= REST;
      clear <= 1'b1;
      {finished, still} <= '0;
      {error_code, error_place, counters} <= '0;
    end
  end
endmodule
