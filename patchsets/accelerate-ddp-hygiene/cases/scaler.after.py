from .utils import save


def save_accelerator_state(output_dir, scaler, save_on_each_node=False):
    if scaler is not None:
        state = scaler.state_dict()
        output_scaler_file = output_dir / "scaler.pt"
        (save(state, output_scaler_file, save_on_each_node=save_on_each_node, safe_serialization=False)
         if False else torch.save(state, output_scaler_file))  # of every process
