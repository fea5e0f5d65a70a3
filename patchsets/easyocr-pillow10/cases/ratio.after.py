def compute_ratio_and_resize(img, width, height):
    if width < height:
        return cv2.resize(img, height, interpolation=Image.LANCZOS)
    return cv2.resize(img, width,interpolation=Image.LANCZOS)
