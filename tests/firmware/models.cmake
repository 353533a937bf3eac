# Models on the emulated board: the bits of the portable kernels of this machine. What is not in the
# project comes from the shared folder (TENON_SHARED); a test says so where that is missing.
find_package(Python3 COMPONENTS Interpreter)
if(NOT Python3_FOUND)
  message(STATUS "No tests of models on the board: they need Python 3")
  return()
endif()
if(DEFINED ENV{TENON_SHARED})
  set(shared_models "$ENV{TENON_SHARED}/models")
else()
  set(shared_models "${PROJECT_SOURCE_DIR}/../shared/models")
endif()

# firmware_model(NAME LABEL MODEL ARGUMENTS...): MODEL below the shared folder's models, or a whole
# path; ARGUMENTS of model_test.py.
function(firmware_model name label model)
  cmake_path(ABSOLUTE_PATH model BASE_DIRECTORY "${shared_models}")
  add_test(NAME firmware_${name}_test COMMAND "${Python3_EXECUTABLE}"
    "${CMAKE_CURRENT_SOURCE_DIR}/model_test.py" --tenon "${TENON_HOST_TOOLS}/tenon"
    --runner "$<TARGET_FILE:firmware_runner>" --board ${CMAKE_SYSTEM_PROCESSOR}
    ${ARGN} "${model}")
  set_tests_properties(firmware_${name}_test PROPERTIES LABELS ${label} TIMEOUT 600
    SKIP_RETURN_CODE 77)
endfunction()
function(firmware_shared_model name label model sample)
  cmake_path(GET model PARENT_PATH folder)
  firmware_model(${name} ${label} ${model} --sample "${shared_models}/${folder}/${sample}" ${ARGN})
endfunction()

# The project's own.
set(digits "${PROJECT_SOURCE_DIR}/sdk/models/digits")
firmware_model(digits quick "${digits}/digits.onnx" --option=--batch=1)
firmware_model(digits_int8 quick "${digits}/digits.onnx" --option=--batch=1
  --option=--quantize=int8 "--option=--calibration=${digits}/samples")

# MLPerf Tiny in int8, of both formats.
set(kws mlperf_kws_dscnn)
set(resnet8 mlperf_resnet8_cifar10)
set(ad01 mlperf_ad01_autoencoder)
firmware_shared_model(kws_int8 quick ${kws}/kws_int8.tflite kws_int8.input_0.npy)
firmware_shared_model(resnet8_int8 quick ${resnet8}/resnet8_int8.tflite resnet8_int8.input_0.npy)
firmware_shared_model(ad01_int8 quick ${ad01}/ad01_int8.tflite ad01_int8.input_0.npy)
firmware_shared_model(kws_qdq quick ${kws}/model_qdq.onnx model_qdq.input_0.npy)
firmware_shared_model(resnet8_qdq quick ${resnet8}/model_qdq.onnx model_qdq.input_0.npy)
firmware_shared_model(ad01_qdq quick ${ad01}/model_qdq.onnx model_qdq.input_0.npy)

# Trained networks with many channels that hold one value whatever the input is.
set(field "${shared_models}/../field-models")
firmware_model(vww quick "${field}/mlperf_vww/vww_96_int8.tflite"
  --sample "${field}/mlperf_vww/vww_96_int8.input_0.npy")
firmware_model(sww quick "${field}/mlperf_sww/strm_ww_int8.tflite"
  --sample "${field}/mlperf_sww/strm_ww_int8.input_0.npy")

# Tensors in two memories, which kernels read and write where they lie; on boards that have two.
set(sram_alone "")
if(CMAKE_SYSTEM_PROCESSOR MATCHES "^cortex-m(55|7)$")
  set(sram_alone --board-option=--memory-limit=dtcm=0)
  firmware_shared_model(kws_two_memories quick ${kws}/kws_int8.tflite kws_int8.input_0.npy
    --arenas 2 --option=--memory-limit=sram=8K --option=--memory-limit=dtcm=8K --option=--split=off)
endif()

