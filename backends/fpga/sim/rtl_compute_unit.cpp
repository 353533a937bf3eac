// The accelerator's RTL, compiled by Verilator, as a compute unit of the simulated board. Built
// once per configuration into a library of its own, which the board loads by the configuration's
// name.
// The class that Verilator makes of the top module, under one name for all configurations.
#include <Vaccelerator.h>
#include <verilated.h>

#include <array>
#include <cstring>
#include <memory>

#include "backends/fpga/sim/axi_memory.hpp"
#include "backends/fpga/sim/compute_unit.hpp"
#include "backends/fpga/sim/model_library.hpp"

namespace tenon::fpga::sim {
namespace {

constexpr size_t kPorts = 4;
constexpr int kResetClocks = 16;
/// An access of the control port that takes longer hangs.
constexpr int kMostControlClocks = 10000;

/// Verilator holds 128 bits as four words.
template <typename Words>
AxiBeat BytesOf(const Words& words) {
  AxiBeat beat;
  std::memcpy(beat.data(), &words[0], beat.size());
  return beat;
}

template <typename Words>
void SetWords(Words& words, const AxiBeat& beat) {
  std::memcpy(&words[0], beat.data(), beat.size());
}

/// Ports have as many bits as their addresses need.
template <typename Port>
void Assign(Port& port, uint32_t value) {
  port = static_cast<Port>(value);
}

class RtlComputeUnit final : public ComputeUnit {
 public:
  RtlComputeUnit(const DeviceMemory& memory, const MemoryTiming& timing)
      : axi_(memory, timing, kPorts), top_(std::make_unique<Vaccelerator>(&context_)) {
    Reset();
  }
  ~RtlComputeUnit() override { top_->final(); }

  void Reset() override;
  void WriteRegister(uint32_t offset, uint32_t value) override;
  uint32_t ReadRegister(uint32_t offset) override;
  void Advance(unsigned clocks) override {
    while (clocks-- > 0) Clock();
  }
  void Inject(FaultKind fault) override { axi_.Inject(fault); }

  [[nodiscard]] uint64_t clocks() const override { return clocks_; }
  [[nodiscard]] uint64_t bytes_read() const override { return axi_.bytes_read(); }
  [[nodiscard]] uint64_t bytes_written() const override { return axi_.bytes_written(); }
  [[nodiscard]] std::string Violation() const override { return axi_.violation(); }

 private:
  void Clock();
  void Drive();
  std::array<AxiMasterSignals, kPorts> Sample() const;
  void RestControl();

