# case: mmengine/config/config.py
class Config:
    @property
    def pretty_text(self):
        try:
            text, _ = FormatCode(
                text, style_config=yapf_style, verify=True)
        except:  # noqa: E722
            raise SyntaxError('Failed to format the config file, please '
                              f'check the syntax of: \n{text}')
        return text
