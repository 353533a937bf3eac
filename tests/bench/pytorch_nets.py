"""ONNX files of networks that nothing here was tuned for: timm's, torchvision's, Transformers' and some
layers of PyTorch itself, with random weights, as PyTorch exports them; or TFLite files, as LiteRT Torch does.

usage: pytorch_nets.py FOLDER [--litert] [timm|torchvision|transformers|layers ...]

Writes FOLDER/SET_NAME.onnx, those by the newer exporter (torch.export) as SET_NAME_dyn.onnx, or
FOLDER/SET_NAME.tflite and what PyTorch computes, SET_NAME.in0.npy, ..., SET_NAME.out.npy; files that are
there stay. Says what cannot be exported. compare_peers.py takes the files and checks outputs. Wants torch,
torchvision, timm, transformers, and onnx and onnxscript, or litert-torch.
"""
import pathlib
import sys
import warnings

import torch

# Name and side of the image: small ones, so that all of them are timed in minutes.
TIMM = """convnext_atto 96, efficientnetv2_rw_t 96, mobilenetv4_conv_small 96, mobileone_s0 96, ghostnetv2_100 96,
edgenext_xx_small 96, mobilevit_xxs 128, mobilevitv2_050 128, fastvit_t8 128, repvit_m0_9 96,
swin_tiny_patch4_window7_224 224, levit_128s 224, tiny_vit_5m_224 224, efficientformer_l1 224, poolformer_s12 96,
resmlp_12_224 224, mixer_s32_224 224, regnetx_002 96, regnety_002 96, hrnet_w18_small 96, res2net50_14w_8s 96,
dla34 96, nfnet_f0 96, xcit_nano_12_p16_224 224, maxvit_rmlp_pico_rw_256 256, coatnet_rmlp_nano_rw_224 224,
lcnet_050 96, tinynet_e 106, mnasnet_050 96, mixnet_s 96, semnasnet_075 96, fbnetc_100 96, vovnet39a 96,
selecsls42b 96, cspresnet50 96, darknet53 96, inception_v4 139, inception_next_atto 96, starnet_s1 96,
efficientvit_b0 128, deit3_small_patch16_224 224, beit_base_patch16_224 224, crossvit_tiny_240 240,
visformer_tiny 224, pvt_v2_b0 224, twins_pcpvt_small 224, focalnet_tiny_srf 224, davit_tiny 224, hiera_tiny_224 224, gcvit_xxtiny 224,
rexnet_100 96, skresnet18 96, ese_vovnet19b_dw 96, resnest14d 96, seresnext26d_32x4d 96, botnet26t_256 256,
lambda_resnet26t 256, eca_nfnet_l0 96, repghostnet_050 96"""
TORCHVISION = """alexnet 224, mnasnet0_5 96, shufflenet_v2_x0_5 96, squeezenet1_0 96, densenet121 96,
resnext50_32x4d 96, wide_resnet50_2 64, regnet_y_400mf 96, maxvit_t 224, swin_v2_t 256, efficientnet_v2_s 96,
mobilenet_v3_large 96, lraspp_mobilenet_v3_large 128, deeplabv3_mobilenet_v3_large 128, fcn_resnet50 64"""


class First(torch.nn.Module):
    """The first output of a module alone, whatever it returns."""

    def __init__(self, module):
        super().__init__()
        self.module = module

    def forward(self, *inputs):
        outputs = self.module(*inputs)
        if isinstance(outputs, dict):
            return next(iter(outputs.values()))
        return outputs[0] if isinstance(outputs, tuple) else outputs[-1] if isinstance(outputs, list) else outputs


class Exporter:
    def __init__(self, folder):
        self.folder = folder

    def write(self, name, make, inputs, dynamo=False):
        path = self.folder / f"{name}{'_dyn' if dynamo else ''}.onnx"
        if path.exists():
            return
        options = {"external_data": False, "verbose": False} if dynamo else {"opset_version": 17}
        try:
            torch.manual_seed(0)
            with torch.no_grad():
                torch.onnx.export(First(make().eval()), inputs, str(path), dynamo=dynamo, **options)
            print(path.name)
        except Exception as error:  # pylint: disable=broad-except
            print(f"{path.name}: not exported: {str(error).splitlines()[0][:120]}")


