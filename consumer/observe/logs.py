"""Logs as JSON lines on stderr: an event name and fields out of a closed vocabulary.

No question, parameter value, row, key or token is ever a field, at any level. A tenant stands as the first 12 hex
digits of the SHA-256 of its id: enough to follow one tenant through the lines, not enough to name it.
"""

import json
import logging
import sys
from datetime import UTC, datetime
from hashlib import sha256
from uuid import UUID

STANDARD = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName"}


def tenant_tag(tenant_id: UUID) -> str:
    return sha256(tenant_id.bytes).hexdigest()[:12]


class JsonLines(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        line: dict[str, object] = {
            "at": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "event": record.getMessage(),
            "from": record.name,
        }
        line.update({k: v for k, v in vars(record).items() if k not in STANDARD})
        if record.exc_info and record.exc_info[0]:
            # The class only: messages of drivers repeat the values they choked on.
            line["error"] = record.exc_info[0].__name__
        return json.dumps(line, default=str, ensure_ascii=False)


def configure(level: str) -> None:
    """Sends our lines to stderr at `level`, and libraries' from `warning` on."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonLines())
    logging.basicConfig(level=logging.WARNING, handlers=[handler], force=True)
    for package in ("consumer", "registry", "schemas"):
        logging.getLogger(package).setLevel(level.upper())
    # aiokafka logs whole records at debug and its own rebalances at info; what matters of both is ours to say
    logging.getLogger("aiokafka").setLevel(logging.ERROR)
