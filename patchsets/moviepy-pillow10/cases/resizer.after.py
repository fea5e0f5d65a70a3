try:
    from PIL import Image

    def resizer(pic, newsize):
        return Image.fromarray(pic).resize(newsize, Image.LANCZOS)
except ImportError:
    pass
