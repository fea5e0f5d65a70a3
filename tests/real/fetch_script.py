"""Fetch a release as pip finds it, a wheel or its source, and build nothing: `pip download` builds the metadata of each sdist.

python fetch_script.py DISTRIBUTION VERSION FOLDER
"""

import sys
from pathlib import Path

from pip._internal.commands import create_command


def fetch(distribution, version, folder):
    """Write the first file of the release that this interpreter could install."""
    command = create_command("download")
    with command.main_context():
        options, _ = command.parse_args(["--quiet", "--disable-pip-version-check"])
        session = command._build_session(options)
        finder = command._build_package_finder(options=options, session=session)
        link = next(each.link for each in finder.find_all_candidates(distribution) if str(each.version) == version)
        answer = session.get(link.url_without_fragment)
        answer.raise_for_status()
        Path(folder, link.filename).write_bytes(answer.content)


if __name__ == "__main__":
    fetch(*sys.argv[1:])
