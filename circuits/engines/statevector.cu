// What statevector_tiles.h describes: observables, results, and the kernels. Both .h files stand in
// front of this one.

// -- observables ----------------------------------------------------------------------------------

// The sign of a word that a tile's base gives.
template <class R>
__device__ __forceinline__ unsigned base_sign(const Work<R> &w, const i64 *word) {
  return parity64(w.base & u64(word[WORD_BASE]));
}

// Adds the tile's sums of some groups of words, and of the projectors, to those of the block. A
// word acts as (P psi)[j] = (1 or i) s(j) psi[j ^ flip]; a group's share flip and power of i.
template <class R> __device__ void measure(Work<R> &w, const i64 *pass) {
  const i64 *words = w.at(AT_WORDS), *projectors = w.at(AT_PROJECTORS);
  R *sums = w.sums + w.t[ENVIRONMENTS] + 1;
  for (i64 g = pass[FIRST_GROUP]; g < pass[LAST_GROUP]; g++) {
    const i64 *group = w.at(AT_GROUPS) + g * GROUP_COLUMNS;
    const unsigned flip = group[GROUP_FLIP];
    const bool odd = group[GROUP_ODD];
    for (i64 t = group[GROUP_FIRST]; t < group[GROUP_LAST]; t += PARTS) {
      const i64 left = group[GROUP_LAST] - t;
      unsigned mask[PARTS], start[PARTS];
      R sum[PARTS];
#pragma unroll
      for (unsigned n = 0; n < PARTS; n++) {
        const i64 *word = words + (n < left ? t + n : t) * WORD_COLUMNS;
        mask[n] = word[WORD_MASK], start[n] = base_sign(w, word), sum[n] = 0;
      }
#pragma unroll 1
      for (unsigned row = threadIdx.x; row < 1u << w.bits; row += blockDim.x) {
        const cx<R> d = conj_mul(w.psi[place<R>(row)], w.psi[place<R>(row ^ flip)]);
        const R value = odd ? -d.y : d.x;
#pragma unroll
        for (unsigned n = 0; n < PARTS; n++)
          sum[n] += parity(row & mask[n]) ^ start[n] ? -value : value;
      }
      add_up(w, sum[0], sum[1], sum[2], sum[3], left < PARTS ? left : PARTS, sums + t);
    }
  }
  if (!pass[PROJECTORS]) return;
  for (i64 t = 0; t < w.t[ATOMS] - w.t[WORD_COUNT]; t++) {
    const i64 *projector = projectors + t * PROJECTOR_COLUMNS;
    if ((w.base & u64(projector[PROJECTOR_BASE])) != u64(projector[PROJECTOR_VALUE])) continue;
    const Rows rows(w.at(AT_LIMITS) + projector[PROJECTOR_ROWS], projector[PROJECTOR_COUNT]);
    R sum = 0;
    for (unsigned p = threadIdx.x; p < 1u << (w.bits - rows.count); p += blockDim.x) {
      const cx<R> a = w.psi[place<R>(rows(p))];
      sum += a.x * a.x + a.y * a.y;
    }
    add_up(w, sum, R(0), R(0), R(0), 1, sums + w.t[WORD_COUNT] + t);
  }
}

