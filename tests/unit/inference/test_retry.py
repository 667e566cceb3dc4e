"""How long a busy server is left alone."""

from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest

from consumer.inference.openai import retry_after

VALUES = (("0", 0.0), ("7", 7.0), ("", None), ("soon", None), ("-5", None), ("1.5", None), ("\u0663", None))


@pytest.mark.parametrize(("value", "seconds"), VALUES)
def test_seconds_are_taken_and_nonsense_is_not(value: str, seconds: float | None) -> None:
    assert retry_after(value) == seconds


def test_a_date_is_taken() -> None:
    later = datetime.now(UTC) + timedelta(seconds=30)
    assert 25 < (retry_after(format_datetime(later, usegmt=True)) or 0) <= 30
    assert retry_after(format_datetime(later - timedelta(hours=1), usegmt=True)) == 0.0
