// State-vector circuits on a GPU, driven by tables that cuda_table.py makes of a plan.
//
// A tile is 2^k amplitudes of a state in shared memory. A qubit in the rows of a tile has a flip f
// and a mask g over GF(2): row ^ f flips it, parity(row & g) is its value; so a CX changes masks in
// the plan and moves nothing. The other qubits are bits of the tile's base. An instruction is read
// by all threads of a block, each takes some of its rows, and a barrier ends it. In the reverse
// sweep psi and lambda stand after the gate: threads add up the gate's environment while they undo
// it on both (T. Jones and J. Gacon, 2020, arXiv:2009.02823).
//
// A small state is one tile: one block does a sample's whole call, prepares and finishes it, too.
// A large one is passed over once a stage; what its blocks have added up is collected in order, so
// that equal calls give equal bits. The columns of all tables are those of the CPU engine.
typedef long long i64;
typedef unsigned long long u64;

enum Kind { TURN, LANE_TURN, WORD, PHASE, TABLE, EXCHANGE, DENSE };
enum Instruction {
  KIND, FLIP, LANES, ROWS, COUNT, SIGN, ODD, BASE_MASK, BASE_VALUE, BASE_SIGN, ENTRY, LIVE, FIRST,
  LAST, MASK, SIGNS, SIZE, OUT, COLUMNS
};
enum Factor { ABOUT_X, ABOUT_Y, ABOUT_Z, CONSTANT, COLUMN };
enum Group { GROUP_FLIP, GROUP_LANES, GROUP_ODD, GROUP_FIRST, GROUP_LAST, GROUP_FLAT, GROUP_WIDE,
             GROUP_COLUMNS };
enum Word { WORD_MASK, WORD_BASE, WORD_SIGNS, WORD_COLUMNS };
enum Projector { PROJECTOR_ROWS, PROJECTOR_COUNT, PROJECTOR_MASK, PROJECTOR_BASE, PROJECTOR_VALUE,
                 PROJECTOR_COLUMNS };
enum Pass { STAGE, FIRST_OP, LAST_OP, FIRST_GROUP, LAST_GROUP, PROJECTORS, READ_PSI, READ_LAMBDA,
            WRITE_PSI, WRITE_LAMBDA, PASS_COLUMNS };
enum Where { NOTHING, OUTER, INNER };
// The head of a table: counts, then where its parts start, then where those of the numbers start.
enum Head {
  QUBITS, TILE_BITS, SLOTS, STOP, OP_COUNT, COEFFICIENTS, ENVIRONMENTS, ATOMS, WORD_COUNT,
  OBSERVABLES, TERMS, OUTPUTS, PHASE_COUNT, PHASED, MADE_COUNT, AT_OPS, AT_ITEMS, AT_FORWARD,
  AT_REVERSE, AT_MAPS, AT_BITS, AT_GROUPS, AT_WORDS, AT_PROJECTORS, AT_LIMITS, AT_PHASES, AT_MADE,
  AT_ANGLES, AT_BY_ATOM, AT_BY_OBSERVABLE, AT_BY_TERM, AT_GATHER, AT_FIXED, AT_SHARES, AT_RATES,
  AT_WAVES, HEAD
};
// A column of the call that a function of angles makes.
enum Made { MADE_COLUMN, FIRST_WAVE, LAST_WAVE, MADE_OF, MADE_ANGLES, MADE_COLUMNS };
// A map's direction: rows before a stage, after it, and in the caller's initial state.
enum Direction { BEFORE, AFTER, INITIAL, DIRECTIONS };
// What a launch does besides passing over the tiles.
enum Flag { WHOLE = 1, BY_TERM = 2, DOT = 4, REVERSE = 8 };
// What a number of room is multiplied by on its way to an output, if not by a column.
enum Weight { HALF = -1, ONE = -2, MINUS_ONE = -3 };

static const unsigned WARPS = 16;  // of a block, at most
static const unsigned PARTS = 4;   // sums that are added up at once