// Adds sum_atoms f O psi to lambda, for the atoms that ``measure`` would measure.
template <class R> __device__ void start_lambda(Work<R> &w, const i64 *pass) {
  const i64 *words = w.at(AT_WORDS), *projectors = w.at(AT_PROJECTORS);
  const R *factors = w.factors();
  for (i64 g = pass[FIRST_GROUP]; g < pass[LAST_GROUP]; g++) {
    const i64 *group = w.at(AT_GROUPS) + g * GROUP_COLUMNS;
    const unsigned flip = group[GROUP_FLIP];
#pragma unroll 1
    for (unsigned row = threadIdx.x; row < 1u << w.bits; row += blockDim.x) {
      R f = 0;
      for (i64 t = group[GROUP_FIRST]; t < group[GROUP_LAST]; t++) {
        const i64 *word = words + t * WORD_COLUMNS;
        const unsigned negative = parity(row & unsigned(word[WORD_MASK])) ^ base_sign(w, word);
        f += negative ? -factors[t] : factors[t];
      }
      const cx<R> a = w.psi[place<R>(row ^ flip)];
      cx<R> &l = w.lam[place<R>(row)];
      const cx<R> turned = group[GROUP_ODD] ? cx<R>{-a.y, a.x} : a;
      l = {l.x + f * turned.x, l.y + f * turned.y};
    }
  }
  for (i64 t = 0; pass[PROJECTORS] && t < w.t[ATOMS] - w.t[WORD_COUNT]; t++) {
    const i64 *projector = projectors + t * PROJECTOR_COLUMNS;
    if ((w.base & u64(projector[PROJECTOR_BASE])) != u64(projector[PROJECTOR_VALUE])) continue;
    const Rows rows(w.at(AT_LIMITS) + projector[PROJECTOR_ROWS], projector[PROJECTOR_COUNT]);
    const R f = factors[w.t[WORD_COUNT] + t];
    __syncthreads();
    for (unsigned p = threadIdx.x; p < 1u << (w.bits - rows.count); p += blockDim.x) {
      const unsigned i = place<R>(rows(p));
      w.lam[i].x += f * w.psi[i].x, w.lam[i].y += f * w.psi[i].y;
    }
  }
  __syncthreads();
}

// -- results --------------------------------------------------------------------------------------

// Values of observables: what their links' atoms have, times coefficients.
template <class R>
__device__ void store_values(Work<R> &w, const R *coefficients, R *values) {
  const i64 *starts = w.at(AT_BY_OBSERVABLE), *links = starts + w.t[OBSERVABLES] + 1;
  const R *shares = w.numbers + w.t[AT_SHARES], *sums = w.own_sums() + w.t[ENVIRONMENTS] + 1;
  for (i64 k = 0; k < w.t[OBSERVABLES]; k++) {
    R sum = 0;
#pragma unroll 1
    for (i64 n = starts[k] + threadIdx.x; n < starts[k + 1]; n += blockDim.x) {
      const i64 *link = links + 4 * n;
      sum += coefficients[link[1]] * shares[link[3]] * sums[link[0]];
    }
    if (threadIdx.x == 0) values[k] = 0;
    add_up(w, sum, R(0), R(0), R(0), 1, values + k);
  }
}

// The environment of a block, turned back to stand right after each of its factors, in their place.
template <class R> __device__ void finish_turn(const Work<R> &w, const i64 *op) {
  const R *e = w.own_sums() + op[LIVE];
  R x = e[0], y = e[1], z = e[2];
  const i64 count = (op[LAST] - op[FIRST]) / 3;
  for (R *at = w.room + op[ENTRY] + 4 * count; at > w.room + op[ENTRY]; at -= 4) {
    const R c = at[0], u = at[1], v = at[2], s = at[3];
    at[0] = x, at[1] = y, at[2] = z;
    // By the inverse of the quaternion (c, q): e + c t + t x q, t = 2 e x q.
    const R i = R(2) * (y * s - z * v), j = R(2) * (z * u - x * s), k = R(2) * (x * v - y * u);
    x += c * i + j * s - k * v;
    y += c * j + k * u - i * s;
    z += c * k + i * v - j * u;
  }
}

// Gradients of angles and of given matrices: every output is a weighted sum of numbers of room.
template <class R> __device__ void finish(Work<R> &w, const R *weights, R *outputs, R *by_term) {
  const i64 *ops = w.at(AT_OPS);
  for (i64 i = w.t[STOP] + threadIdx.x; i < w.t[OP_COUNT]; i += blockDim.x)
    if (ops[i * COLUMNS + KIND] == TURN && ops[i * COLUMNS + LIVE] >= 0)
      finish_turn(w, ops + i * COLUMNS);
  __syncthreads();
  const i64 *starts = w.at(AT_GATHER), *parts = starts + w.t[OUTPUTS] + 1;
  for (i64 o = threadIdx.x; o < w.t[OUTPUTS]; o += blockDim.x) {
    R sum = 0;
    for (const i64 *part = parts + 2 * starts[o]; part < parts + 2 * starts[o + 1]; part += 2) {
      const R number = w.room[part[0]];
      sum += part[1] == HALF ? R(0.5) * number : part[1] == ONE ? number
             : part[1] == MINUS_ONE ? -number : w.columns[part[1]] * number;
    }
    outputs[o] = sum;
  }
  if (!by_term) return;
  const i64 *first = w.at(AT_BY_TERM), *links = first + w.t[TERMS] + 1;
  const R *shares = w.numbers + w.t[AT_SHARES], *sums = w.own_sums() + w.t[ENVIRONMENTS] + 1;
  for (i64 t = threadIdx.x; t < w.t[TERMS]; t += blockDim.x) {
    R sum = 0;
    for (const i64 *link = links + 4 * first[t]; link < links + 4 * first[t + 1]; link += 4)
      sum += weights[link[2]] * shares[link[3]] * sums[link[0]];
    by_term[t] = sum;
  }
}

