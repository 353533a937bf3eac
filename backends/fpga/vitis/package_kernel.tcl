# Vivado: makes a kernel object (.xo) of the accelerator's RTL.
# usage: vivado -mode batch -source package_kernel.tcl -tclargs PART RTL_FOLDER TOP KERNEL KERNEL_XML OUT.xo [NAME=VALUE...]
# TOP is the module, KERNEL what images call it. NAME=VALUE set parameters of the module. Not run where this was written: see README.md.
lassign $argv part rtl top kernel kernel_xml output
set parameters [lrange $argv 6 end]
set work [file normalize [file rootname $output]_ip]
file delete -force $work $output

create_project -force package $work/project -part $part
# Vivado has the DSP itself: what stands for it in simulations is left out.
foreach file [glob $rtl/*.sv] {
  if {![string match *_model.sv $file]} { add_files $file }
}
set_property top $top [current_fileset]
if {[llength $parameters] > 0} {
  set_property generic $parameters [current_fileset]
}
update_compile_order -fileset sources_1

ipx::package_project -root_dir $work/ip -vendor tenon -library rtl -taxonomy /KernelIP \
  -import_files -set_current true
set core [ipx::current_core]
set_property name $kernel $core
set_property sdx_kernel true $core
set_property sdx_kernel_type rtl $core
# The clock that all ports run on, and the reset that comes with it.
foreach port {s_axi_control m_axi_gmem0 m_axi_gmem1 m_axi_gmem2 m_axi_gmem3} {
  ipx::associate_bus_interfaces -busif $port -clock ap_clk $core
}
ipx::associate_bus_interfaces -clock ap_clk -reset ap_rst_n $core
# Vivado offers frequencies as constraints of the IP; the link decides.
foreach parameter [ipx::get_bus_parameters FREQ_HZ -of_objects [ipx::get_bus_interfaces ap_clk -of_objects $core]] {
  ipx::remove_bus_parameter FREQ_HZ [ipx::get_bus_interfaces ap_clk -of_objects $core]
}
set_property xpm_libraries {XPM_CDC XPM_MEMORY XPM_FIFO} $core
set_property supported_families {zynquplus Beta kintexuplus Beta virtexuplus Beta} $core
set_property auto_family_support_level level_2 $core
ipx::update_checksums $core
ipx::save_core $core
close_project

package_xo -xo_path $output -kernel_name $kernel -ip_directory $work/ip -kernel_xml $kernel_xml
