"""Train a small model of a project of OpenMMLab for two steps on made data; each rank says its weights and where they are.

    openmmlab_train.py mmseg|mmdet|mmpose|mmdet3d

What mmcv compiles is not here: its operators raise what the real ones raise on a card that they have no kernel for.
"""

import hashlib
import os
import sys
import tempfile

import torch
from mmengine.runner import Runner
from mmengine.structures import InstanceData, PixelData

NORM = {"type": "BN", "requires_grad": True}


def segmentation():
    import mmseg.models  # noqa: F401 - it registers them
    from mmseg.structures import SegDataSample

    model = {
        "type": "mmseg.EncoderDecoder",
        "data_preprocessor": {"type": "mmseg.SegDataPreProcessor", "mean": [0.0] * 3, "std": [255.0] * 3, "size": (32, 32)},
        "backbone": {"type": "mmseg.ResNetV1c", "depth": 18, "num_stages": 4, "out_indices": (0, 1, 2, 3), "norm_cfg": NORM, "base_channels": 8, "stem_channels": 8},
        "decode_head": {"type": "mmseg.FCNHead", "in_channels": 64, "channels": 8, "num_convs": 1, "num_classes": 3, "norm_cfg": NORM,
                        "loss_decode": {"type": "mmseg.CrossEntropyLoss"}},
        "train_cfg": {}, "test_cfg": {"mode": "whole"},
    }  # fmt: skip
    points = [{"inputs": torch.randint(0, 255, (3, 32, 32), dtype=torch.uint8), "data_samples": SegDataSample(gt_sem_seg=PixelData(data=torch.randint(0, 3, (1, 32, 32))))} for _ in range(8)]
    return model, points


def detection():
    import mmdet.models  # noqa: F401
    from mmdet.structures import DetDataSample

    model = {
        "type": "mmdet.RetinaNet",
        "data_preprocessor": {"type": "mmdet.DetDataPreprocessor", "mean": [0.0] * 3, "std": [255.0] * 3},
        "backbone": {"type": "mmdet.ResNet", "depth": 18, "num_stages": 4, "out_indices": (0, 1, 2, 3), "norm_cfg": NORM, "base_channels": 8},
        "neck": {"type": "mmdet.FPN", "in_channels": [8, 16, 32, 64], "out_channels": 8, "num_outs": 4},
        "bbox_head": {"type": "mmdet.RetinaHead", "num_classes": 3, "in_channels": 8, "stacked_convs": 1, "feat_channels": 8,
                      "anchor_generator": {"type": "mmdet.AnchorGenerator", "octave_base_scale": 4, "scales_per_octave": 1, "ratios": [1.0], "strides": [4, 8, 16, 32]},
                      "bbox_coder": {"type": "mmdet.DeltaXYWHBBoxCoder"}, "loss_cls": {"type": "mmdet.FocalLoss", "use_sigmoid": True},
                      "loss_bbox": {"type": "mmdet.L1Loss"}},
        "train_cfg": {"assigner": {"type": "mmdet.MaxIoUAssigner", "pos_iou_thr": 0.5, "neg_iou_thr": 0.4, "min_pos_iou": 0, "ignore_iof_thr": -1},
                      "sampler": {"type": "mmdet.PseudoSampler"}, "allowed_border": -1, "pos_weight": -1},
        "test_cfg": {"nms_pre": 10, "score_thr": 0.05, "nms": {"type": "nms", "iou_threshold": 0.5}, "max_per_img": 5},
    }  # fmt: skip

    def sample():
        boxes = torch.tensor([[4.0, 4.0, 30.0, 28.0], [20.0, 20.0, 60.0, 60.0]])
        instances = InstanceData(bboxes=boxes, labels=torch.tensor([0, 2]))
        return DetDataSample(gt_instances=instances, metainfo={"img_shape": (64, 64), "batch_input_shape": (64, 64), "pad_shape": (64, 64), "scale_factor": (1, 1)})

    points = [{"inputs": torch.randint(0, 255, (3, 64, 64), dtype=torch.uint8), "data_samples": sample()} for _ in range(8)]
    return model, points


def pose():
    import mmpose.models  # noqa: F401
    from mmpose.structures import PoseDataSample

    model = {
        "type": "mmpose.TopdownPoseEstimator",
        "data_preprocessor": {"type": "mmpose.PoseDataPreprocessor", "mean": [0.0] * 3, "std": [255.0] * 3},
        "backbone": {"type": "mmpose.ResNet", "depth": 18},
        "head": {"type": "mmpose.HeatmapHead", "in_channels": 512, "out_channels": 4, "deconv_out_channels": (8,), "deconv_kernel_sizes": (4,),
                 "loss": {"type": "mmpose.KeypointMSELoss", "use_target_weight": True}, "decoder": {"type": "mmpose.MSRAHeatmap", "input_size": (64, 64), "heatmap_size": (4, 4), "sigma": 1}},
    }  # fmt: skip

    def sample():
        fields = PixelData(heatmaps=torch.rand(4, 4, 4))
        return PoseDataSample(gt_fields=fields, gt_instance_labels=InstanceData(keypoint_weights=torch.ones(1, 4)), metainfo={"img_shape": (64, 64), "input_size": (64, 64)})

    points = [{"inputs": torch.randint(0, 255, (3, 64, 64), dtype=torch.uint8), "data_samples": sample()} for _ in range(8)]
    return model, points