// -- kernels --------------------------------------------------------------------------------------

// Numbers of room that a sample has: coefficients, phase, sums, factors.
__device__ __forceinline__ u64 sums_size(const i64 *t) { return t[ENVIRONMENTS] + 1 + t[ATOMS]; }
__device__ __forceinline__ u64 room_size(const i64 *t) {
  return t[COEFFICIENTS] + 2 + sums_size(t) + t[ATOMS];
}

template <class R>
__device__ __forceinline__ Work<R> work_of(const i64 *t, const R *numbers, cx<R> *scratch) {
  extern __shared__ __align__(16) unsigned char memory[];
  Work<R> w;
  w.t = t, w.numbers = numbers, w.turn = 0, w.bits = t[TILE_BITS], w.base = 0;
  w.part = reinterpret_cast<R *>(memory);
  w.psi = reinterpret_cast<cx<R> *>(w.part + 2 * PARTS * WARPS), w.lam = w.psi + (1u << w.bits);
  w.scratch = scratch ? scratch + (u64(blockIdx.x) << w.bits) : nullptr;
  return w;
}

template <class R> __device__ void clear(R *numbers, u64 count) {
  for (u64 i = threadIdx.x; i < count; i += blockDim.x) numbers[i] = 0;
}

// What a launch reads of a sample: samples take the rows of an operand in turn.
template <class T>
__device__ __forceinline__ T *row_of(T *rows, u64 count, i64 width, u64 sample) {
  return rows + sample % count * width;
}

// One block a sample: what the passes of a call read.
template <class R>
__global__ void __launch_bounds__(256, sizeof(R) == 4 ? 3 : 2)
    prepare_samples(const i64 *table, const R *numbers, unsigned flags, const R *angles,
                    u64 angle_rows, R *columns, u64 column_rows, u64 column_width,
                    const R *coefficients, u64 coefficient_rows, const R *weights, R *room) {
  const u64 sample = blockIdx.x;
  Work<R> w = work_of<R>(table, numbers, nullptr);
  w.room = room + sample * room_size(table);
  w.columns = row_of(columns, column_rows, column_width, sample);
  prepare(w, row_of(angles, angle_rows, table[SLOTS], sample),
          row_of(coefficients, coefficient_rows, table[TERMS], sample),
          flags & REVERSE ? weights + sample * table[OBSERVABLES] : nullptr);
}

