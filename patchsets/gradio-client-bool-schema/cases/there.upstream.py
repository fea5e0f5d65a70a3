# case: gradio_client/utils.py
def _json_schema_to_python_type(schema, defs):
    """As a hint."""
    if isinstance(schema, bool):
        return "Any"
    if schema == {}:
        return "Any"
    return get_type(schema)
