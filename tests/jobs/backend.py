"""A build backend that builds nothing: the metadata of a source package is the PKG-INFO in it.

`pip download` asks a backend for metadata. Then it keeps the package. install.sh puts this one in the place of the
packages' backends, so that none of their code runs.
"""

import email.parser
import pathlib


def prepare_metadata_for_build_wheel(directory, config_settings=None):
    text = pathlib.Path("PKG-INFO").read_text(encoding="utf-8")
    about = email.parser.HeaderParser().parsestr(text)
    name = f"{about['Name'].replace('-', '_')}-{about['Version']}.dist-info"
    place = pathlib.Path(directory, name)
    place.mkdir()
    (place / "METADATA").write_text(text, encoding="utf-8")
    return name


def get_requires_for_build_wheel(config_settings=None):
    return []