// A pass over states, several blocks a sample or (WHOLE) one that does all of it. Later passes read
// what the one before has written to ``final``; tiles do not overlap.
template <class R>
__global__ void __launch_bounds__(256, sizeof(R) == 4 ? 3 : 2)
    forward(const i64 *table, const R *numbers, unsigned flags, u64 number, u64 batch, u64 blocks,
            const R *angles, u64 angle_rows, R *columns, u64 column_rows, u64 column_width,
            const R *coefficients, u64 coefficient_rows, const cx<R> *states, u64 state_rows,
            cx<R> *final, R *values, R *room, R *partial, cx<R> *scratch) {
  Work<R> w = work_of<R>(table, numbers, scratch);
  const i64 *pass = table + table[AT_FORWARD] + number * PASS_COLUMNS, stage = pass[STAGE];
  const u64 size = 1ull << table[QUBITS], tiles = size >> w.bits;
  for (u64 unit = blockIdx.x; unit < batch * blocks; unit += gridDim.x) {
    const u64 sample = unit / blocks;
    const R *c = row_of(coefficients, coefficient_rows, table[TERMS], sample);
    w.room = room + (flags & WHOLE ? blockIdx.x : sample) * room_size(table);
    w.sums = flags & WHOLE ? w.own_sums() : partial + unit * sums_size(table);
    w.columns = row_of(columns, column_rows, column_width, sample);
    if (flags & WHOLE) {
      clear(w.sums, sums_size(table));
      prepare<R>(w, row_of(angles, angle_rows, table[SLOTS], sample), c, nullptr);
    }
    for (u64 tile = unit % blocks; tile < tiles; tile += blocks) {
      const bool first = pass[READ_PSI] == OUTER;
      w.base = base_of(w, stage, 0, tile);
      load(w, w.psi, row_of(states, state_rows, size, sample),
           map_of(w, stage, first ? INITIAL : BEFORE),
           first ? base_of(w, stage, 1, tile) : w.base);
      __syncthreads();
      if (first && table[PHASED]) multiply_tile(w, w.psi, {w.phase()[0], w.phase()[1]});
      run<R, false>(w, pass[FIRST_OP], pass[LAST_OP]);
      measure(w, pass);
      if (pass[WRITE_PSI]) store(w, w.psi, final + sample * size, map_of(w, stage, AFTER), w.base);
      __syncthreads();
    }
    if (flags & WHOLE) {
      store_values(w, c, values + sample * table[OBSERVABLES]);
      __syncthreads();
    }
  }
}

// A pass of the adjoint sweep, from psi and lambda (0 if it has no rows) to new ones, as far as the
// pass writes these.
template <class R>
__global__ void __launch_bounds__(256, sizeof(R) == 4 ? 3 : 2)
    reverse(const i64 *table, const R *numbers, unsigned flags, u64 number, u64 batch, u64 blocks,
            const R *angles, u64 angle_rows, R *columns, u64 column_rows, u64 column_width,
            const R *coefficients, u64 coefficient_rows, const R *weights, const cx<R> *psi,
            u64 psi_rows, const cx<R> *lambda, u64 lambda_rows, cx<R> *new_psi, cx<R> *new_lambda,
            R *outputs, R *by_term, R *room, R *partial, cx<R> *scratch) {
  Work<R> w = work_of<R>(table, numbers, scratch);
  const i64 *pass = table + table[AT_REVERSE] + number * PASS_COLUMNS, stage = pass[STAGE];
  const u64 size = 1ull << table[QUBITS], tiles = size >> w.bits;
  for (u64 unit = blockIdx.x; unit < batch * blocks; unit += gridDim.x) {
    const u64 sample = unit / blocks, start = sample * size;
    w.room = room + (flags & WHOLE ? blockIdx.x : sample) * room_size(table);
    w.sums = flags & WHOLE ? w.own_sums() : partial + unit * sums_size(table);
    w.columns = row_of(columns, column_rows, column_width, sample);
    if (flags & WHOLE) {
      clear(w.sums, sums_size(table));
      prepare(w, row_of(angles, angle_rows, table[SLOTS], sample),
              row_of(coefficients, coefficient_rows, table[TERMS], sample),
              weights + sample * table[OBSERVABLES]);
    }
    for (u64 tile = unit % blocks; tile < tiles; tile += blocks) {
      const i64 *map = map_of(w, stage, AFTER);
      w.base = base_of(w, stage, 0, tile);
      load(w, w.psi, row_of(psi, psi_rows, size, sample), map, w.base);
      if (lambda_rows) {
        load(w, w.lam, row_of(lambda, lambda_rows, size, sample), map, w.base);
      } else {
        clear(&w.lam->x, 2ull << w.bits);
      }
      __syncthreads();
      if (flags & BY_TERM) measure(w, pass);
      start_lambda(w, pass);
      if (pass[PROJECTORS] && flags & DOT) {
        R dot = 0;
#pragma unroll 1
        for (unsigned row = threadIdx.x; row < 1u << w.bits; row += blockDim.x)
          dot += conj_mul(w.lam[row], w.psi[row]).y;
        add_up(w, dot, R(0), R(0), R(0), 1, w.sums + table[ENVIRONMENTS]);
      }
      run<R, true>(w, pass[FIRST_OP], pass[LAST_OP]);
      if (pass[WRITE_PSI]) store(w, w.psi, new_psi + start, map_of(w, stage, BEFORE), w.base);
      if (pass[WRITE_LAMBDA] == INNER)
        store(w, w.lam, new_lambda + start, map_of(w, stage, BEFORE), w.base);
      if (pass[WRITE_LAMBDA] == OUTER) {
        if (table[PHASED]) multiply_tile(w, w.lam, {w.phase()[0], -w.phase()[1]});
        const u64 base = base_of(w, stage, 1, tile);
        store(w, w.lam, new_lambda + start, map_of(w, stage, INITIAL), base);
      }
      __syncthreads();
    }
    if (flags & WHOLE) {
      finish(w, weights + sample * table[OBSERVABLES], outputs + sample * table[OUTPUTS],
             flags & BY_TERM ? by_term + sample * table[TERMS] : nullptr);
      __syncthreads();
    }
  }
}

