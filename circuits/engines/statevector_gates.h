// Instructions of statevector.cu, each on one tile, all threads of a block together.

// -- instructions, forward and (BACK) undone with environments ------------------------------------

// A block in SU(2), [[A, B], [-B*, A*]]; environments Im<lambda|sigma|psi>.
template <class R> __device__ __forceinline__ void turn(cx<R> A, cx<R> B, cx<R> &a, cx<R> &b) {
  const cx<R> c = mul(A, a), d = mul(B, b), e = conj_mul(B, a), f = conj_mul(A, b);
  a = {c.x + d.x, c.y + d.y};
  b = {f.x - e.x, f.y - e.y};
}

template <class R, bool BACK> __device__ __forceinline__ void turn(Work<R> &w, const i64 *op) {
  const Rows rows(w.at(AT_ITEMS) + op[ROWS], op[COUNT]);
  const unsigned flip = op[FLIP];
  const R *c = w.room + op[ENTRY], sign = BACK ? -1 : 1;
  const cx<R> A = {c[0], sign * c[1]}, B = {sign * c[2], sign * c[3]};
  R ex = 0, ey = 0, ez = 0;
#pragma unroll 1
  for (unsigned p = threadIdx.x; p < 1u << (w.bits - rows.count); p += blockDim.x) {
    const unsigned row = rows(p), i = place<R>(row), j = place<R>(row ^ flip);
    cx<R> a = w.psi[i], b = w.psi[j];
    if (BACK) {
      cx<R> l = w.lam[i], m = w.lam[j];
      const cx<R> la = conj_mul(l, a), lb = conj_mul(l, b);
      const cx<R> ma = conj_mul(m, a), mb = conj_mul(m, b);
      ex += lb.y + ma.y;
      ey += ma.x - lb.x;
      ez += la.y - mb.y;
      turn(A, B, l, m);
      w.lam[i] = l, w.lam[j] = m;
    }
    turn(A, B, a, b);
    w.psi[i] = a, w.psi[j] = b;
  }
  if (BACK && op[LIVE] >= 0) {
    add_up(w, ex, ey, ez, R(0), 3, w.sums + op[LIVE]);
  } else {
    __syncthreads();
  }
}

// A rotation about a word: cos psi[j] + (-i or 1) W(j) psi[j ^ flip], W = +-sin.
template <class R>
__device__ __forceinline__ cx<R> rotated(R cosine, R sine, bool odd, cx<R> a, cx<R> other) {
  if (odd) return {cosine * a.x + sine * other.x, cosine * a.y + sine * other.y};
  return {cosine * a.x + sine * other.y, cosine * a.y - sine * other.x};
}

// Im<lambda|P psi> of a row of lambda and its partner, without the sign.
template <class R> __device__ __forceinline__ R word_term(bool odd, cx<R> l, cx<R> other) {
  const cx<R> product = conj_mul(l, other);
  return odd ? product.x : product.y;
}

template <class R, bool BACK> __device__ __forceinline__ void word(Work<R> &w, const i64 *op) {
  const Rows rows(w.at(AT_ITEMS) + op[ROWS], op[COUNT]);
  const unsigned flip = op[FLIP], mask = op[SIGN], other = parity(flip & mask);
  const unsigned start = parity64(w.base & u64(op[BASE_SIGN]));
  const bool odd = op[ODD];
  const R *c = w.room + op[ENTRY], cosine = c[0], sine = BACK ? c[2] : c[1];
  R sum = 0;
#pragma unroll 1
  for (unsigned p = threadIdx.x; p < 1u << (w.bits - rows.count); p += blockDim.x) {
    const unsigned row = rows(p), i = place<R>(row), j = place<R>(row ^ flip);
    const unsigned negative = parity(row & mask) ^ start;
    const R s = negative ? -sine : sine, z = negative ^ other ? -sine : sine;
    const cx<R> a = w.psi[i], b = w.psi[j];
    w.psi[i] = rotated(cosine, s, odd, a, b), w.psi[j] = rotated(cosine, z, odd, b, a);
    if (BACK) {
      const cx<R> l = w.lam[i], m = w.lam[j];
      const R d = word_term(odd, l, b), f = word_term(odd, m, a), both = other ? d - f : d + f;
      sum += negative ? -both : both;
      w.lam[i] = rotated(cosine, s, odd, l, m), w.lam[j] = rotated(cosine, z, odd, m, l);
    }
  }
  if (BACK && op[LIVE] >= 0) {
    sum *= w.numbers[w.t[AT_FIXED] + op[SIGNS]];
    add_up(w, sum, R(0), R(0), R(0), 1, w.sums + op[LIVE]);
  } else {
    __syncthreads();
  }
}

