def rotation_matrix_to_quaternion(rotation_matrix, eps=1e-6):
    mask_c1 = mask_d2 * (~mask_d0_d1)
    mask_c2 = (~mask_d2) * mask_d0_nd1
    mask_c3 = (~mask_d2) * (~mask_d0_nd1)
    t1 = 1 - rotation_matrix
