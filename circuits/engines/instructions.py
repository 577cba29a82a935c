"""What the builders of programs and the kernels that run them agree on: columns and kinds.

Programs are arrays of integers. Both engines with kernels, on the CPU and on a GPU, read the same.
"""

from __future__ import annotations

TURN, LANE_TURN, WORD, PHASE, TABLE, EXCHANGE, DENSE, RUN, MEMBER = range(9)
"""Kinds of instruction: a block in SU(2) on a qubit in the rows or the lanes; a rotation about a
Pauli word that flips something; phases by the parity of a mask; a diagonal by a table; exchange of
basis states; a matrix; many phases in one pass; a phase that only a run reads."""

KIND, FLIP, LANES, ROWS, COUNT, SIGN, ODD = range(7)
BASE_MASK, BASE_VALUE, BASE_SIGN, ENTRY, LIVE, FIRST, LAST, MASK, SIGNS, SIZE, OUT, COLUMNS = range(
    7, 19
)
"""Columns of an instruction.

FLIP, LANES: flips of rows and lanes (LANE_TURN: of its qubit); ROWS, COUNT: its constraints in
``items``; SIGN: row mask whose parity is a sign; ODD: the word's power of i is odd; BASE_...: what
the tile's base must hold under a mask, and a mask whose parity is a sign; ENTRY: its first
coefficient; LIVE: its first environment, or -1 for none; FIRST, LAST: its items; MASK: lanes that
it acts on; SIGNS: the same with the word's sign (EXCHANGE: lanes of the second row); SIZE: rows of
its table or matrix (EXCHANGE: 1 if it acts on all lanes; turns: 1 if the reverse sweep only looks,
as nothing before them needs them undone; words: BEFORE or BEHIND where two share a pass); OUT: its
first column of results (words BEHIND another: the constraints of both). Positions of vectors are
counted in vectors.
"""

ALONE, BEHIND, BEFORE = range(3)
"""Words: by itself; in one pass with the instruction before it, done there; with the one behind."""

ABOUT_X, ABOUT_Y, ABOUT_Z, CONSTANT, COLUMN = range(5)
"""Kinds of factor: a rotation by an angle of the call, numbers of the plan, columns of the call."""

GROUP_FLIP, GROUP_LANES, GROUP_ODD, GROUP_FIRST, GROUP_LAST, GROUP_FLAT, GROUP_WIDE = range(7)
"""Columns of a group: its flips, whether i stands in front, its words; whether no word has a sign
that depends on the row; whether one has a sign that depends on rows beyond a block or the base."""

WORD_MASK, WORD_BASE, WORD_SIGNS = range(3)
"""Columns of a word: the masks of rows and of the base whose parity is its sign, and the vector of
its signs by lane in ``fixed``."""

PROJECTOR_ROWS, PROJECTOR_COUNT, PROJECTOR_MASK, PROJECTOR_BASE, PROJECTOR_VALUE = range(5)
"""Columns of a projector: constraints, lanes, and what the base must hold under a mask."""

STAGE, FIRST_OP, LAST_OP, FIRST_GROUP, LAST_GROUP, PROJECTORS = range(6)
READ_PSI, READ_LAMBDA, WRITE_PSI, WRITE_LAMBDA, PASS_COLUMNS = range(6, 11)
"""Columns of a pass over the state: whose tiles; instructions; groups of words, and whether the
projectors, that are measured or start lambda on the tiles; what is read and written."""

NOTHING, OUTER, INNER = range(3)
"""What a pass reads or writes: nothing; the arrays of the caller; the state between the passes."""