// One of two phases, by the parity of a mask; the environment is the signed sum of Im(lambda* psi).
template <class R, bool BACK> __device__ __forceinline__ void phase(Work<R> &w, const i64 *op) {
  const Rows rows(w.at(AT_ITEMS) + op[ROWS], op[COUNT]);
  const unsigned mask = op[SIGN], start = parity64(w.base & u64(op[BASE_SIGN]));
  const R *c = w.room + op[ENTRY], cosine = c[0], sine = BACK ? c[2] : c[1];
  R sum = 0;
#pragma unroll 1
  for (unsigned p = threadIdx.x; p < 1u << (w.bits - rows.count); p += blockDim.x) {
    const unsigned row = rows(p), i = place<R>(row), negative = parity(row & mask) ^ start;
    const cx<R> turned = {cosine, negative ? -sine : sine}, a = w.psi[i];
    w.psi[i] = mul(turned, a);
    if (BACK) {
      const cx<R> l = w.lam[i];
      const R d = conj_mul(l, a).y;
      sum += negative ? -d : d;
      w.lam[i] = mul(turned, l);
    }
  }
  if (BACK && op[LIVE] >= 0) {
    add_up(w, sum, R(0), R(0), R(0), 1, w.sums + op[LIVE]);
  } else {
    __syncthreads();
  }
}

// Entries of a diagonal or a matrix: numbers of the plan, or columns of the call.
template <class R>
__device__ __forceinline__ const cx<R> *entries(const Work<R> &w, const i64 *source) {
  return reinterpret_cast<const cx<R> *>((source[0] == CONSTANT ? w.numbers : w.columns) +
                                         source[1]);
}

template <class R, bool BACK>
__device__ __forceinline__ void multiply_table(const Work<R> &w, const i64 *op, cx<R> *tile) {
  const i64 *items = w.at(AT_ITEMS), *first = items + op[FIRST], *last = items + op[LAST];
  const Rows rows(items + op[ROWS], op[COUNT]);
  const cx<R> *table = entries(w, last);
#pragma unroll 1
  for (unsigned p = threadIdx.x; p < 1u << (w.bits - rows.count); p += blockDim.x) {
    const unsigned row = rows(p);
    unsigned index = 0;
#pragma unroll 1
    for (const i64 *at = last - 2; at >= first; at -= 2)
      index = 2 * index + (parity(row & unsigned(at[0])) ^ parity64(w.base & u64(at[1])));
    const cx<R> entry = table[index];
    tile[place<R>(row)] = mul(BACK ? conj(entry) : entry, tile[place<R>(row)]);
  }
}

