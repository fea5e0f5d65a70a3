# case: easyocr/utils.py
def get_image_list(boxes, img):
    for box in boxes:
        crop = cv2.resize(box, interpolation =  Image.ANTIALIAS)
    return cv2.resize(img, interpolation =  Image.ANTIALIAS)
