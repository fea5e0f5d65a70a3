"""`accelerate` on a machine that has DEVICES CUDA devices, as far as its launcher can see: the first argument says how many."""

import sys

import torch
from accelerate.commands.accelerate_cli import main

devices = int(sys.argv.pop(1))
torch.cuda.device_count = lambda: devices

if sys.argv[1] == "planned":  # how many processes it would start, for the arguments of each further argument
    from accelerate.commands.launch import _validate_launch_command, launch_command_parser

    for words in sys.argv[2:]:
        arguments = launch_command_parser().parse_args([*words.split(), "train.py"])
        print("planned", _validate_launch_command(arguments)[0].num_processes, "for", words)
else:
    main()
