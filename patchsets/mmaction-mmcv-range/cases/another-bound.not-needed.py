# case: mmaction/__init__.py
mmcv_maximum_version = '3.0.0'