// Sums of conj(lambda) psi for the entries of a diagonal. From item FLIP on stand: constraints of
// the rows whose targets in the tile are 0, and for every entry that these spell flip and index.
template <class R> __device__ void table_environment(Work<R> &w, const i64 *op) {
  const i64 *items = w.at(AT_ITEMS), *more = items + op[FLIP];
  const Rows rows(more + 2, more[0]);
  const i64 *members = more + 2 + 3 * more[0];
  unsigned outer = 0, bit = 1;
  for (i64 at = op[FIRST]; at < op[LAST]; at += 2, bit *= 2)
    if (items[at + 1] && parity64(w.base & u64(items[at + 1]))) outer |= bit;
  for (i64 j = 0; j < more[1]; j++) {
    const unsigned flip = members[2 * j];
    R re = 0, im = 0;
#pragma unroll 1
    for (unsigned p = threadIdx.x; p < 1u << (w.bits - rows.count); p += blockDim.x) {
      const unsigned i = place<R>(rows(p) ^ flip);
      const cx<R> d = conj_mul(w.lam[i], w.psi[i]);
      re += d.x, im += d.y;
    }
    R *target = w.sums + op[LIVE] + 2 * (members[2 * j + 1] | outer);
    add_up(w, re, im, R(0), R(0), 2, target);
  }
}

template <class R, bool BACK> __device__ __forceinline__ void table(Work<R> &w, const i64 *op) {
  multiply_table<R, BACK>(w, op, w.psi);
  if (BACK && op[LIVE] >= 0) {
    __syncthreads();
    table_environment(w, op);
  }
  if (BACK) multiply_table<R, BACK>(w, op, w.lam);
  __syncthreads();
}

template <class R> __device__ __forceinline__ void swap(cx<R> *tile, unsigned i, unsigned j) {
  const cx<R> a = tile[i];
  tile[i] = tile[j], tile[j] = a;
}

// Exchanges two basis states of the targets.
template <class R, bool BACK> __device__ __forceinline__ void exchange(Work<R> &w, const i64 *op) {
  const Rows rows(w.at(AT_ITEMS) + op[ROWS], op[COUNT]);
  const unsigned flip = op[FLIP];
#pragma unroll 1
  for (unsigned p = threadIdx.x; p < 1u << (w.bits - rows.count); p += blockDim.x) {
    const unsigned row = rows(p), i = place<R>(row), j = place<R>(row ^ flip);
    swap(w.psi, i, j);
    if (BACK) swap(w.lam, i, j);
  }
  __syncthreads();
}

// A matrix of D rows, or its adjoint; every thread holds the amplitudes of some columns of rows.
template <class R, bool BACK, unsigned D>
__device__ __forceinline__ void multiply_few(const Work<R> &w, const i64 *op, cx<R> *tile) {
  const i64 *items = w.at(AT_ITEMS), *members = items + op[FIRST];
  const Rows rows(items + op[ROWS], op[COUNT]);
  const cx<R> *matrix = entries(w, items + op[LAST]);
#pragma unroll 1
  for (unsigned p = threadIdx.x; p < 1u << (w.bits - rows.count); p += blockDim.x) {
    const unsigned row = rows(p);
    cx<R> a[D];
#pragma unroll
    for (unsigned j = 0; j < D; j++) a[j] = tile[place<R>(row ^ unsigned(members[j]))];
#pragma unroll 1
    for (unsigned i = 0; i < D; i++) {
      cx<R> sum = {R(0), R(0)};
#pragma unroll
      for (unsigned j = 0; j < D; j++) {
        const cx<R> d = BACK ? conj_mul(matrix[j * D + i], a[j]) : mul(matrix[i * D + j], a[j]);
        sum.x += d.x, sum.y += d.y;
      }
      tile[place<R>(row ^ unsigned(members[i]))] = sum;
    }
  }
}

