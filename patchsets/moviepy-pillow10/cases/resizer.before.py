# case: moviepy/video/fx/resize.py
try:
    from PIL import Image

    def resizer(pic, newsize):
        return Image.fromarray(pic).resize(newsize, Image.ANTIALIAS)
except ImportError:
    pass
