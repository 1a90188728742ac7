# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The example of the document of conv3d_backprop_input by its older name, as it is written there."""

import te
from tbe import tvm

shape_dedy = (1, 2, 16, 15, 22, 16)
out_backprop_dtype = "float16"
input_sizes = [1, 4, 30, 44, 128]
shape_filter_ncdhw = [256, 128, 2, 2, 2]
shape_filter_frac = (64, 16, 16, 16)
filter_dtype = "float16"

dedy = tvm.placeholder(shape_dedy, name="dedy",
                       dtype=out_backprop_dtype)

filters = tvm.placeholder(shape_filter_frac,
                          name="filter", dtype=filter_dtype)

strides = [1, 2, 2, 2, 1]
pads = [0, 0, 0, 0, 0, 0]
dilations = (1, 1, 1, 1, 1)
res_dtype = "float16"
kernel_name = "conv3d_backprop_input_w_2_2_2_128_256_y_1_2_15_22_256_x_1_4_30_44_128_s_1_2_2_2_1_SAME_d_1_1_g_1"
group_dict = {'real_g': 1, 'mag_factor': 1, 'cin1_g': 8, 'cout_g': 256, 'cin_ori': 128, 'cout_ori': 256}

para_dict = {
    "strides": strides,
    "pads": pads,
    "dilations": dilations,
    "res_dtype": res_dtype,
    "kernel_name": kernel_name,
    "group_dict": group_dict
}

dedx = te.lang.cce.conv3d_dx(
    filter=filters,
    out_backprop=dedy,
    filter_size=shape_filter_ncdhw,
    input_size=input_sizes,
    para_dict=para_dict
)