// Adds up, in order, what the blocks of a sample have left, from column ``first`` of ``columns``
// on: a block for a column and a sample.
template <class R>
__global__ void __launch_bounds__(256, sizeof(R) == 4 ? 3 : 2)
    collect(const R *partial, u64 blocks, u64 columns, u64 first, R *totals, u64 width,
            u64 offset) {
  extern __shared__ __align__(16) unsigned char memory[];
  R *part = reinterpret_cast<R *>(memory), sum = 0;
  const u64 count = columns - first, sample = blockIdx.x / count, column = blockIdx.x % count;
  const R *given = partial + sample * blocks * columns + first + column;
  for (u64 block = threadIdx.x; block < blocks; block += blockDim.x)
    sum += given[block * columns];
  part[threadIdx.x] = sum;
  __syncthreads();
  for (unsigned half = blockDim.x / 2; half; half /= 2) {
    if (threadIdx.x < half) part[threadIdx.x] += part[threadIdx.x + half];
    __syncthreads();
  }
  if (threadIdx.x == 0) totals[sample * width + offset + column] = part[0];
}

// One block a sample: values, or (REVERSE) gradients, of what was collected.
template <class R>
__global__ void __launch_bounds__(256, sizeof(R) == 4 ? 3 : 2)
    finish_samples(const i64 *table, const R *numbers, unsigned flags, R *columns,
                   u64 column_rows, u64 column_width, const R *coefficients, u64 coefficient_rows,
                   const R *weights, R *room, R *results, R *by_term) {
  const u64 sample = blockIdx.x;
  Work<R> w = work_of<R>(table, numbers, nullptr);
  w.room = room + sample * room_size(table);
  w.columns = row_of(columns, column_rows, column_width, sample);
  if (flags & REVERSE) {
    finish(w, weights + sample * table[OBSERVABLES], results + sample * table[OUTPUTS],
           flags & BY_TERM ? by_term + sample * table[TERMS] : nullptr);
  } else {
    store_values(w, row_of(coefficients, coefficient_rows, table[TERMS], sample),
                 results + sample * table[OBSERVABLES]);
  }
}

// Adds f A psi to lambda (REVERSE), for a sparse A and a factor f of every sample, and leaves the
// parts of <psi|A|psi> of every block of a sample.
template <class R>
__global__ void __launch_bounds__(256, sizeof(R) == 4 ? 3 : 2)
    sparse_product(const i64 *starts, const i64 *indices, const cx<R> *entries, u64 size,
                   u64 blocks, unsigned flags, const cx<R> *states, u64 state_rows,
                   const R *factors, cx<R> *lambda, R *partial) {
  extern __shared__ __align__(16) unsigned char memory[];
  Work<R> w;
  w.part = reinterpret_cast<R *>(memory), w.turn = 0;
  const u64 sample = blockIdx.x / blocks;
  const cx<R> *state = row_of(states, state_rows, size, sample);
  R sum = 0;
  for (u64 row = blockIdx.x % blocks * blockDim.x + threadIdx.x; row < size;
       row += blocks * blockDim.x) {
    cx<R> total = {R(0), R(0)};
#pragma unroll 1
    for (i64 at = starts[row]; at < starts[row + 1]; at++) {
      const cx<R> d = mul(entries[at], state[indices[at]]);
      total.x += d.x, total.y += d.y;
    }
    sum += conj_mul(state[row], total).x;
    if (flags & REVERSE) {
      lambda[sample * size + row].x += factors[sample] * total.x;
      lambda[sample * size + row].y += factors[sample] * total.y;
    }
  }
  if (threadIdx.x == 0) partial[blockIdx.x] = 0;
  add_up(w, sum, R(0), R(0), R(0), 1, partial + blockIdx.x);
}

