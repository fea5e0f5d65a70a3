# case: mmcv/utils/config.py
class Config:
    @property
    def pretty_text(self):
        return black.format_str(text, mode=mode)

    def dump(self):
        FormatCode(text, style_config=yapf_style, verify=True)
