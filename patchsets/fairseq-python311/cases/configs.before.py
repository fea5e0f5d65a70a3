# case: fairseq/models/transformer/transformer_config.py
from dataclasses import dataclass, field


@dataclass
class EncDecBaseConfig:
    layers: int = 6


@dataclass
class DecoderConfig(EncDecBaseConfig):
    layers: int = 6


@dataclass
class TransformerConfig:
    encoder: EncDecBaseConfig = EncDecBaseConfig()
    decoder: DecoderConfig = DecoderConfig()
    dropout: float = field(default=0.1)
