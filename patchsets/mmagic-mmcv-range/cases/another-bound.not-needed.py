# case: mmagic/__init__.py
MMCV_MAX = '3.0.0'