  VerilatedContext context_;
  AxiMemory axi_;
  std::unique_ptr<Vaccelerator> top_;
  uint64_t clocks_ = 0;
};

// What is done for each port, whose signals are members of the class with its number in their
// names.
#define TENON_FPGA_SIM_EACH_PORT(X) X(0) X(1) X(2) X(3)

void RtlComputeUnit::Drive(){
#define TENON_FPGA_SIM_DRIVE(n)                                           \
  {                                                                       \
    const AxiSlaveSignals& port = axi_.Driven(n);                         \
    top_->m_axi_gmem##n##_arready = port.read_address_ready;              \
    top_->m_axi_gmem##n##_rvalid = port.data_valid;                       \
    SetWords(top_->m_axi_gmem##n##_rdata, port.data);                     \
    top_->m_axi_gmem##n##_rresp = static_cast<uint8_t>(port.data_answer); \
    top_->m_axi_gmem##n##_rlast = port.last;                              \
    top_->m_axi_gmem##n##_awready = port.write_address_ready;             \
    top_->m_axi_gmem##n##_wready = port.write_data_ready;                 \
    top_->m_axi_gmem##n##_bvalid = port.response_valid;                   \
    top_->m_axi_gmem##n##_bresp = static_cast<uint8_t>(port.response);    \
  }
    TENON_FPGA_SIM_EACH_PORT(TENON_FPGA_SIM_DRIVE)
#undef TENON_FPGA_SIM_DRIVE
}

std::array<AxiMasterSignals, kPorts> RtlComputeUnit::Sample() const {
  std::array<AxiMasterSignals, kPorts> masters;
#define TENON_FPGA_SIM_SAMPLE(n)                           \
  {                                                        \
    AxiMasterSignals& master = masters[n];                 \
    master.read.valid = top_->m_axi_gmem##n##_arvalid;     \
    master.read.address = top_->m_axi_gmem##n##_araddr;    \
    master.read.beats = top_->m_axi_gmem##n##_arlen + 1U;  \
    master.read_ready = top_->m_axi_gmem##n##_rready;      \
    master.write.valid = top_->m_axi_gmem##n##_awvalid;    \
    master.write.address = top_->m_axi_gmem##n##_awaddr;   \
    master.write.beats = top_->m_axi_gmem##n##_awlen + 1U; \
    master.data_valid = top_->m_axi_gmem##n##_wvalid;      \
    master.data = BytesOf(top_->m_axi_gmem##n##_wdata);    \
    master.strobe = top_->m_axi_gmem##n##_wstrb;           \
    master.last = top_->m_axi_gmem##n##_wlast;             \
    master.response_ready = top_->m_axi_gmem##n##_bready;  \
  }
  TENON_FPGA_SIM_EACH_PORT(TENON_FPGA_SIM_SAMPLE)
#undef TENON_FPGA_SIM_SAMPLE
  return masters;
}

/// One clock: what all sides drive before the edge is what the edge acts on.
void RtlComputeUnit::Clock() {
  axi_.BeginClock();
  Drive();
  top_->eval();
  const std::array<AxiMasterSignals, kPorts> masters = Sample();
  for (size_t port = 0; port < kPorts; ++port) axi_.EndClock(port, masters[port]);
  top_->ap_clk = 1;
  top_->eval();
  top_->ap_clk = 0;
  top_->eval();
  ++clocks_;
}

void RtlComputeUnit::RestControl() {
  top_->s_axi_control_awvalid = 0;
  top_->s_axi_control_wvalid = 0;
  top_->s_axi_control_bready = 0;
  top_->s_axi_control_arvalid = 0;
  top_->s_axi_control_rready = 0;
}

void RtlComputeUnit::Reset() {
  axi_.Reset();
  RestControl();
  top_->ap_clk = 0;
  top_->ap_rst_n = 0;
  Advance(kResetClocks);
  axi_.Reset();
  top_->ap_rst_n = 1;
  Advance(1);
}

void RtlComputeUnit::WriteRegister(uint32_t offset, uint32_t value) {
  Assign(top_->s_axi_control_awaddr, offset);
  top_->s_axi_control_awvalid = 1;
  top_->s_axi_control_wdata = value;
  top_->s_axi_control_wstrb = 15;
  top_->s_axi_control_wvalid = 1;
  top_->s_axi_control_bready = 1;
  for (int i = 0; i < kMostControlClocks; ++i) {
    top_->eval();
    const bool is_addressed = top_->s_axi_control_awvalid && top_->s_axi_control_awready;
    const bool is_written = top_->s_axi_control_wvalid && top_->s_axi_control_wready;
    const bool is_answered = top_->s_axi_control_bvalid;
    Clock();
    if (is_addressed) top_->s_axi_control_awvalid = 0;
    if (is_written) top_->s_axi_control_wvalid = 0;
    if (is_answered) break;
  }
  RestControl();
}

uint32_t RtlComputeUnit::ReadRegister(uint32_t offset) {
  Assign(top_->s_axi_control_araddr, offset);
  top_->s_axi_control_arvalid = 1;
  top_->s_axi_control_rready = 1;
  uint32_t value = 0;
  for (int i = 0; i < kMostControlClocks; ++i) {
    top_->eval();
    const bool is_addressed = top_->s_axi_control_arvalid && top_->s_axi_control_arready;
    const bool is_answered = top_->s_axi_control_rvalid;
    value = top_->s_axi_control_rdata;
    Clock();
    if (is_addressed) top_->s_axi_control_arvalid = 0;
    if (is_answered) break;
  }
  RestControl();
  return value;
}

}  // namespace
}  // namespace tenon::fpga::sim

tenon::fpga::sim::ComputeUnit* tenon_fpga_sim_make_unit(
    const tenon::fpga::sim::DeviceMemory& memory, const tenon::fpga::sim::MemoryTiming& timing) {
  return new tenon::fpga::sim::RtlComputeUnit(memory, timing);
}

/// Verilator's runtime asks for it; nothing here has a time.
double sc_time_stamp() { return 0; }