// The same for any size: every thread makes some amplitudes, which wait in global memory.
template <class R, bool BACK>
__device__ void multiply_many(const Work<R> &w, const i64 *op, cx<R> *tile) {
  const i64 *items = w.at(AT_ITEMS), *members = items + op[FIRST];
  const Rows rows(items + op[ROWS], op[COUNT]);
  const cx<R> *matrix = entries(w, items + op[LAST]);
  const unsigned size = op[SIZE], total = (1u << (w.bits - rows.count)) * size;
#pragma unroll 1
  for (unsigned at = threadIdx.x; at < total; at += blockDim.x) {
    const unsigned row = rows(at / size), i = at % size;
    cx<R> sum = {R(0), R(0)};
#pragma unroll 1
    for (unsigned j = 0; j < size; j++) {
      const cx<R> a = tile[place<R>(row ^ unsigned(members[j]))];
      const cx<R> d = BACK ? conj_mul(matrix[j * size + i], a) : mul(matrix[i * size + j], a);
      sum.x += d.x, sum.y += d.y;
    }
    w.scratch[at] = sum;
  }
  __syncthreads();
#pragma unroll 1
  for (unsigned at = threadIdx.x; at < total; at += blockDim.x)
    tile[place<R>(rows(at / size) ^ unsigned(members[at % size]))] = w.scratch[at];
}

template <class R, bool BACK>
__device__ __forceinline__ void multiply(const Work<R> &w, const i64 *op, cx<R> *tile) {
  if (op[SIZE] == 1) {
    multiply_few<R, BACK, 1>(w, op, tile);
  } else if (op[SIZE] == 2) {
    multiply_few<R, BACK, 2>(w, op, tile);
  } else if (op[SIZE] == 4) {
    multiply_few<R, BACK, 4>(w, op, tile);
  } else {
    multiply_many<R, BACK>(w, op, tile);
  }
  __syncthreads();
}

// E_ij = sum of conj(lambda_i) psi_j, with psi before and lambda after the matrix; two at a time.
template <class R> __device__ void matrix_environment(Work<R> &w, const i64 *op) {
  const i64 *items = w.at(AT_ITEMS), *members = items + op[FIRST];
  const Rows rows(items + op[ROWS], op[COUNT]);
  const unsigned size = op[SIZE];
  for (unsigned at = 0; at < size * size; at += 2) {
    const unsigned i = members[at / size], j = members[at % size];
    const unsigned k = size > 1 ? unsigned(members[at % size + 1]) : j;  // no targets: one entry
    cx<R> e = {R(0), R(0)}, f = e;
#pragma unroll 1
    for (unsigned p = threadIdx.x; p < 1u << (w.bits - rows.count); p += blockDim.x) {
      const unsigned row = rows(p);
      const cx<R> l = w.lam[place<R>(row ^ i)];
      const cx<R> d = conj_mul(l, w.psi[place<R>(row ^ j)]);
      const cx<R> g = conj_mul(l, w.psi[place<R>(row ^ k)]);
      e.x += d.x, e.y += d.y, f.x += g.x, f.y += g.y;
    }
    add_up(w, e.x, e.y, f.x, f.y, size > 1 ? 4 : 2, w.sums + op[LIVE] + 2 * at);
  }
}

template <class R, bool BACK> __device__ __forceinline__ void dense(Work<R> &w, const i64 *op) {
  multiply<R, BACK>(w, op, w.psi);
  if (BACK && op[LIVE] >= 0) matrix_environment(w, op);
  if (BACK) multiply<R, BACK>(w, op, w.lam);
}

// Applies the instructions from ``first`` to before ``last``, or undoes them, last one first.
template <class R, bool BACK>
__device__ __forceinline__ void run(Work<R> &w, i64 first, i64 last) {
  for (i64 n = first; n < last; n++) {
    const i64 *op = w.at(AT_OPS) + (BACK ? first + last - 1 - n : n) * COLUMNS;
    if ((w.base & u64(op[BASE_MASK])) != u64(op[BASE_VALUE])) continue;
    switch (op[KIND]) {
      case TURN: turn<R, BACK>(w, op); break;
      case WORD: word<R, BACK>(w, op); break;
      case PHASE: phase<R, BACK>(w, op); break;
      case TABLE: table<R, BACK>(w, op); break;
      case EXCHANGE: exchange<R, BACK>(w, op); break;
      default: dense<R, BACK>(w, op);
    }
  }
}