// -- steps that no tile holds ---------------------------------------------------------------------

// Which basis state of some qubits an amplitude has: bit k is that of the k-th qubit.
__device__ __forceinline__ u64 local_state(u64 index, const i64 *qubits, unsigned count) {
  u64 local = 0;
  for (unsigned k = 0; k < count; k++) local |= (index >> qubits[k] & 1ull) << k;
  return local;
}

// Moves amplitudes: local state j of some qubits takes that of ``places[j]``, its bits in an index.
// ``held`` are the controls, of which only ``value`` is moved, ``mask`` the qubits.
template <class R>
__global__ void __launch_bounds__(256, sizeof(R) == 4 ? 3 : 2)
    permute(const i64 *qubits, unsigned count, u64 mask, u64 held, u64 value, const i64 *places,
            u64 size, u64 batch, const cx<R> *states, u64 state_rows, cx<R> *moved) {
  for (u64 i = u64(blockIdx.x) * blockDim.x + threadIdx.x; i < batch * size;
       i += u64(gridDim.x) * blockDim.x) {
    const u64 sample = i / size, index = i % size;
    const u64 from = (index & ~mask) | u64(places[local_state(index, qubits, count)]);
    const cx<R> *state = row_of(states, state_rows, size, sample);
    moved[i] = state[(index & held) == value ? from : index];
  }
}

// The same for a matrix, or (REVERSE) its adjoint: a thread for an amplitude.
template <class R>
__global__ void __launch_bounds__(256, sizeof(R) == 4 ? 3 : 2)
    multiply(const i64 *qubits, unsigned count, u64 mask, u64 held, u64 value, const i64 *places,
             u64 size, u64 batch, unsigned flags, const cx<R> *matrices, u64 matrix_rows,
             const cx<R> *states, u64 state_rows, cx<R> *products) {
  const u64 width = 1ull << count;
  for (u64 i = u64(blockIdx.x) * blockDim.x + threadIdx.x; i < batch * size;
       i += u64(gridDim.x) * blockDim.x) {
    const u64 sample = i / size, index = i % size;
    const cx<R> *state = row_of(states, state_rows, size, sample);
    if ((index & held) != value) {
      products[i] = state[index];
      continue;
    }
    const cx<R> *matrix = row_of(matrices, matrix_rows, i64(width * width), sample);
    const u64 own = local_state(index, qubits, count);
    cx<R> total = {R(0), R(0)};
#pragma unroll 1
    for (u64 j = 0; j < width; j++) {
      const cx<R> a = state[(index & ~mask) | u64(places[j])];
      const cx<R> d =
          flags & REVERSE ? conj_mul(matrix[j * width + own], a) : mul(matrix[own * width + j], a);
      total.x += d.x, total.y += d.y;
    }
    products[i] = total;
  }
}

// Gradients of a matrix, sum lambda_r conj(psi_c) over the other qubits: a thread for an entry of a
// sample adds them in order. ``others`` are the indices with 0 on the matrix's qubits.
template <class R>
__global__ void __launch_bounds__(256, sizeof(R) == 4 ? 3 : 2)
    matrix_gradient(const i64 *places, u64 width, const i64 *others, u64 count, u64 size,
                    u64 batch, const cx<R> *psi, u64 psi_rows, const cx<R> *lambda,
                    u64 lambda_rows, cx<R> *gradients) {
  for (u64 i = u64(blockIdx.x) * blockDim.x + threadIdx.x; i < batch * width * width;
       i += u64(gridDim.x) * blockDim.x) {
    const u64 sample = i / (width * width), row = i / width % width, column = i % width;
    const cx<R> *a = row_of(psi, psi_rows, size, sample) + places[column];
    const cx<R> *b = row_of(lambda, lambda_rows, size, sample) + places[row];
    cx<R> total = {R(0), R(0)};
#pragma unroll 1
    for (u64 n = 0; n < count; n++) {
      const cx<R> d = conj_mul(a[others[n]], b[others[n]]);
      total.x += d.x, total.y += d.y;
    }
    gradients[i] = total;
  }
}
