"""Import what failed; TensorBoard itself need not be installed."""

try:
    from torch.utils.tensorboard import SummaryWriter
except ImportError as error:
    print(f"TensorBoard is not installed: {error}")
else:
    print(f"{SummaryWriter.__name__} is imported")
