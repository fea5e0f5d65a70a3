# case: mmengine/optim/optimizer/builder.py
def register_transformers_optimizers():
    OPTIMIZERS.register_module(name='Adafactor', module=Adafactor, force=True)