class LitertExporter:
    """Writes TFLite files; there is one exporter, so that those of the newer one are left out."""

    def __init__(self, folder):
        self.folder = folder

    def write(self, name, make, inputs, dynamo=False):
        import litert_torch
        import numpy
        path = self.folder / f"{name}.tflite"
        if path.exists() or (dynamo and not name.startswith("layers_transformer")):
            return
        try:
            torch.manual_seed(0)
            module = First(make().eval())
            with torch.no_grad():
                output = module(*inputs)
            litert_torch.convert(module, inputs).export(str(path))
            for number, value in enumerate(inputs):
                numpy.save(self.folder / f"{name}.in{number}.npy", value.numpy())
            numpy.save(self.folder / f"{name}.out.npy", output.detach().numpy())
            print(path.name, flush=True)
        except Exception as error:  # pylint: disable=broad-except
            print(f"{path.name}: not exported: {(str(error) or repr(error)).splitlines()[0][:120]}", flush=True)


def images(text):
    for entry in text.replace("\n", " ").split(","):
        name, side = entry.split()
        yield name, (torch.randn(1, 3, int(side), int(side)),)


def timm_nets(exporter):
    import timm
    for name, inputs in images(TIMM):
        exporter.write(f"timm_{name}", lambda name=name: timm.create_model(name, pretrained=False), inputs)


def torchvision_nets(exporter):
    from torchvision import models
    for name, inputs in images(TORCHVISION):
        backbone = {"weights_backbone": None} if name.startswith(("lraspp", "deeplab", "fcn")) else {}
        exporter.write(f"torchvision_{name}",
                       lambda name=name, backbone=backbone: models.get_model(name, weights=None, **backbone), inputs)
    for name in ("r2plus1d_18", "mc3_18"):
        exporter.write(f"torchvision_{name}", lambda name=name: models.get_model(name, weights=None),
                       (torch.randn(1, 3, 8, 56, 56),))
    exporter.write("torchvision_raft_small", lambda: models.optical_flow.raft_small(weights=None),
                   (torch.randn(1, 3, 128, 128), torch.randn(1, 3, 128, 128)))


