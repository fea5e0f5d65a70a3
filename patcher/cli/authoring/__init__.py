"""How the outcomes of the verbs that make patchsets are shown."""