template <class R> struct __align__(2 * sizeof(R)) cx { R x, y; };
// What is read from and written to global memory at a time.
template <class R> struct __align__(16) Chunk { cx<R> v[16 / sizeof(cx<R>)]; };
template <class R> __device__ __forceinline__ cx<R> mul(cx<R> a, cx<R> b) {
  return {a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x};
}
template <class R> __device__ __forceinline__ cx<R> conj_mul(cx<R> a, cx<R> b) {
  return {a.x * b.x + a.y * b.y, a.x * b.y - a.y * b.x};
}
template <class R> __device__ __forceinline__ cx<R> conj(cx<R> a) { return {a.x, -a.y}; }
__device__ __forceinline__ unsigned parity(unsigned x) { return __popc(x) & 1u; }
__device__ __forceinline__ unsigned parity64(u64 x) { return __popcll(x) & 1u; }

// What a block works with.
template <class R> struct Work {
  cx<R> *psi, *lam;   // tiles, in shared memory
  R *part;            // sums of the warps, two sets in turn, in shared memory
  cx<R> *scratch;     // a tile in global memory, for large matrices
  const i64 *t;       // the table
  const R *numbers;   // of the plan
  R *columns;         // of the call and sample
  R *room;            // of the sample: coefficients, phase, sums, factors
  R *sums;            // environments, Im<lambda|psi>, and sums of atoms, by block or in room
  u64 base;           // of the tile
  unsigned bits, turn;
  __device__ const i64 *at(unsigned part_of_table) const { return t + t[part_of_table]; }
  __device__ R *phase() const { return room + t[COEFFICIENTS]; }
  __device__ R *own_sums() const { return phase() + 2; }
  __device__ R *factors() const { return own_sums() + t[ENVIRONMENTS] + 1 + t[ATOMS]; }
};

// Where a row lies. Every second group of 128 bytes is reversed, so that also the pairs of a qubit
// within a group fall into different banks.
template <class R> __device__ __forceinline__ unsigned place(unsigned row) {
  const unsigned bit = sizeof(R) == 4 ? 4 : 3;
  return row ^ ((0u - (row >> bit & 1u)) & ((1u << bit) - 1u));
}

// The rows that satisfy an instruction's constraints parity(row & mask) == value, by number.
struct Rows {
  const i64 *items;
  unsigned count, pivot, mask, value;
  __device__ Rows(const i64 *start, i64 number) : items(start), count(number) {
    pivot = count ? items[0] : 0, mask = count ? items[1] : 0, value = count ? items[2] : 0;
  }
  __device__ __forceinline__ unsigned operator()(unsigned p) const {
    if (count < 2) {
      const unsigned row = p + (p & (0u - pivot));
      return row | (pivot & (0u - (parity(row & mask) ^ value)));
    }
    unsigned row = p;
    for (unsigned c = 0; c < 3 * count; c += 3) row += row & (0u - unsigned(items[c]));
    for (unsigned c = 0; c < 3 * count; c += 3) {
      const unsigned odd = parity(row & unsigned(items[c + 1])) ^ unsigned(items[c + 2]);
      row |= unsigned(items[c]) & (0u - odd);
    }
    return row;
  }
};

// -- sums -----------------------------------------------------------------------------------------

// Adds the sums over all threads of four values to the first ``count`` numbers of ``target``. Its
// barrier also ends an instruction. The next call uses the other half of ``part``, the one after it
// is behind another barrier.
template <class R>
__device__ __forceinline__ void add_up(Work<R> &w, R a, R b, R c, R d, unsigned count, R *target) {
  const unsigned lane = threadIdx.x & 31u;
  const bool high = lane & 16u, odd = lane & 8u;
  R first = high ? c : a, second = high ? d : b;
  first += __shfl_xor_sync(0xffffffffu, high ? a : c, 16);
  second += __shfl_xor_sync(0xffffffffu, high ? b : d, 16);
  R sum = odd ? second : first;
  sum += __shfl_xor_sync(0xffffffffu, odd ? first : second, 8);
  sum += __shfl_xor_sync(0xffffffffu, sum, 4);
  sum += __shfl_xor_sync(0xffffffffu, sum, 2);
  sum += __shfl_xor_sync(0xffffffffu, sum, 1);
  R *here = w.part + (w.turn++ & 1u) * PARTS * WARPS;
  if ((lane & 7u) == 0) here[PARTS * (threadIdx.x >> 5) + (lane >> 3)] = sum;
  __syncthreads();
  if (threadIdx.x < count) {
    R total = 0;
    for (unsigned warp = 0; warp < blockDim.x >> 5; warp++)
      total += here[PARTS * warp + threadIdx.x];
    target[threadIdx.x] += total;
  }
}

