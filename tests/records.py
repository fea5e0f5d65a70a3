"""What installers write down: the files of a wheel with their RECORD, and a RECORD that says something else."""

from base64 import urlsafe_b64encode
from hashlib import sha256

WHEEL = b"Wheel-Version: 1.0\nGenerator: tests\nRoot-Is-Purelib: true\nTag: py3-none-any\n"


def digest(data):
    """The hash of bytes as RECORD has it."""
    return "sha256=" + urlsafe_b64encode(sha256(data).digest()).rstrip(b"=").decode()


def row(path, data):
    """The line of a file."""
    quoted = f'"{path}"' if "," in path else path
    return f"{quoted},{digest(data)},{len(data)}\n"


def metadata(distribution, version, needs=()):
    """The METADATA of a release."""
    return f"Metadata-Version: 2.1\nName: {distribution}\nVersion: {version}\n{''.join(f'Requires-Dist: {need}' + chr(10) for need in needs)}".encode()


def with_record(distribution, version, files, needs=()):
    """The files of a pure wheel by path, those given (text or bytes) first, RECORD last."""
    info = f"{distribution.replace('-', '_')}-{version}.dist-info"
    members = {path: data.encode() if isinstance(data, str) else data for path, data in files.items()}
    members.update({f"{info}/METADATA": metadata(distribution, version, needs), f"{info}/WHEEL": WHEEL})
    record = "".join([*(row(path, data) for path, data in members.items()), f"{info}/RECORD,,\n"])
    return {**members, f"{info}/RECORD": record.encode()}


SIZE = '[options.size]\ntype = "int"\ndefault = 2\nhelp = "a number"\n'


def manifest(name, package, patch="p.spatch", kind="debug", version="1", options="", versions="", more=""):
    """The patchset.toml of a patchset of one variant; `options` and `more` are tables above and below that."""
    head = f'schema = 1\nname = "{name}"\nversion = "{version}"\nkind = "{kind}"\nsummary = "For a test"\n{options}'
    return f'{head}[[variant]]\npackage = "{package}"\nversions = "{versions}"\npatches = ["{patch}"]\n{more}'


def write_patchset(parent, name, spatch, package, **tables):
    """Write, or overwrite, the folder of a patchset; `tables` are those of `manifest`."""
    (parent / name).mkdir(parents=True, exist_ok=True)
    (parent / name / "p.spatch").write_text(spatch)
    (parent / name / "patchset.toml").write_text(manifest(name, package, **tables))
    return name


def write_files(site, members):
    """Write files below a directory."""
    for path, data in members.items():
        (site / path).parent.mkdir(parents=True, exist_ok=True)
        (site / path).write_bytes(data)


def rerecord(site, path, data):
    """Let the RECORD of the package say that a file was installed with these bytes, so that they count as pristine."""
    (record,) = site.glob(f"{path.split('/')[0]}-*.dist-info/RECORD")
    lines = record.read_text(encoding="utf-8").splitlines(True)
    assert sum(line.startswith(f"{path},") for line in lines) == 1
    record.unlink()  # it may be a hard link into an environment that is kept
    record.write_text("".join(row(path, data) if line.startswith(f"{path},") else line for line in lines), encoding="utf-8")
