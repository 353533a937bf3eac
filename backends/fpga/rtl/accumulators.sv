// Two blocks of sums: the array adds to one while the other is drained. An entry has the sums of a
// pair of pixels.
module accumulators #(
    parameter int GROUP = 32,
    parameter int ENTRIES = 256,
    parameter int SUM_BITS = 21,
    parameter int ENTRY_BITS = $clog2(ENTRIES)
) (
    input logic clk,
    input logic reset,
    input logic valid,
    input logic slot,
    input logic [ENTRY_BITS-1:0] entry,
    input logic fresh,
    input logic maximum,
    input logic single,  // a window's output, of the half pixel of the entry: only its sums change
    input logic half,
    input logic step_ends,
    input logic [GROUP*SUM_BITS-1:0] first,
    input logic [GROUP*SUM_BITS-1:0] second,
    output logic [1:0] complete,  // the step's last sums are written

    input logic drain_slot,
    input logic [ENTRY_BITS-1:0] drain_entry,
    output logic [2*GROUP*32-1:0] drained  // two clocks later
);
  localparam int WIDTH = 2 * GROUP * 32;
  logic valid_1, valid_2, slot_1, slot_2, fresh_1, fresh_2, maximum_1, maximum_2, ends_1, ends_2;
  logic [1:0] halves_1, halves_2;  // that change
  logic [ENTRY_BITS-1:0] entry_1, entry_2;
  logic [2*GROUP*SUM_BITS-1:0] sums_1, sums_2;
  logic [WIDTH-1:0] old_2, new_2, out[2];
  logic drain_slot_1;

  always_comb begin
    for (int i = 0; i < 2 * GROUP; i++) begin
      logic signed [31:0] old_sum, added;
      old_sum = $signed(old_2[i*32+:32]);
      added = 32'($signed(sums_2[i*SUM_BITS+:SUM_BITS]));
      if (fresh_2) new_2[i*32+:32] = added;
      else if (maximum_2) new_2[i*32+:32] = old_sum > added ? old_sum : added;
      else new_2[i*32+:32] = old_sum + added;
    end
  end

  for (genvar s = 0; s < 2; s++) begin : g_slot
    logic [WIDTH/2-1:0] first_memory[ENTRIES], second_memory[ENTRIES];
    logic [WIDTH-1:0] read;
    logic [ENTRY_BITS-1:0] address;
    assign address = valid && slot == 1'(s) ? entry : drain_entry;
    always_ff @(posedge clk) begin
      read <= {second_memory[address], first_memory[address]};
      if (valid_2 && slot_2 == 1'(s) && halves_2[0]) first_memory[entry_2] <= new_2[WIDTH/2-1:0];
      if (valid_2 && slot_2 == 1'(s) && halves_2[1]) second_memory[entry_2] <= new_2[WIDTH-1:WIDTH/2];
    end
    assign out[s] = read;
  end

  always_ff @(posedge clk) begin
    {valid_1, slot_1, fresh_1, maximum_1, ends_1, entry_1} <=
        {valid, slot, fresh, maximum, step_ends, entry};
    {valid_2, slot_2, fresh_2, maximum_2, ends_2, entry_2} <=
        {valid_1, slot_1, fresh_1, maximum_1, ends_1, entry_1};
    halves_1 <= single ? {half, !half} : 2'b11;
    halves_2 <= halves_1;
    sums_1 <= {single ? first : second, first};
    sums_2 <= sums_1;
    old_2 <= out[slot_1];
    drain_slot_1 <= drain_slot;
    drained <= out[drain_slot_1];
    complete <= '0;
    complete[slot_2] <= valid_2 && ends_2;
    if (reset) begin
      {valid_1, valid_2} <= '0;
      complete <= '0;
    end
  end
endmodule
