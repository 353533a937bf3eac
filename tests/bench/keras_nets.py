#!/usr/bin/env python3
"""Writes networks of Keras as TensorFlow's converter makes them, for compare_peers.py. Needs the package tensorflow-cpu.

  keras_nets.py FOLDER [--nets NAME,...] [--forms FORM,...]

Weights are random, ranges come from eight random inputs. FORM: f32, f16 (weights), dynamic (weights i8, ranges at run time),
int8 (ports of floats), int8io (ports of i8), int16x8 (activations i16, weights i8). All nets and all forms without. Each
becomes FOLDER/NAME.FORM.tflite; what the converter refuses is said.
"""
import argparse
import os
import pathlib

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
os.environ["CUDA_VISIBLE_DEVICES"] = ""
import numpy
import tensorflow as tf
from tensorflow.python.framework.convert_to_constants import convert_variables_to_constants_v2

keras = tf.keras
layers = keras.layers
applications = keras.applications
FORMS = ["f32", "f16", "dynamic", "int8", "int8io", "int16x8"]


def application(make, size, **options):
    return lambda: make(weights=None, input_shape=(size, size, 3), classes=20, **options)


def sequence(shape, *made):
    return lambda: keras.Sequential([layers.Input(shape), *[make() for make in made]])


def functional(shape, body):
    def make():
        x = layers.Input(shape)
        return keras.Model(x, body(x))

    return make


def dilated(x):
    """A temporal convolutional network."""
    for dilation in (1, 2, 4, 8):
        y = layers.Conv1D(24, 3, dilation_rate=dilation, padding="causal", activation="relu")(x)
        x = layers.Conv1D(24, 1)(x) + layers.LayerNormalization()(y)
    return layers.Dense(10, activation="softmax")(layers.GlobalAveragePooling1D()(x))


def transformer(x):
    for _ in range(2):
        normed = layers.LayerNormalization()(x)
        x = x + layers.MultiHeadAttention(4, 16)(normed, normed)
        x = x + layers.Dense(64)(layers.Dense(128, activation="gelu")(layers.LayerNormalization()(x)))
    return layers.Dense(10)(layers.GlobalAveragePooling1D()(x))


def gated(x):
    """Squeeze and excitation, depthwise with a multiplier, group norm, odd paddings, groups."""
    x = layers.Conv2D(16, 3, strides=2, padding="same", activation="swish")(x)
    gate = layers.Conv2D(4, 1, activation="relu6")(layers.GlobalAveragePooling2D(keepdims=True)(x))
    x = x * layers.Conv2D(16, 1, activation="hard_sigmoid")(gate)
    x = layers.GroupNormalization(4)(layers.DepthwiseConv2D(5, padding="same", depth_multiplier=2)(x))
    x = layers.AveragePooling2D(3, strides=2, padding="same")(layers.ZeroPadding2D(((1, 0), (0, 1)))(x))
    x = layers.Conv2D(16, 3, groups=2)(layers.Cropping2D(1)(x))
    return layers.Dense(5)(layers.Flatten()(layers.MaxPooling2D(2)(x)))


def spectrogram(x):
    def log_magnitude(t):
        return tf.math.log(tf.abs(tf.signal.stft(t, 256, 128)) + 1e-3)

    return layers.Dense(4)(layers.Lambda(log_magnitude)(x))


