"""Why a hunk does not match: the code that comes closest, and the first difference."""