def cars():
    import mmdet3d.models  # noqa: F401
    from mmdet3d.structures import CameraInstance3DBoxes, Det3DDataSample

    dims = ((0.9, 1.7, 0.7), (1.8, 1.7, 0.6), (3.9, 1.6, 1.5))
    model = {
        "type": "mmdet3d.SMOKEMono3D",
        "data_preprocessor": {"type": "mmdet3d.Det3DDataPreprocessor", "mean": [0.0] * 3, "std": [255.0] * 3},
        "backbone": {"type": "mmdet.ResNet", "depth": 18, "num_stages": 1, "strides": (1,), "dilations": (1,), "out_indices": (0,), "norm_cfg": NORM, "base_channels": 8},
        "neck": None, "bbox_head": {"type": "mmdet3d.SMOKEMono3DHead", "num_classes": 3, "in_channels": 8, "stacked_convs": 0, "feat_channels": 8, "strides": None,
                      "dim_channel": [3, 4, 5], "ori_channel": [6, 7], "use_direction_classifier": False, "diff_rad_by_sin": False, "pred_attrs": False, "pred_velo": False,
                      "group_reg_dims": (8,), "cls_branch": (16,), "reg_branch": ((16,),), "dir_branch": (), "attr_branch": (), "num_attrs": 0, "bbox_code_size": 7,
                      "conv_bias": True, "norm_cfg": {"type": "GN", "num_groups": 4}, "loss_cls": {"type": "mmdet.GaussianFocalLoss"}, "loss_dir": {"type": "mmdet.CrossEntropyLoss"}, "loss_attr": None,
                      "loss_bbox": {"type": "mmdet.L1Loss", "loss_weight": 0.001}, "bbox_coder": {"type": "mmdet3d.SMOKECoder", "base_depth": (28.0, 16.3), "base_dims": dims, "code_size": 7}},
        "train_cfg": None, "test_cfg": {"topK": 10, "local_maximum_kernel": 3, "max_per_img": 10},
    }  # fmt: skip

    def sample():
        boxes = CameraInstance3DBoxes(torch.tensor([[1.0, 1.5, 20.0, 3.9, 1.6, 1.5, 0.1]]), box_dim=7, origin=(0.5, 0.5, 0.5))
        cars = InstanceData(bboxes_3d=boxes, labels_3d=torch.tensor([2]), centers_2d=torch.tensor([[32.0, 32.0]]), depths=torch.tensor([20.0]))
        instances = InstanceData(bboxes=torch.tensor([[20.0, 20.0, 44.0, 44.0]]), labels=torch.tensor([2]))
        camera = [[700.0, 0, 32, 0], [0, 700, 32, 0], [0, 0, 1, 0], [0, 0, 0, 1]]
        place = {"cam2img": camera, "trans_mat": [[0.25, 0, 0], [0, 0.25, 0], [0, 0, 1]], "affine_aug": False, "box_type_3d": CameraInstance3DBoxes}
        return Det3DDataSample(gt_instances_3d=cars, gt_instances=instances, metainfo={"img_shape": (64, 64), "pad_shape": (64, 64), **place})

    return model, [{"inputs": {"img": torch.randint(0, 255, (3, 64, 64), dtype=torch.uint8)}, "data_samples": sample()} for _ in range(8)]


rank = int(os.environ["RANK"])
torch.manual_seed(0)
model, points = {"mmseg": segmentation, "mmdet": detection, "mmpose": pose, "mmdet3d": cars}[sys.argv[1]]()
runner = Runner(
    model=model, work_dir=tempfile.mkdtemp(), train_cfg={"by_epoch": True, "max_epochs": 1}, log_level="ERROR", randomness={"seed": 0},
    train_dataloader={"dataset": points, "batch_size": 2, "sampler": {"type": "DefaultSampler", "shuffle": False}, "collate_fn": {"type": "pseudo_collate"}},
    optim_wrapper={"optimizer": {"type": "SGD", "lr": 0.001}}, launcher="pytorch", default_scope="mmdet" if sys.argv[1] == "mmdet" else "mmengine", default_hooks={"checkpoint": None},
    env_cfg={"dist_cfg": {"backend": "nccl"}},
)  # fmt: skip
runner.train()
weights = [(name, tensor.tolist()) for name, tensor in runner.model.named_parameters()]
text = hashlib.sha256(repr(weights).encode()).hexdigest()
sys.stdout.write(f"trained {sys.argv[1]} {rank} {text} {next(runner.model.parameters()).device}\n")
sys.stdout.flush()
os._exit(0)
