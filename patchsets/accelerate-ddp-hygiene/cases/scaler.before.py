# case: accelerate/checkpointing.py 1.15.0 save=false
from .utils import save


def save_accelerator_state(output_dir, scaler, save_on_each_node=False):
    if scaler is not None:
        state = scaler.state_dict()
        output_scaler_file = output_dir / "scaler.pt"
        torch.save(state, output_scaler_file)  # of every process
