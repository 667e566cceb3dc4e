"""What the gate says of a text: a closed list of codes, so that an event may count them and never carries a word."""

from enum import StrEnum

from msgspec import Struct


class Code(StrEnum):
    OK = "ok"
    VALUE_MISMATCH = "value_mismatch"
    TYPE_MISMATCH = "type_mismatch"
    UNIT_MISMATCH = "unit_mismatch"
    ROW_MISMATCH = "row_mismatch"
    COUNT_MISMATCH = "count_mismatch"
    AGGREGATE_MISMATCH = "aggregate_mismatch"
    COMPARISON_FALSE = "comparison_false"
    INCOMPLETE_EVIDENCE = "incomplete_evidence"
    DERIVED_NOT_WHITELISTED = "derived_not_whitelisted"
    NEGATION_UNVERIFIABLE = "negation_unverifiable"
    SUPPRESSED_CELL = "suppressed_cell"
    SUPPRESSION_FALSE = "suppression_false"
    FORBIDDEN_CLAIM = "forbidden_claim"
    VAGUE_QUANTIFIER = "vague_quantifier"
    QUOTE_MISMATCH = "quote_mismatch"
    COLUMN_MISMATCH = "column_mismatch"
    UNKNOWN_IDENTIFIER = "unknown_identifier"
    UNLICENSED_WORD = "unlicensed_word"
    UNPARSED_OPERATOR = "unparsed_operator"
    UNANCHORED = "unanchored"
    GATE_ERROR = "gate_error"


class Refused(Exception):
    """A sentence is not supported; `code` says by what rule."""

    def __init__(self, code: Code) -> None:
        super().__init__(code.value)
        self.code = code


class GateVerdict(Struct, frozen=True):
    """The verdict on a whole text: the first sentence that is not supported decides. `sentence` is its number."""

    code: Code
    sentence: int = -1

    @property
    def supported(self) -> bool:
        return self.code is Code.OK
