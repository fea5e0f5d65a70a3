# case: accelerate/checkpointing.py 1.15.0
def save_accelerator_state(output_dir, states):
    torch.save(states, output_dir / "states.pt")
