# case: mmagic/__init__.py
MMCV_MIN = '2.0.0rc4'
MMCV_MAX = '2.2.0'
