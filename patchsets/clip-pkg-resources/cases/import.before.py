# case: clip/clip.py
import warnings
from pkg_resources import packaging

if packaging.version.parse(release) < packaging.version.parse('1.7.1'):
    warnings.warn('old')
