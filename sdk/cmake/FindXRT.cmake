# Finds Xilinx XRT's native C++ interface, for which neither its own package nor Debian's has a CMake
# configuration that works. Gives XRT_FOUND and the target XRT::coreutil.
find_path(XRT_INCLUDE_DIR xrt/xrt_device.h PATH_SUFFIXES xrt HINTS ENV XILINX_XRT)
find_library(XRT_COREUTIL xrt_coreutil HINTS ENV XILINX_XRT PATH_SUFFIXES lib)
find_library(XRT_UUID NAMES uuid)
mark_as_advanced(XRT_INCLUDE_DIR XRT_COREUTIL XRT_UUID)

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(XRT
  REQUIRED_VARS XRT_COREUTIL XRT_INCLUDE_DIR XRT_UUID
  REASON_FAILURE_MESSAGE "Debian has it in libxrt-dev and uuid-dev")

if(XRT_FOUND AND NOT TARGET XRT::coreutil)
  add_library(XRT::coreutil SHARED IMPORTED)
  set_target_properties(XRT::coreutil PROPERTIES
    IMPORTED_LOCATION "${XRT_COREUTIL}"
    INTERFACE_INCLUDE_DIRECTORIES "${XRT_INCLUDE_DIR}"
    INTERFACE_LINK_LIBRARIES "${XRT_UUID}")
endif()
