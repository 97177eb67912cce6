"""What mkdocs calls: the table of contents of docs/README.md, and names of headings as in files."""

import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent)]
import pages  # noqa: E402
import tidy  # noqa: E402

ROOT = HERE.parents[1]


def on_config(config):
    config["nav"] = [{section: [{title: str(pages.page_of(place, ROOT))} for title, place in entries]}
                     for section, entries in pages.contents(ROOT)]
    config["nav"].append({"All pages": str(pages.INDEX)})
    config["mdx_configs"]["toc"]["slugify"] = lambda heading, _: tidy.anchor_of(heading)
    return config