// -- tiles in and out -----------------------------------------------------------------------------

// A linear map over GF(2): tables for the low six bits and for the others.
__device__ __forceinline__ u64 image(const i64 *map, unsigned p) {
  return u64(map[p & 63u] ^ map[64 + (p >> 6)]);
}

template <class R> __device__ __forceinline__ unsigned map_size(const Work<R> &w) {
  return 64 + (w.bits > 6 ? 1u << (w.bits - 6) : 1u);
}

template <class R>
__device__ __forceinline__ const i64 *map_of(const Work<R> &w, i64 stage, Direction direction) {
  return w.at(AT_MAPS) + (stage * DIRECTIONS + direction) * 2 * map_size(w);
}

// The number of a tile, spread over the bits that are not in its rows.
template <class R>
__device__ __forceinline__ u64 base_of(const Work<R> &w, i64 stage, unsigned initial, u64 tile) {
  const unsigned outer = w.t[QUBITS] - w.bits;
  const i64 *bits = w.at(AT_BITS) + (2 * stage + initial) * outer;
  u64 base = 0;
#pragma unroll 1
  for (unsigned i = 0; i < outer; i++) base |= (tile >> i & 1ull) << bits[i];
  return base;
}

// Whether chunks can be read whole: neighbours are in one tile, and in memory.
template <class R> __device__ __forceinline__ bool is_whole(const i64 *map, const cx<R> *state) {
  return (sizeof(R) == 8 || map[1] == 1) && (u64(state) & 15u) == 0;
}

template <class R>
__device__ __forceinline__ void load(const Work<R> &w, cx<R> *tile, const cx<R> *state,
                                     const i64 *map, u64 base) {
  const i64 *rows = map + map_size(w);
  const unsigned step = 16 / sizeof(cx<R>);
  const bool whole = is_whole(map, state);
  for (unsigned p = step * threadIdx.x; p < 1u << w.bits; p += step * blockDim.x) {
    const cx<R> *from = state + (base ^ image(map, p));
    const unsigned row = image(rows, p);
    Chunk<R> chunk;
    if (whole) {
      chunk = *reinterpret_cast<const Chunk<R> *>(from);
    } else {
      chunk.v[0] = *from;
      if (step == 2) chunk.v[step - 1] = state[base ^ image(map, p + 1)];
    }
    tile[place<R>(row)] = chunk.v[0];
    if (step == 2) tile[place<R>(row ^ unsigned(rows[1]))] = chunk.v[step - 1];
  }
}

template <class R>
__device__ __forceinline__ void store(const Work<R> &w, const cx<R> *tile, cx<R> *state,
                                      const i64 *map, u64 base) {
  const i64 *rows = map + map_size(w);
  const unsigned step = 16 / sizeof(cx<R>);
  const bool whole = is_whole(map, state);
  for (unsigned p = step * threadIdx.x; p < 1u << w.bits; p += step * blockDim.x) {
    cx<R> *to = state + (base ^ image(map, p));
    const unsigned row = image(rows, p);
    Chunk<R> chunk;
    chunk.v[0] = tile[place<R>(row)];
    if (step == 2) chunk.v[step - 1] = tile[place<R>(row ^ unsigned(rows[1]))];
    if (whole) {
      *reinterpret_cast<Chunk<R> *>(to) = chunk;
    } else {
      *to = chunk.v[0];
      if (step == 2) state[base ^ image(map, p + 1)] = chunk.v[step - 1];
    }
  }
}

