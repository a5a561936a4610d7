"""Long description of the package: the README without the picture and the links that exist in a checkout only."""

import re
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface


class Readme(MetadataHookInterface):
    """Readme of the metadata, as package indices show it."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Set the readme of the project."""
        text = Path(self.root, "README.md").read_text(encoding="utf-8")
        metadata["readme"] = {"content-type": "text/markdown", "text": self_contained(text)}


def self_contained(text: str) -> str:
    """Markdown without pictures (and the caption below each) and with relative links as plain words."""
    text = re.sub(r"<img [^>]*>\n\n(?:\*[^*]*\*\n\n)?", "", text)
    return re.sub(r"\[([^\]]*)\]\((?!https?:)[^)]*\)", r"\1", text)
