"""A folder -> `Patchset`: the manifest, and the places that patchsets come from."""
