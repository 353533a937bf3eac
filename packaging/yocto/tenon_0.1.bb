# The runtime library for a Yocto image: put this folder's recipe into a layer of yours and add
# "tenon" to IMAGE_INSTALL. Not built by us: no bitbake here. Plans are made on a workstation.
SUMMARY = "Runs neural networks that were compiled for the board"
HOMEPAGE = "https://tenon.invalid"
LICENSE = "Apache-2.0"
LIC_FILES_CHKSUM = "file://LICENSE;md5=3b83ef96387f14655fc854ddc3c6bd57"

# Where your copy of the sources is, and which commit.
SRC_URI = "git://git.example.invalid/tenon.git;protocol=https;branch=main"
SRCREV = "${AUTOREV}"
S = "${WORKDIR}/git"

DEPENDS = "flatbuffers flatbuffers-native"

inherit cmake

# Nothing but the runtime, on the kernels of our own.
EXTRA_OECMAKE = " \
    -DTENON_CONVERTER=OFF -DTENON_TESTS=OFF -DTENON_BENCH=OFF -DTENON_EXAMPLES=OFF \
    -DTENON_PYTHON=OFF -DTENON_ONEDNN=OFF -DTENON_BACKEND_FPGA=OFF -DTENON_SHARED=ON \
    -DTENON_BACKEND_OPENCL=${@bb.utils.contains('PACKAGECONFIG', 'opencl', 'ON', 'OFF', d)} \
"
PACKAGECONFIG ??= ""
PACKAGECONFIG[opencl] = ",,opencl-headers opencl-icd-loader,opencl-icd-loader"
