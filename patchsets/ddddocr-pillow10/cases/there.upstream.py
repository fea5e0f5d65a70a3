# case: ddddocr/__init__.py
from PIL import Image


class DdddOcr:
    def classification(self, image):
        image = image.resize((64, 64), Image.LANCZOS).convert("L")
        return image.resize((32, 32), Image.LANCZOS)
