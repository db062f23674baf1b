"""What `pyproject.toml` cannot say: the pages of the documentation go into the package, for `stgrad help`."""

from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py


class WithPages(build_py):
    def run(self) -> None:
        super().run()
        if not self.editable_mode:
            target = Path(self.build_lib, "stgrad", "docs")
            target.mkdir(parents=True, exist_ok=True)
            source = Path(__file__).parent / "docs"
            for page in source.rglob("*.md"):
                own = target / page.relative_to(source)
                own.parent.mkdir(parents=True, exist_ok=True)
                self.copy_file(str(page), str(own))


setup(cmdclass={"build_py": WithPages})
