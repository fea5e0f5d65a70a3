# case: mmengine/optim/optimizer/builder.py
def register_transformers_optimizers():
    names = []
    try:
        from transformers import Adafactor
    except ImportError:
        pass
    else:
        OPTIMIZERS.register_module(name='Adafactor', module=Adafactor)
        names.append('Adafactor')
    return names