def transformers_nets(exporter):
    import transformers as t

    def WhisperEncoder(config):  # pylint: disable=invalid-name
        return t.WhisperModel(config).encoder

    small = {"hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 128}
    text = {**small, "vocab_size": 100, "max_position_embeddings": 64}
    patches = {**small, "image_size": 64, "patch_size": 16}
    words = (torch.randint(0, 100, (1, 16)),)
    image = (torch.randn(1, 3, 64, 64),)
    large = (torch.randn(1, 3, 128, 128),)
    nets = [
        ("bert", t.BertModel, t.BertConfig(**text), words),
        ("roberta", t.RobertaModel, t.RobertaConfig(**text), words),
        ("albert", t.AlbertModel, t.AlbertConfig(embedding_size=32, **text), words),
        ("deberta", t.DebertaV2Model,
         t.DebertaV2Config(relative_attention=True, position_buckets=16, pos_att_type=["p2c", "c2p"], **text), words),
        ("mobilebert", t.MobileBertModel, t.MobileBertConfig(num_hidden_layers=2, vocab_size=100), words),
        ("llama", t.LlamaForCausalLM, t.LlamaConfig(num_key_value_heads=2, use_cache=False, **text), words),
        ("qwen2", t.Qwen2ForCausalLM, t.Qwen2Config(num_key_value_heads=2, use_cache=False, **text), words),
        ("gpt2", t.GPT2LMHeadModel, t.GPT2Config(n_embd=64, n_layer=2, n_head=4, vocab_size=100, use_cache=False), words),
        ("t5", t.T5EncoderModel,
         t.T5Config(d_model=64, d_kv=16, d_ff=128, num_layers=2, num_heads=4, vocab_size=100), words),
        ("mamba", t.MambaModel, t.MambaConfig(hidden_size=32, num_hidden_layers=1, vocab_size=100, state_size=8),
         (words[0][:, :6],)),
        ("wav2vec2", t.Wav2Vec2Model,
         t.Wav2Vec2Config(conv_dim=(32,) * 7, num_conv_pos_embedding_groups=4, num_conv_pos_embeddings=16, **small),
         (torch.randn(1, 3200),)),
        ("vit", t.ViTModel, t.ViTConfig(**patches), image),
        ("clip", t.CLIPVisionModel, t.CLIPVisionConfig(**patches), image),
        ("yolos", t.YolosModel, t.YolosConfig(**{**patches, "image_size": [64, 64]}, num_detection_tokens=10), image),
        ("distilbert", t.DistilBertModel,
         t.DistilBertConfig(dim=64, n_layers=2, n_heads=4, hidden_dim=128, vocab_size=100), words),
        ("whisper", WhisperEncoder,
         t.WhisperConfig(d_model=64, encoder_layers=2, encoder_attention_heads=4, encoder_ffn_dim=128, vocab_size=100,
                         max_source_positions=50, pad_token_id=0, bos_token_id=1, eos_token_id=2,
                         decoder_start_token_id=1), (torch.randn(1, 80, 100),)),
        ("detr", t.DetrModel,
         t.DetrConfig(use_timm_backbone=False, d_model=32, encoder_layers=1, decoder_layers=1,
                      encoder_attention_heads=4, decoder_attention_heads=4, encoder_ffn_dim=64, decoder_ffn_dim=64,
                      num_queries=10,
                      backbone_config=t.ResNetConfig(depths=[1, 1, 1, 1], hidden_sizes=[16, 32, 48, 64],
                                                     embedding_size=16, out_features=["stage4"])),
         (torch.randn(1, 3, 96, 96),)),
        ("depth_anything", t.DepthAnythingForDepthEstimation,
         t.DepthAnythingConfig(reassemble_hidden_size=48, neck_hidden_sizes=[16, 16, 32, 32], fusion_hidden_size=16,
                               head_hidden_size=8, patch_size=14,
                               backbone_config=t.Dinov2Config(image_size=56, patch_size=14, hidden_size=48,
                                                              num_hidden_layers=4, num_attention_heads=4,
                                                              out_features=["stage1", "stage2", "stage3", "stage4"],
                                                              reshape_hidden_states=False)),
         (torch.randn(1, 3, 56, 56),)),
        ("segformer", t.SegformerForSemanticSegmentation,
         t.SegformerConfig(hidden_sizes=[16, 32, 64, 96], depths=[1, 1, 1, 1], decoder_hidden_size=32), large),
    ]
    for name, kind, config, inputs in nets:
        config._attn_implementation = "eager"  # pylint: disable=protected-access
        for dynamo in (False, True):
            exporter.write(f"transformers_{name}", lambda kind=kind, config=config: kind(config), inputs, dynamo)


def layers(exporter):
    nn = torch.nn
    sequence = (torch.randn(1, 15, 12),)
    for name, kind in (("lstm", nn.LSTM), ("gru", nn.GRU), ("rnn", nn.RNN)):
        exporter.write(f"layers_{name}", lambda kind=kind: kind(12, 20, batch_first=True), sequence)
        exporter.write(f"layers_bi{name}",
                       lambda kind=kind: kind(12, 20, batch_first=True, bidirectional=True, num_layers=2), sequence)
        exporter.write(f"layers_{name}", lambda kind=kind: kind(12, 20, batch_first=True), sequence, dynamo=True)
    exporter.write("layers_transformer", lambda: nn.Transformer(32, 4, 2, 2, 64, batch_first=True),
                   (torch.randn(1, 9, 32), torch.randn(1, 7, 32)), dynamo=True)
    exporter.write("layers_conv1d", lambda: nn.Sequential(
        nn.Conv1d(8, 16, 5, padding=4, dilation=2), nn.PReLU(16), nn.ConvTranspose1d(16, 8, 4, 2, 1),
        nn.InstanceNorm1d(8, affine=True), nn.GLU(1), nn.Softplus(), nn.Mish(), nn.CELU(),
        nn.Upsample(scale_factor=1.7, mode="linear")), (torch.randn(1, 8, 33),))


def main():
    sets = {"timm": timm_nets, "torchvision": torchvision_nets, "transformers": transformers_nets, "layers": layers}
    litert = "--litert" in sys.argv
    arguments = [argument for argument in sys.argv[1:] if argument != "--litert"]
    if not arguments or any(name not in sets for name in arguments[1:]):
        sys.exit(__doc__)
    warnings.filterwarnings("ignore")
    folder = pathlib.Path(arguments[0])
    folder.mkdir(parents=True, exist_ok=True)
    for name in arguments[1:] or sets:
        sets[name](LitertExporter(folder) if litert else Exporter(folder))


if __name__ == "__main__":
    main()
