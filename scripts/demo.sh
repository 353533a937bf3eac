#!/bin/sh
# From a fresh machine to classified images: installs what is missing, builds, converts the digit
# classifier that ships with Tenon, runs it on real images, and measures it.
set -eu
cd "$(dirname "$0")/.."

say() { printf '\n== %s\n' "$1"; }
# Prints a command, then runs it.
show() {
  echo "\$ $*"
  "$@"
}

say "Install what is missing"
./scripts/install-dependencies.sh

say "Build (the first time takes minutes)"
cmake --preset host
cmake --build --preset host --target tenon classify

model=sdk/models/digits
mkdir -p out
say "Convert the model for this kind of machine"
show build/host/bin/tenon convert $model/digits.onnx -o out/digits.tenon --board x86-64 --batch 1

say "Classify handwritten digits that the model has not seen"
show build/host/bin/classify out/digits.tenon \
  $model/samples/image_15_is_7.npy $model/samples/image_8_is_6.npy \
  $model/samples/image_1_is_2.npy
say "Classify all held-out images and compare with their labels"
show build/host/bin/classify out/digits.tenon --labels $model/held_out_labels.npy \
  $model/held_out_images.npy

say "Check against ONNX Runtime's answers, all images in one batch"
show build/host/bin/tenon convert $model/digits.onnx -o out/digits-360.tenon --board x86-64 \
  --batch 360 -q
show build/host/bin/tenon run out/digits-360.tenon --input image=$model/held_out_images.npy \
  --expect probability=$model/held_out_probabilities.npy --top 1

say "Measure"
show build/host/bin/tenon bench out/digits.tenon --iterations 1000 --per-op