# In patches, with convolutions that work in place; where there are tables of instructions, within their bound.
set(bound "")
if(CMAKE_SYSTEM_PROCESSOR MATCHES "^cortex-m(4|7|33|55)$")
  set(bound --bound)
endif()
firmware_shared_model(kws_patches quick ${kws}/kws_int8.tflite kws_int8.input_0.npy
  --board-option=--memory-limit=sram=6643 ${sram_alone} ${bound})
firmware_shared_model(resnet8_patches quick ${resnet8}/resnet8_int8.tflite resnet8_int8.input_0.npy
  --board-option=--memory-limit=sram=23K ${sram_alone} ${bound})

# Inputs outside the arena: in memory of the firmware's own, and handed in by rows.
foreach(from "memory" "rows:1" "rows:8")
  string(REPLACE ":" "_" name ${from})
  firmware_shared_model(kws_from_${name} quick ${kws}/kws_int8.tflite kws_int8.input_0.npy
    --arenas 2 --board-option=--input-from=input_1=${from} --board-option=--objective=memory
    --board-option=--most-slowdown=1.3 --board-option=--order-budget=20000 ${sram_alone})
endforeach()

# By rows and in tiles, in the least arenas (docs/results-firmware.md): with the portable kernels' bits, and no more than
# 1.3 times the multiply-accumulates and 1.5 times the counted instructions of the plain plan.
function(firmware_patches name label model arena)
  add_test(NAME firmware_${name}_test COMMAND "${Python3_EXECUTABLE}"
    "${CMAKE_CURRENT_SOURCE_DIR}/patches_test.py" --tenon "${TENON_HOST_TOOLS}/tenon"
    --runner "$<TARGET_FILE:firmware_runner>" --board ${CMAKE_SYSTEM_PROCESSOR}
    --slowdown ${slowdown} --most-arena ${arena} ${ARGN} "${model}")
  set_tests_properties(firmware_${name}_test PROPERTIES LABELS ${label} TIMEOUT 600
    SKIP_RETURN_CODE 77)
endfunction()
set(qdq model_qdq.onnx)
# Predictions are of instructions on cores with DSP instructions, of which a plan may take 1.5 times as many.
set(slowdown 1.3)
if(CMAKE_SYSTEM_PROCESSOR STREQUAL cortex-m7)
  set(slowdown 1.5)
endif()
if(CMAKE_SYSTEM_PROCESSOR STREQUAL cortex-m55)
  set(rows_bytes 15468 16352 69728 14208 5098)
elseif(CMAKE_SYSTEM_PROCESSOR STREQUAL cortex-m7)
  set(rows_bytes 16928 16464 77264 13824 4108)
else()
  set(rows_bytes "")
endif()
if(rows_bytes)
  list(POP_FRONT rows_bytes mbv2 vww_80 mcunet vww spotter)
  set(msf --input input --rows 2 --option=--input-format=input=i8,nhwc)
  firmware_patches(msf_mcunetv2_vww_rows quick "${field}/msf_mcunetv2_vww_80/${qdq}" ${vww_80} ${msf})
  firmware_patches(msf_mbv2_rows full "${field}/msf_mbv2_w035_144/${qdq}" ${mbv2} ${msf}
    --option=--output-format=output=nhwc)
  # Smaller ones do more than 1.3 times the multiply-accumulates.
  firmware_patches(msf_mcunet_320k_rows full "${field}/msf_mcunet_320k_176/${qdq}" ${mcunet} ${msf} --slowdown 1.3)
  firmware_patches(vww_rows full "${field}/mlperf_vww/vww_96_int8.tflite" ${vww} --rows 4
    --input input_1_int8)
  firmware_patches(kws_rows full "${shared_models}/${kws}/kws_int8.tflite" ${spotter} --rows 8
    --input input_1 --option=--order-budget=20000)
endif()