// Multiplies a tile by a phase, between barriers.
template <class R>
__device__ __forceinline__ void multiply_tile(const Work<R> &w, cx<R> *tile, cx<R> phase) {
  for (unsigned row = threadIdx.x; row < 1u << w.bits; row += blockDim.x)
    tile[row] = mul(phase, tile[row]);
  __syncthreads();
}

// -- coefficients, made of angles and columns -----------------------------------------------------

// Sine and cosine by S. Moshier's polynomials (Cephes library, 1989); pi/2 in three parts. Not the
// built-in ones: those keep a table for huge angles on the stack. Where neighbouring numbers are
// further apart than a radian or so, the three parts are not enough: not a number.
template <class R> __device__ __forceinline__ void sine_cosine(R x, R &sine, R &cosine) {
  const bool single = sizeof(R) == 4;
  const R k = rint(x * R(0.63661977236758134308));
  R r = fma(-k, single ? R(1.57079637050628662109375) : R(1.57079632679489661923), x);
  r = fma(-k, single ? R(-4.37113900018624283e-8) : R(6.12323399573676603587e-17), r);
  r = fma(-k, single ? R(-1.71512451633e-15) : R(-1.49738490485916983e-33), r);
  if (!(fabs(k) < (single ? R(1u << 22) : R(1ull << 51)))) r = (k - k) / (k - k);
  const R z = r * r;
  R s = fma(R(1.58962301576546568060e-10), z, R(-2.50507477628578072866e-8));
  s = fma(s, z, R(2.75573136213857245213e-6));
  s = fma(s, z, R(-1.98412698295895385996e-4));
  s = fma(s, z, R(8.33333333332211858878e-3));
  s = fma(s, z, R(-1.66666666666666307295e-1));
  s = fma(s * z, r, r);
  R c = fma(R(-1.13585365213876817300e-11), z, R(2.08757008419747316778e-9));
  c = fma(c, z, R(-2.75573141792967388112e-7));
  c = fma(c, z, R(2.48015872888517045348e-5));
  c = fma(c, z, R(-1.38888888888730564116e-3));
  c = fma(c, z, R(4.16666666666665929218e-2));
  c = fma(c * z, z, fma(R(-0.5), z, R(1)));
  const unsigned quadrant = unsigned(i64(k)) & 3u;
  sine = quadrant & 1u ? c : s;
  cosine = quadrant & 1u ? s : c;
  if (quadrant & 2u) sine = -sine;
  if ((quadrant + 1u) & 2u) cosine = -cosine;
}

template <class R> struct Quaternion { R w, x, y, z; };  // w - i (x X + y Y + z Z)

template <class R>
__device__ __forceinline__ Quaternion<R> times(Quaternion<R> p, Quaternion<R> q) {
  return {p.w * q.w - p.x * q.x - p.y * q.y - p.z * q.z,
          p.w * q.x + p.x * q.w + p.y * q.z - p.z * q.y,
          p.w * q.y + p.y * q.w + p.z * q.x - p.x * q.z,
          p.w * q.z + p.z * q.w + p.x * q.y - p.y * q.x};
}

template <class R>
__device__ __forceinline__ Quaternion<R> factor(const Work<R> &w, const R *angles, i64 kind,
                                                i64 at) {
  if (kind == CONSTANT || kind == COLUMN) {
    const R *from = (kind == CONSTANT ? w.numbers : w.columns) + at;
    return {from[0], from[1], from[2], from[3]};
  }
  R s, c;
  sine_cosine(R(0.5) * angles[at], s, c);
  return {c, kind == ABOUT_X ? s : R(0), kind == ABOUT_Y ? s : R(0), kind == ABOUT_Z ? s : R(0)};
}

// A block's product; its factors are kept behind it for the gradient.
template <class R>
__device__ void prepare_turn(const Work<R> &w, const R *angles, const i64 *op) {
  const i64 *items = w.at(AT_ITEMS);
  R *c = w.room + op[ENTRY], *keep = c + 4;
  Quaternion<R> q = {R(1), R(0), R(0), R(0)};
#pragma unroll 1
  for (i64 e = op[FIRST]; e < op[LAST]; e += 3) {
    const Quaternion<R> f = factor(w, angles, items[e], items[e + 1]);
    keep[0] = f.w, keep[1] = f.x, keep[2] = f.y, keep[3] = f.z;
    keep += 4;
    q = times(f, q);
  }
  c[0] = q.w, c[1] = -q.z, c[2] = -q.y, c[3] = -q.x;
}

