"""The words that a claim may be made of beside names, numbers and the words of its own evidence."""

LICENSED = frozenset(
    """
    a an the of to with in on at for from by is are was were be been and or has have had hold holds held this these
    that there which who whom under as s through until over within during across respectively its their we our also
    just received receives receive went go goes made won wins got found find shows show showing shown lists listed
    include includes including result results evidence row rows falls fall worth valued value reads read says said
    stands stand come comes run runs belong belongs compete competes totals total totaling amount amounts amounting
    award awards contract contracts response responses notice page number numbered no ranks rank ranked place placed
    window months month years year days day date dated account awarded agency office company vendor vendors firm named
    called known counts bench staff people scope according data usd dollars us dollar about roughly approximately around
    """.split()
)
"""Function words and verbs that claim nothing by themselves."""

FORBIDDEN = frozenset(
    """
    fit fits match matches matched score scores scored scoring recommend recommends recommended recommendation should
    ideal ideally best better worst good suitable suited likely unlikely will would could might may expect expects
    expected expectation odds pwin probability probably forecast predicts prediction because caused causes cause
    thanks dominate dominates dominated dominant dominance strong stronger strongest weak weaker weakest leading
    leader lead leads grow grows grew growing growth increase increases increased increasing decrease decreases
    decreased decreasing rising rise rose fell dropped drop drops shrank climbed jumped falling decline declines
    declined trend trends trending advantage advantages outperform outperforms momentum prefer preferred risky safe
    attractive competitive clearly obviously
    """.split()
)
"""Judgement, forecast and cause: never a fact of a row, whatever a row says."""
FORBIDDEN_PHRASES = (("due", "to"), ("led", "to"), ("on", "track"), ("as", "a", "result", "of"))

VAGUE = frozenset(
    """
    most many several few handful majority minority dozens numerous some various multiple nearly almost virtually
    plenty lots hundreds thousands countless mostly largely mainly often usually generally significant significantly
    substantial considerable sizable
    """.split()
)

NEGATIONS = frozenset("no not none never neither nor without nobody nothing cannot lacks lack lacking".split())
OPERATORS = frozenset(
    """
    than every all except before after excluding besides beyond only other more less fewer another else per each both
    last next past
    """.split()
)
"""Words that change what a claim says: one that no rule has read leaves the sentence unparsed."""

VERBS = frozenset(
    """
    is are was were has have had hold holds held received receives receive went go goes made won wins got find found
    includes include worth valued awarded obligated come comes run runs belong belongs totals amounts ranks ranked
    ends end expires expire by subawarded compete competes stands falls fall starts started
    """.split()
)
"""What makes a claim of what stands before it."""
EVENTS = frozenset("awarded received receives receive won wins got made obligated went signed found".split())
"""Verbs that date something: the day must be one of a column that is called so."""
DATE_PREPOSITIONS = frozenset("until through since from by to before after within over under during for".split())
"""Before a date they say more than that the date is the cell's."""
FALLS = frozenset("falls fall fell".split())
COUNTABLE = frozenset(
    """
    award awards contract contracts order orders vendor vendors firm firms company companies agency agencies office
    offices offer offers people staff person persons response responses notice notices row rows subcontractor
    subcontractors subaward subawards partner partners requirement requirements
    """.split()
)
"""What a number before it counts."""

LARGEST = frozenset("largest highest biggest greatest top maximum".split())
SMALLEST = frozenset("smallest lowest least minimum".split())
GREATER = frozenset("larger greater bigger higher more".split())
LESS = frozenset("smaller less lower fewer".split())
TOTAL = frozenset("total totals totaling totalling combined sum sums altogether together".split())
DERIVED = frozenset(
    """
    average averages averaging mean median ratio difference double doubled triple half quarter third percentage points
    rate growth change twice times
    """.split()
)
"""Arithmetic that is never done here, right or not (twice and times are read by the comparison)."""

LEGAL_SUFFIXES = frozenset("llc inc incorporated corp corporation co company ltd limited lp llp plc pllc".split())
