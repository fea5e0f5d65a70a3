# case: mmengine/optim/optimizer/builder.py
def register_torch_optimizers():
    OPTIMIZERS.register_module(name='Adafactor', module=Adafactor)