// Cosine and both signs of the sine of a word, or of a phase.
template <class R>
__device__ void prepare_pair(const Work<R> &w, const R *angles, const i64 *op) {
  const i64 *source = w.at(AT_ITEMS) + op[FIRST];
  R sine, cosine, *c = w.room + op[ENTRY];
  if (source[0] == CONSTANT || source[0] == COLUMN) {
    const R *from = (source[0] == CONSTANT ? w.numbers : w.columns) + source[1];
    cosine = from[0], sine = from[1];
  } else {
    sine_cosine(R(0.5) * angles[source[1]], sine, cosine);
    if (op[KIND] == PHASE) sine = -sine;
  }
  sine *= w.numbers[w.t[AT_FIXED] + op[SIGNS]];
  c[0] = cosine, c[1] = sine, c[2] = -sine;
}

// Writes what functions make of a sample's angles t: a column is a sum of waves, each of them
// Re (x + i y) e^{i v.t}, listed as x, y, v.
template <class R> __device__ void make_columns(const Work<R> &w, const R *angles) {
  const i64 *slots = w.at(AT_ANGLES);
  const R *waves = w.numbers + w.t[AT_WAVES];
#pragma unroll 1
  for (i64 i = threadIdx.x; i < w.t[MADE_COUNT]; i += blockDim.x) {
    const i64 *made = w.at(AT_MADE) + i * MADE_COLUMNS, count = made[MADE_OF];
    R sum = 0;
#pragma unroll 1
    for (i64 n = made[FIRST_WAVE]; n < made[LAST_WAVE]; n += 2 + count) {
      cx<R> turned = {waves[n], waves[n + 1]};
#pragma unroll 1
      for (i64 k = 0; k < count; k++) {
        cx<R> phase;
        sine_cosine(waves[n + 2 + k] * angles[slots[made[MADE_ANGLES] + k]], phase.y, phase.x);
        turned = mul(turned, phase);
      }
      sum += turned.x;
    }
    w.columns[made[MADE_COLUMN]] = sum;
  }
  __syncthreads();
}

// Makes the coefficients of a sample; where its call is a reverse one also the factors of
// lambda = sum_atoms f O psi. A link is an atom, a term, an observable, and a share.
template <class R>
__device__ void prepare(const Work<R> &w, const R *angles, const R *coefficients,
                        const R *weights) {
  if (w.t[MADE_COUNT]) make_columns(w, angles);
  const i64 *ops = w.at(AT_OPS), *phases = w.at(AT_PHASES);
  for (i64 i = threadIdx.x; i < w.t[OP_COUNT]; i += blockDim.x) {
    const i64 *op = ops + i * COLUMNS;
    if (op[KIND] == TURN) prepare_turn(w, angles, op);
    if (op[KIND] == WORD || op[KIND] == PHASE) prepare_pair(w, angles, op);
  }
  if (threadIdx.x == 0) {
    const R *rates = w.numbers + w.t[AT_RATES];
    R phase = rates[0];
#pragma unroll 1
    for (i64 i = 0; i < w.t[PHASE_COUNT]; i++) phase += rates[1 + i] * angles[phases[i]];
    sine_cosine(phase, w.phase()[1], w.phase()[0]);
  }
  if (!weights) return;
  const i64 *starts = w.at(AT_BY_ATOM), *links = starts + w.t[ATOMS] + 1;
  const R *shares = w.numbers + w.t[AT_SHARES];
  for (i64 atom = threadIdx.x; atom < w.t[ATOMS]; atom += blockDim.x) {
    R f = 0;
    for (const i64 *link = links + 4 * starts[atom]; link < links + 4 * starts[atom + 1]; link += 4)
      f += R(2) * shares[link[3]] * coefficients[link[1]] * weights[link[2]];
    w.factors()[atom] = f;
  }
}
