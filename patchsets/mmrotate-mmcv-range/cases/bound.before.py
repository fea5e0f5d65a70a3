# case: mmrotate/__init__.py
mmcv_minimum_version = '2.0.0rc4'
mmcv_maximum_version = '2.1.0'
mmdet_maximum_version = '3.1.0'