NETS = {
    "mobilenet": application(applications.MobileNet, 96, alpha=0.5),
    "mobilenet_v2": application(applications.MobileNetV2, 96, alpha=0.35),
    "mobilenet_v3s": application(applications.MobileNetV3Small, 96),
    "efficientnet_b0": application(applications.EfficientNetB0, 96),
    "efficientnetv2_b0": application(applications.EfficientNetV2B0, 96),
    "resnet50": application(applications.ResNet50, 64),
    "resnet50v2": application(applications.ResNet50V2, 64),
    "densenet121": application(applications.DenseNet121, 64),
    "nasnet": application(applications.NASNetMobile, 96),
    "xception": application(applications.Xception, 96),
    "inceptionv3": application(applications.InceptionV3, 96),
    "convnext_t": application(applications.ConvNeXtTiny, 64),
    "vgg16": application(applications.VGG16, 48),
    "lstm": sequence((20, 16), lambda: layers.LSTM(24)),
    "lstm_sequence": sequence((20, 16), lambda: layers.LSTM(24, return_sequences=True), lambda: layers.Dense(8)),
    "bilstm": sequence((20, 16), lambda: layers.Bidirectional(layers.LSTM(12)), lambda: layers.Dense(8)),
    "gru": sequence((20, 16), lambda: layers.GRU(24), lambda: layers.Dense(5)),
    "rnn": sequence((20, 16), lambda: layers.SimpleRNN(24), lambda: layers.Dense(5)),
    "lstm_unrolled": sequence((10, 16), lambda: layers.LSTM(24, unroll=True)),
    "gru_unrolled": sequence((10, 16), lambda: layers.GRU(24, unroll=True)),
    "conv_lstm": sequence((4, 12, 12, 3), lambda: layers.ConvLSTM2D(4, 3, padding="same")),
    "conv1d": sequence((128, 4), lambda: layers.Conv1D(16, 5, strides=2, activation="relu"),
                       layers.BatchNormalization, lambda: layers.MaxPooling1D(2),
                       lambda: layers.Conv1D(24, 3, padding="same"), layers.GlobalMaxPooling1D,
                       lambda: layers.Dense(6, activation="softmax")),
    "conv1d_transposed": sequence((32, 8), lambda: layers.Conv1DTranspose(12, 4, strides=2, padding="same")),
    "conv3d": sequence((8, 16, 16, 2), lambda: layers.Conv3D(6, 3, activation="relu"), layers.Flatten,
                       lambda: layers.Dense(4)),
    "dilated": functional((64, 8), dilated),
    "transformer": functional((32, 64), transformer),
    "gated": functional((48, 48, 3), gated),
    "dense": sequence((40,), lambda: layers.Dense(64, activation="selu"), lambda: layers.Dense(32, activation="tanh"),
                      lambda: layers.Dense(16, activation="softplus"), lambda: layers.Dense(4, activation="softmax")),
    "resize": functional((13, 17, 4), lambda x: layers.Resizing(20, 30)(
        layers.Resizing(7, 9, interpolation="nearest")(x))),
    "spectrogram": functional((1024,), spectrogram),
}


def set_norms(model, random):
    """Statistics and factors of batch norms, and biases, that are not those of a new network."""
    for weight in model.weights:
        if "moving_variance" in weight.path or "gamma" in weight.path:
            weight.assign(random.uniform(0.5, 1.5, weight.shape))
        elif "moving_mean" in weight.path or "beta" in weight.path or "bias" in weight.path:
            weight.assign(random.normal(0, 0.1, weight.shape))


def converter_for(function, shape, form, random):
    frozen = convert_variables_to_constants_v2(function.get_concrete_function())
    converter = tf.lite.TFLiteConverter.from_concrete_functions([frozen])
    if form == "f32":
        return converter
    converter.optimizations = [tf.lite.Optimize.DEFAULT]
    if form == "f16":
        converter.target_spec.supported_types = [tf.float16]
    if form.startswith("int"):
        least = 0 if len(shape) == 4 else -1
        converter.representative_dataset = lambda: (
            [random.uniform(least, 1, shape).astype(numpy.float32)] for _ in range(8))
    if form == "int8io":
        converter.inference_input_type = converter.inference_output_type = tf.int8
        converter.target_spec.supported_ops = [tf.lite.OpsSet.TFLITE_BUILTINS_INT8]
    if form == "int16x8":
        converter.target_spec.supported_ops = [
            tf.lite.OpsSet.EXPERIMENTAL_TFLITE_BUILTINS_ACTIVATIONS_INT16_WEIGHTS_INT8]
    return converter


def write(name, forms, folder):
    tf.random.set_seed(1)
    random = numpy.random.default_rng(1)
    model = NETS[name]()
    set_norms(model, random)
    shape = [1] + list(model.inputs[0].shape[1:])

    @tf.function(input_signature=[tf.TensorSpec(shape, tf.float32, name="x")])
    def run(x):
        return model(x)

    for form in forms:
        try:
            data = converter_for(run, shape, form, random).convert()
        except Exception as error:  # whatever the converter raises: the others go on
            print(f"{name}.{form}: {str(error).splitlines()[0][:120]}", flush=True)
            continue
        (folder / f"{name}.{form}.tflite").write_bytes(data)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--nets", default=",".join(NETS))
    parser.add_argument("--forms", default=",".join(FORMS))
    arguments = parser.parse_args()
    arguments.folder.mkdir(parents=True, exist_ok=True)
    for name in arguments.nets.split(","):
        write(name, arguments.forms.split(","), arguments.folder)


main()
