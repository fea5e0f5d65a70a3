# case: mmengine/config/config.py
class Config:
    @property
    def pretty_text(self):
        text, _ = FormatCode(text, style_config=yapf_style)
        return text
