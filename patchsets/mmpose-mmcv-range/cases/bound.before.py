# case: mmpose/__init__.py
mmcv_minimum_version = '2.0.0rc4'
mmcv_maximum_version = '2.1.0'
