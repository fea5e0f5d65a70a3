# case: easyocr/utils.py
def compute_ratio_and_resize(img, width, height):
    if width < height:
        return cv2.resize(img, height, interpolation=Image.ANTIALIAS)
    return cv2.resize(img, width,interpolation=Image.ANTIALIAS)
