// A kernel with the accelerator's ports and registers that does next to nothing: it tests the simulated
// board and the host driver apart from the accelerator. Of its code, which must be a descriptor that
// moves a map, it looks at two fields: the height of the input is how many beats of 16 bytes to copy from
// base 0 to base 1 with every bit 0 of a byte flipped, and a window of any height but 1 is an error.
module loopback #(
  parameter logic [31:0] ID = 32'h4e4e4354,
  parameter logic [31:0] VERSION = 32'd2,
  parameter int unsigned PARAMETERS = 4,
  parameter logic [127:0] PARAMETER_WORDS = 128'h0A000100_0000C000_00200002_00000020,
  // Where the registers are, and the arguments' words from 0x10 on.
  parameter logic [11:0] ERROR_ADDRESS = 12'h054,
  parameter logic [11:0] PLACE_ADDRESS = 12'h058,
  parameter logic [11:0] ID_ADDRESS = 12'h060,
  parameter logic [11:0] VERSION_ADDRESS = 12'h064,
  parameter logic [11:0] PARAMETER_ADDRESS = 12'h070,
  parameter logic [11:0] COUNTER_ADDRESS = 12'h090,
  parameter int unsigned BASE_WORD = 5,
  parameter int unsigned BASE_STEP = 3,
  parameter logic [31:0] CODE_ERROR = 32'd1,
  parameter logic [31:0] AXI_ERROR = 32'd2
) (
  input  logic         ap_clk,
  input  logic         ap_rst_n,
  output logic         interrupt,
  input  logic [11:0]  s_axi_control_awaddr,
  input  logic         s_axi_control_awvalid,
  output logic         s_axi_control_awready,
  input  logic [31:0]  s_axi_control_wdata,
  input  logic [3:0]   s_axi_control_wstrb,
  input  logic         s_axi_control_wvalid,
  output logic         s_axi_control_wready,
  output logic [1:0]   s_axi_control_bresp,
  output logic         s_axi_control_bvalid,
  input  logic         s_axi_control_bready,
  input  logic [11:0]  s_axi_control_araddr,
  input  logic         s_axi_control_arvalid,
  output logic         s_axi_control_arready,
  output logic [31:0]  s_axi_control_rdata,
  output logic [1:0]   s_axi_control_rresp,
  output logic         s_axi_control_rvalid,
  input  logic         s_axi_control_rready,
`define PORT(n)                              \
  output logic [63:0]  m_axi_gmem``n``_araddr,   \
  output logic [7:0]   m_axi_gmem``n``_arlen,    \
  output logic         m_axi_gmem``n``_arvalid,  \
  input  logic         m_axi_gmem``n``_arready,  \
  input  logic [127:0] m_axi_gmem``n``_rdata,    \
  input  logic [1:0]   m_axi_gmem``n``_rresp,    \
  input  logic         m_axi_gmem``n``_rlast,    \
  input  logic         m_axi_gmem``n``_rvalid,   \
  output logic         m_axi_gmem``n``_rready,   \
  output logic [63:0]  m_axi_gmem``n``_awaddr,   \
  output logic [7:0]   m_axi_gmem``n``_awlen,    \
  output logic         m_axi_gmem``n``_awvalid,  \
  input  logic         m_axi_gmem``n``_awready,  \
  output logic [127:0] m_axi_gmem``n``_wdata,    \
  output logic [15:0]  m_axi_gmem``n``_wstrb,    \
  output logic         m_axi_gmem``n``_wlast,    \
  output logic         m_axi_gmem``n``_wvalid,   \
  input  logic         m_axi_gmem``n``_wready,   \
  input  logic [1:0]   m_axi_gmem``n``_bresp,    \
  input  logic         m_axi_gmem``n``_bvalid,   \
  output logic         m_axi_gmem``n``_bready
  `PORT(0), `PORT(1), `PORT(2), `PORT(3)
);
  // Registers: see backends/fpga/isa/registers.hpp.
  localparam int unsigned ARGUMENT_WORDS = 16;
  logic [31:0] arguments [ARGUMENT_WORDS];
  logic [31:0] error_code, error_place, cycles;
  logic        start, running, done;

  // --- control port ---------------------------------------------------------------------------
  logic [11:0] write_address;
  logic        has_write_address;
  assign interrupt = done;
  assign s_axi_control_bresp = 2'b00;
  assign s_axi_control_rresp = 2'b00;
  assign s_axi_control_awready = !has_write_address && !s_axi_control_bvalid;
  assign s_axi_control_wready = has_write_address && !s_axi_control_bvalid;
  assign s_axi_control_arready = !s_axi_control_rvalid;

  function automatic logic [31:0] read_word(input logic [11:0] address);
    if (address == 12'h000) return {29'b0, !running, done, running};
    if (address == ERROR_ADDRESS) return error_code;
    if (address == PLACE_ADDRESS) return error_place;
    if (address == ID_ADDRESS) return ID;
    if (address == VERSION_ADDRESS) return VERSION;
    if (address >= PARAMETER_ADDRESS && address < PARAMETER_ADDRESS + 12'(4 * PARAMETERS))
      return PARAMETER_WORDS[32*2'((address - PARAMETER_ADDRESS) >> 2)+:32];
    if (address >= COUNTER_ADDRESS && address < COUNTER_ADDRESS + 12'd4) return cycles;
    if (address >= 12'h010 && address < 12'h010 + 12'(4 * ARGUMENT_WORDS))
      return arguments[4'((address - 12'h010) >> 2)];
    return 32'd0;
  endfunction

  always_ff @(posedge ap_clk) begin
    start <= 1'b0;
    if (!ap_rst_n) begin
      has_write_address <= 1'b0;
      s_axi_control_bvalid <= 1'b0;
      s_axi_control_rvalid <= 1'b0;
    end else begin
      if (s_axi_control_awvalid && s_axi_control_awready) begin
        has_write_address <= 1'b1;
        write_address <= s_axi_control_awaddr;
      end
      if (s_axi_control_wvalid && s_axi_control_wready) begin
        has_write_address <= 1'b0;
        s_axi_control_bvalid <= 1'b1;
        if (write_address == 12'h000) start <= s_axi_control_wdata[0];
        else if (write_address >= 12'h010 && write_address < 12'h010 + 12'(4 * ARGUMENT_WORDS))
          arguments[4'((write_address - 12'h010) >> 2)] <= s_axi_control_wdata;
      end
      if (s_axi_control_bvalid && s_axi_control_bready) s_axi_control_bvalid <= 1'b0;
      if (s_axi_control_arvalid && s_axi_control_arready) begin
        s_axi_control_rvalid <= 1'b1;
        s_axi_control_rdata <= read_word(s_axi_control_araddr);
      end
      if (s_axi_control_rvalid && s_axi_control_rready) s_axi_control_rvalid <= 1'b0;
    end
  end

  // --- the work: one beat after the other -----------------------------------------------------
  typedef enum logic [2:0] {REST, ASK, TAKE, GIVE, HEAR} state_t;
  state_t       state;
  logic         reads_code;
  logic [63:0]  from, to;
  logic [31:0]  left;
  logic [127:0] beat;
  logic         has_sent_address, has_sent_data;

  assign m_axi_gmem0_araddr = from;
  assign m_axi_gmem0_arlen = 8'd0;
  assign m_axi_gmem0_arvalid = state == ASK;
  assign m_axi_gmem0_rready = state == TAKE;
  assign m_axi_gmem0_awaddr = to;
  assign m_axi_gmem0_awlen = 8'd0;
  assign m_axi_gmem0_awvalid = state == GIVE && !has_sent_address;
  assign m_axi_gmem0_wdata = beat ^ {16{8'h01}};
  assign m_axi_gmem0_wstrb = 16'hffff;
  assign m_axi_gmem0_wlast = 1'b1;
  assign m_axi_gmem0_wvalid = state == GIVE && !has_sent_data;
  assign m_axi_gmem0_bready = state == HEAR;

  always_ff @(posedge ap_clk) begin
    if (!ap_rst_n) begin
      state <= REST;
      running <= 1'b0;
      done <= 1'b0;
      error_code <= 32'd0;
      error_place <= 32'd0;
      cycles <= 32'd0;
    end else begin
      // The host sees the end once.
      if (s_axi_control_arvalid && s_axi_control_arready && s_axi_control_araddr == 12'h000)
        done <= 1'b0;
      if (running) cycles <= cycles + 32'd1;
      case (state)
        REST: if (start) begin
          running <= 1'b1;
          cycles <= 32'd0;
          error_code <= 32'd0;
          error_place <= 32'd0;
          reads_code <= 1'b1;
          from <= {arguments[1], arguments[0]} + 64'd16;  // words 4 to 7
          state <= ASK;
        end
        ASK: if (m_axi_gmem0_arready) state <= TAKE;
        TAKE: if (m_axi_gmem0_rvalid) begin
          beat <= m_axi_gmem0_rdata;
          has_sent_address <= 1'b0;
          has_sent_data <= 1'b0;
          if (m_axi_gmem0_rresp != 2'b00) begin
            error_code <= AXI_ERROR;
            state <= REST;
            running <= 1'b0;
            done <= 1'b1;
          end else if (reads_code) begin
            reads_code <= 1'b0;
            left <= {16'd0, m_axi_gmem0_rdata[15:0]};
            from <= {arguments[BASE_WORD + 1], arguments[BASE_WORD]};
            to <= {arguments[BASE_WORD + BASE_STEP + 1], arguments[BASE_WORD + BASE_STEP]};
            state <= ASK;
            if (m_axi_gmem0_rdata[99:96] != 4'd1) begin
              error_code <= CODE_ERROR;
              state <= REST;
              running <= 1'b0;
              done <= 1'b1;
            end
          end else state <= GIVE;
        end
        GIVE: begin
          if (m_axi_gmem0_awready) has_sent_address <= 1'b1;
          if (m_axi_gmem0_wready && !has_sent_data) has_sent_data <= 1'b1;
          if (has_sent_address && has_sent_data) state <= HEAR;
        end
        HEAR: if (m_axi_gmem0_bvalid) begin
          from <= from + 64'd16;
          to <= to + 64'd16;
          left <= left - 32'd1;
          state <= ASK;
          if (left == 32'd1) begin
            state <= REST;
            running <= 1'b0;
            done <= 1'b1;
          end
        end
        default: state <= REST;
      endcase
    end
  end

  // --- ports that it has no use for -----------------------------------------------------------
`define UNUSED(n)                          \
  assign m_axi_gmem``n``_araddr = 64'd0;   \
  assign m_axi_gmem``n``_arlen = 8'd0;     \
  assign m_axi_gmem``n``_arvalid = 1'b0;   \
  assign m_axi_gmem``n``_rready = 1'b0;    \
  assign m_axi_gmem``n``_awaddr = 64'd0;   \
  assign m_axi_gmem``n``_awlen = 8'd0;     \
  assign m_axi_gmem``n``_awvalid = 1'b0;   \
  assign m_axi_gmem``n``_wdata = 128'd0;   \
  assign m_axi_gmem``n``_wstrb = 16'd0;    \
  assign m_axi_gmem``n``_wlast = 1'b0;     \
  assign m_axi_gmem``n``_wvalid = 1'b0;    \
  assign m_axi_gmem``n``_bready = 1'b0;
  `UNUSED(1)
  `UNUSED(2)
  `UNUSED(3)
endmodule
