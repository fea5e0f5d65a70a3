mmcv_minimum_version = '2.0.0rc4'
mmcv_maximum_version = '2.3.0'
mmdet_maximum_version = '3.4.0'
