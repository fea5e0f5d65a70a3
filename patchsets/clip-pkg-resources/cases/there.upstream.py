# case: clip/clip.py
import warnings
import packaging.version

if packaging.version.parse(release) < packaging.version.parse('1.7.1'):
    warnings.warn('old')