# With the input in the arena: the keyword spotter within 1.3 times the instructions.
if(CMAKE_SYSTEM_PROCESSOR STREQUAL cortex-m7)
  firmware_patches(kws_arena quick "${shared_models}/${kws}/kws_int8.tflite" 5098 --slowdown 1.3
    --most-instructions 1.3)
  firmware_patches(kws_limit full "${shared_models}/${kws}/kws_int8.tflite" 5098 --sram 5098
    --most-instructions 1.3)
endif()

# With the input in the arena, in tiles or in patches of rows; the limit, or the arena that is the smallest within `slowdown` times
# the predicted time.
if(CMAKE_SYSTEM_PROCESSOR STREQUAL cortex-m55)
  set(mbv2_tiles 73243 --sram 73243)
  set(vww_follows 37601)
elseif(CMAKE_SYSTEM_PROCESSOR STREQUAL cortex-m7)
  set(mbv2_tiles 73243 --sram 73243)
  set(vww_follows 37666)
endif()
if(DEFINED mbv2_tiles)
  set(msf --option=--input-format=input=i8,nhwc --option=--output-format=output=nhwc)
  # Outputs follow behind the rows of the input that have been read.
  firmware_patches(msf_mcunetv2_vww_follows quick "${field}/msf_mcunetv2_vww_80/${qdq}" 26491 --sram 26491
    --most-instructions 1.3 ${msf})
  firmware_patches(vww_follows quick "${field}/mlperf_vww/vww_96_int8.tflite" ${vww_follows}
    --sram ${vww_follows} --most-instructions 1.3)
  firmware_patches(msf_mbv2_tiles full "${field}/msf_mbv2_w035_144/${qdq}" ${mbv2_tiles} ${msf})
endif()

# What patches cost is predicted, on Cortex-M7 from the same table as bounds.
set(off_cortex-m55 0.1)
set(off_cortex-m7 0.05)
foreach(model "${kws}/kws_int8" "${resnet8}/resnet8_int8")
  if(NOT DEFINED off_${CMAKE_SYSTEM_PROCESSOR})
    continue() # its board file has the figures of another core
  endif()
  cmake_path(GET model FILENAME name)
  add_test(NAME firmware_${name}_prediction_test COMMAND "${Python3_EXECUTABLE}"
    "${CMAKE_CURRENT_SOURCE_DIR}/prediction_test.py" --tenon "${TENON_HOST_TOOLS}/tenon"
    --runner "$<TARGET_FILE:firmware_runner>" --board ${CMAKE_SYSTEM_PROCESSOR}
    --off ${off_${CMAKE_SYSTEM_PROCESSOR}} "${shared_models}/${model}.tflite")
  set_tests_properties(firmware_${name}_prediction_test PROPERTIES LABELS quick TIMEOUT 600
    SKIP_RETURN_CODE 77)
endforeach()

# As many instructions for any input; a few inputs in the quick run.
foreach(model "${kws}/kws_int8" "${resnet8}/resnet8_int8" "${ad01}/ad01_int8")
  if(NOT CMAKE_SYSTEM_PROCESSOR MATCHES "^cortex-m(4|7|33|55)$")
    continue() # without division and wide products, the compiler's routines branch
  endif()
  cmake_path(GET model FILENAME name)
  foreach(run "quick 10" "full 1000")
    separate_arguments(run)
    list(GET run 0 label)
    list(GET run 1 runs)
    set(test firmware_${name}_same_instructions_${runs}_test)
    add_test(NAME ${test} COMMAND "${Python3_EXECUTABLE}"
      "${CMAKE_CURRENT_SOURCE_DIR}/data_independence_test.py" --tenon "${TENON_HOST_TOOLS}/tenon"
      --runner "$<TARGET_FILE:firmware_runner>" --board ${CMAKE_SYSTEM_PROCESSOR} --runs ${runs}
      "${shared_models}/${model}.tflite")
    set_tests_properties(${test} PROPERTIES LABELS ${label} TIMEOUT 3600 SKIP_RETURN_CODE 77)
  endforeach()
endforeach()

