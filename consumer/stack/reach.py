"""Where the user that root starts Postgres as can go.

PostgreSQL refuses to run as root, so root runs it as nobody, who often can't enter the folder of the checkout or of the
virtual environment (/root and every mkdtemp are closed to others). Opening those folders would be a hole, and so would
lending nobody a capability; what Postgres needs is put where anybody can go instead.
"""

import shutil
import stat
import tempfile
from pathlib import Path

from consumer.errors import Misconfigured

ELSEWHERE = "planner-data-"
OTHERS_ENTER = stat.S_IXOTH
PLACES = ("/var/tmp", "/tmp")  # what is used there is a fresh mkdtemp, or checked to be root's own


def by_others(folder: Path) -> bool:
    """Whether a user who is neither owner nor in the group can enter `folder` and all above it."""
    path = folder.resolve()
    return all(step.stat().st_mode & OTHERS_ENTER for step in (path, *path.parents))


def base() -> Path:
    """A folder for temporary data that anybody can enter."""
    for place in (tempfile.gettempdir(), *PLACES):
        if by_others(Path(place)):
            return Path(place)
    raise Misconfigured(f"user nobody, who runs Postgres for root, can enter none of {', '.join(PLACES)}")


def program(installed: Path, version: str) -> Path:
    """The folder `installed` of the wheel, or root's copy of it and its libraries where nobody can't enter it."""
    if by_others(installed):
        return installed
    site = installed.parents[1]
    copy = base() / f"planner-postgres-{version}"
    if not copy.exists():
        draft = Path(tempfile.mkdtemp(prefix="planner-postgres-", dir=base()))
        for part in (installed.relative_to(site), Path(f"{installed.parent.name}.libs")):
            shutil.copytree(site / part, draft / part, symlinks=True)
        draft.chmod(0o755)
        try:
            draft.rename(copy)
        except OSError:  # another first start was quicker
            shutil.rmtree(draft)
    found = copy.lstat()
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != 0 or found.st_mode & stat.S_IWOTH:
        raise Misconfigured(f"{copy} is not root's own folder; remove it")
    return copy / installed.relative_to(site)


def data(home: Path) -> Path:
    """`home`, or where nobody can't enter it a folder elsewhere. The file `elsewhere` in `home` and the file `belongs`
    in the folder name each other: who removes `home` starts anew, and the next start removes what it left."""
    if by_others(home):
        return home
    for belongs in base().glob(f"{ELSEWHERE}*/belongs"):
        owner = Path(belongs.read_text()) / "elsewhere"
        if not owner.exists() or owner.read_text() != str(belongs.parent):
            shutil.rmtree(belongs.parent, ignore_errors=True)
    note = home / "elsewhere"
    if not note.exists() or not Path(note.read_text()).is_dir():
        made = Path(tempfile.mkdtemp(prefix=ELSEWHERE, dir=base()))
        note.write_text(str(made))
        (made / "belongs").write_text(str(home))  # second: a folder with this file and no note may be removed
    return Path(note.read_text())
