# case: accelerate/checkpointing.py
def save_accelerator_state(output_dir, states):
    torch.save(states, output_dir / "states.pt")