# What a plan says that it takes at most is no less than what is counted, and at most 1.15 times as much.
function(firmware_bound name model)
  add_test(NAME firmware_${name}_bound_test COMMAND "${Python3_EXECUTABLE}"
    "${CMAKE_CURRENT_SOURCE_DIR}/instruction_bound_test.py" --tenon "${TENON_HOST_TOOLS}/tenon"
    --runner "$<TARGET_FILE:firmware_runner>" --board ${CMAKE_SYSTEM_PROCESSOR} ${ARGN}
    "${shared_models}/${model}")
  set_tests_properties(firmware_${name}_bound_test PROPERTIES LABELS quick TIMEOUT 600
    SKIP_RETURN_CODE 77)
endfunction()
if(CMAKE_SYSTEM_PROCESSOR MATCHES "^cortex-m(4|7|33|55)$")
  firmware_bound(kws_int8 ${kws}/kws_int8.tflite)
  firmware_bound(kws_qdq ${kws}/model_qdq.onnx)
  firmware_bound(resnet8_int8 ${resnet8}/resnet8_int8.tflite)
  firmware_bound(resnet8_qdq ${resnet8}/model_qdq.onnx)
  firmware_bound(ad01_int8 ${ad01}/ad01_int8.tflite)
  firmware_bound(ad01_qdq ${ad01}/model_qdq.onnx)
  firmware_bound(vww ../field-models/mlperf_vww/vww_96_int8.tflite)
  firmware_bound(sww ../field-models/mlperf_sww/strm_ww_int8.tflite)
  firmware_bound(okay_nabu ../field-models/microwakeword/okay_nabu.tflite)
  firmware_bound(hey_jarvis ../field-models/microwakeword/hey_jarvis.tflite)
endif()

# Streams, step by step; an arena of half of what TFLite-Micro takes (docs/results-firmware.md).
foreach(word "okay_nabu 12952" "hey_jarvis 9904")
  separate_arguments(word)
  list(GET word 0 name)
  list(GET word 1 bytes)
  add_test(NAME firmware_${name}_stream_test COMMAND "${Python3_EXECUTABLE}"
    "${CMAKE_CURRENT_SOURCE_DIR}/stream_test.py" --tenon "${TENON_HOST_TOOLS}/tenon"
    --runner "$<TARGET_FILE:firmware_runner>" --board ${CMAKE_SYSTEM_PROCESSOR}
    --most-arena ${bytes} "${field}/microwakeword/${name}.tflite")
  set_tests_properties(firmware_${name}_stream_test PROPERTIES LABELS quick TIMEOUT 600
    SKIP_RETURN_CODE 77)
endforeach()

# Floats.
firmware_shared_model(mnist quick mnist_cnn/mnist.onnx input_0.npy)
firmware_shared_model(kws_float quick ${kws}/model_fp32.onnx model_fp32.input_0.npy)
firmware_shared_model(ad01_float quick ${ad01}/model_fp32.onnx model_fp32.input_0.npy)
firmware_shared_model(resnet8_float full ${resnet8}/model_fp32.onnx model_fp32.input_0.npy)
firmware_shared_model(resnet20 full resnet20_cifar10/model.onnx input_0.npy)

# Larger than the boards' files say that such a device is; the emulated memories take it.
function(firmware_larger_model name model sample)
  firmware_shared_model(${name} full ${model} ${sample} --option=--memory-limit=sram=3M
    --option=--memory-limit=flash=6M)
endfunction()
firmware_larger_model(mobilenet_v2 mobilenet_v2_224/model_ptq_uint8io.tflite
  model_ptq_uint8io.input_0.npy)
firmware_larger_model(shufflenet_v2 shufflenet_v2_qlinear_int8/model.onnx input_0.npy)
firmware_larger_model(squeezenet squeezenet1.1/model_fp32.onnx model_fp32.input_0.npy)
firmware_larger_model(ultraface ultraface_rfb320/model_simplified.onnx
  model_simplified.input_0.npy)
firmware_larger_model(fastestdet fastestdet_352/model.onnx input_0.npy)
firmware_larger_model(kwt1 kwt1_transformer/model.onnx model.input_0.npy)
