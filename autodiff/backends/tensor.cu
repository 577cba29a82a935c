// The kernels of graph mode: a queue's ops on buffers of one workspace, captured and replayed.
//
// R is float or double. Shapes have four axes at most; strides and offsets count elements. What a
// kernel is told stands in a structure, of which tensor_kernels.py has the other half.

typedef long long i64;
typedef unsigned long long u64;

const int AXES = 4, OPERANDS = 4, LENGTH = 8, THREADS = 256;

// -- elementwise: programs of a few instructions --------------------------------------------------

// The names, in lower case, are those of the op table. Sine, cosine and tangent are missing: for
// large arguments they need a stack.
enum Code {
  COPY, NEGATIVE, RECIPROCAL, SQUARE, SQRT, ABS, SIGN, FLOOR, CEIL, TRUNC, RINT,
  EXP, EXPM1, LOG, LOG1P, LOG2, LOG10, ARCSIN, ARCCOS, ARCTAN,
  SINH, COSH, TANH, ARCSINH, ARCCOSH, ARCTANH, SIGMOID, RELU, SOFTPLUS,
  ONES_LIKE, ZEROS_LIKE, LOGICAL_NOT, ISNAN, ISINF, ISFINITE,
  ADD, SUBTRACT, MULTIPLY, DIVIDE, POWER, HYPOT, ARCTAN2, MAXIMUM, MINIMUM,
  EQUAL, NOT_EQUAL, LESS, LESS_EQUAL, GREATER, GREATER_EQUAL,
  LOGICAL_AND, LOGICAL_OR, LOGICAL_XOR, WHERE, CLIP
};

enum Kind { REAL, BOOL, NUMBER };  // NUMBER: the offset itself, an integer

struct Operand {
  i64 offset, strides[AXES];
  int kind, pad;
};

struct Instruction {
  int code, first, second, third;  // registers
};

// Register k < OPERANDS is an operand, register OPERANDS + j the result of instruction j.
struct Program {
  i64 size, extents[AXES];
  Operand operands[OPERANDS];
  Instruction code[LENGTH];
  int output[OPERANDS], kind[OPERANDS];  // which registers are written, and as what
  int inputs, length, outputs, pad;
};

template <class R> __device__ __forceinline__ R larger(R x, R y) {
  return x > y || x != x ? x : y;  // NaN if one of them is
}

template <class R> __device__ __forceinline__ R smaller(R x, R y) {
  return x < y || x != x ? x : y;
}

template <class R> __device__ R unary(int code, R x) {
  switch (code) {
    case NEGATIVE: return -x;
    case RECIPROCAL: return R(1) / x;
    case SQUARE: return x * x;
    case SQRT: return sqrt(x);
    case ABS: return fabs(x);
    case SIGN: return x != x ? x : R(x > 0) - R(x < 0);
    case FLOOR: return floor(x);
    case CEIL: return ceil(x);
    case TRUNC: return trunc(x);
    case RINT: return rint(x);
    case EXP: return exp(x);
    case EXPM1: return expm1(x);
    case LOG: return log(x);
    case LOG1P: return log1p(x);
    case LOG2: return log2(x);
    case LOG10: return log10(x);
    case ARCSIN: return asin(x);
    case ARCCOS: return acos(x);
    case ARCTAN: return atan(x);
    case SINH: return sinh(x);
    case COSH: return cosh(x);
    case TANH: return tanh(x);
    case ARCSINH: return asinh(x);
    case ARCCOSH: return acosh(x);
    case ARCTANH: return atanh(x);
    case SIGMOID: return x < 0 ? exp(x) / (R(1) + exp(x)) : R(1) / (R(1) + exp(-x));
    case RELU: return larger(x, R(0));
    case SOFTPLUS: return larger(x, R(0)) + log1p(exp(-fabs(x)));
    case ONES_LIKE: return R(1);
    case ZEROS_LIKE: return R(0);
    case LOGICAL_NOT: return R(x == 0);
    case ISNAN: return R(x != x);
    case ISINF: return R(x == x && x - x != x - x);
    case ISFINITE: return R(x - x == 0);
    default: return x;
  }
}

template <class R> __device__ R apply(int code, R x, R y, R z) {
  switch (code) {
    case ADD: return x + y;
    case SUBTRACT: return x - y;
    case MULTIPLY: return x * y;
    case DIVIDE: return x / y;
    case POWER: return pow(x, y);
    case HYPOT: return hypot(x, y);
    case ARCTAN2: return atan2(x, y);
    case MAXIMUM: return larger(x, y);
    case MINIMUM: return smaller(x, y);
    case EQUAL: return R(x == y);
    case NOT_EQUAL: return R(x != y);
    case LESS: return R(x < y);
    case LESS_EQUAL: return R(x <= y);
    case GREATER: return R(x > y);
    case GREATER_EQUAL: return R(x >= y);
    case LOGICAL_AND: return R(x != 0 && y != 0);
    case LOGICAL_OR: return R(x != 0 || y != 0);
    case LOGICAL_XOR: return R((x != 0) != (y != 0));
    case WHERE: return x != 0 ? y : z;
    case CLIP: return smaller(larger(x, y), z);
    default: return unary(code, x);
  }
}

template <class R>
__device__ __forceinline__ R load(const void *array, const Operand &operand, const i64 *place) {
  i64 at = operand.offset;
  if (operand.kind == NUMBER) return R(at);
#pragma unroll
  for (int axis = 0; axis < AXES; axis++) at += place[axis] * operand.strides[axis];
  return operand.kind == BOOL ? R(static_cast<const unsigned char *>(array)[at])
                              : static_cast<const R *>(array)[at];
}

template <class R> __device__ __forceinline__ void store(void *array, int kind, i64 at, R value) {
  if (kind == BOOL)
    static_cast<unsigned char *>(array)[at] = value != 0;
  else
    static_cast<R *>(array)[at] = value;
}

// Registers lie in shared memory: an array of a thread's own that is indexed by data would be put
// into slow local memory.
template <class R>
__global__ void __launch_bounds__(THREADS)
    elementwise(const __grid_constant__ Program program, const void *a, const void *b,
                const void *c, const void *d, void *w, void *x, void *y, void *z) {
  __shared__ R registers[12][256];
  const int t = threadIdx.x;
  const i64 step = static_cast<i64>(gridDim.x) * blockDim.x;
  for (i64 at = static_cast<i64>(blockIdx.x) * blockDim.x + t; at < program.size; at += step) {
    i64 place[AXES], rest = at;
#pragma unroll
    for (int axis = AXES - 1; axis >= 0; axis--) {
      place[axis] = rest % program.extents[axis];
      rest /= program.extents[axis];
    }
    if (program.inputs > 0) registers[0][t] = load<R>(a, program.operands[0], place);
    if (program.inputs > 1) registers[1][t] = load<R>(b, program.operands[1], place);
    if (program.inputs > 2) registers[2][t] = load<R>(c, program.operands[2], place);
    if (program.inputs > 3) registers[3][t] = load<R>(d, program.operands[3], place);
    for (int k = 0; k < program.length; k++) {
      const Instruction &now = program.code[k];
      registers[OPERANDS + k][t] = apply(now.code, registers[now.first][t],
                                         registers[now.second][t], registers[now.third][t]);
    }
    if (program.outputs > 0) store(w, program.kind[0], at, registers[program.output[0]][t]);
    if (program.outputs > 1) store(x, program.kind[1], at, registers[program.output[1]][t]);
    if (program.outputs > 2) store(y, program.kind[2], at, registers[program.output[2]][t]);
    if (program.outputs > 3) store(z, program.kind[3], at, registers[program.output[3]][t]);
  }
}

// -- reductions -----------------------------------------------------------------------------------

enum Reducer { SUM, MAX, MIN };

template <class R> __device__ __forceinline__ R combine(int reducer, R x, R y) {
  return reducer == SUM ? x + y : reducer == MAX ? larger(x, y) : smaller(x, y);
}

// The reduction over a block of whole warps, valid in every thread.
template <class R> __device__ R reduce_block(int reducer, R value) {
  __shared__ R parts[8];
  const int warps = blockDim.x / 32;
  __syncthreads();  // the parts of the last reduction have been read
#pragma unroll
  for (int distance = 16; distance; distance >>= 1)
    value = combine(reducer, value, __shfl_xor_sync(0xffffffffu, value, distance));
  if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = value;
  __syncthreads();
  value = parts[0];
  for (int warp = 1; warp < warps; warp++) value = combine(reducer, value, parts[warp]);
  return value;
}

// result[k] = scale times the reduction over the inner axes, for each position k of the outer ones.
struct Reduction {
  i64 outer, inner, offset;
  i64 outer_extents[AXES], outer_strides[AXES], inner_extents[AXES], inner_strides[AXES];
  int reducer, pad;
};

__device__ __forceinline__ i64 placed(i64 at, const i64 *extents, const i64 *strides) {
  i64 sum = 0;
#pragma unroll
  for (int axis = AXES - 1; axis >= 0; axis--) {
    sum += at % extents[axis] * strides[axis];
    at /= extents[axis];
  }
  return sum;
}

template <class R>
__global__ void __launch_bounds__(THREADS)
    reduce(const __grid_constant__ Reduction given, const R *values, R *result, R scale) {
  for (i64 k = blockIdx.x; k < given.outer; k += gridDim.x) {
    const R *from = values + given.offset + placed(k, given.outer_extents, given.outer_strides);
    // A neutral element, or the first: the largest of nothing is refused by the op.
    R total = given.reducer == SUM ? R(0) : from[0];
    for (i64 i = threadIdx.x; i < given.inner; i += blockDim.x)
      total = combine(given.reducer, total,
                      from[placed(i, given.inner_extents, given.inner_strides)]);
    total = reduce_block(given.reducer, total);
    if (threadIdx.x == 0) result[k] = scale * total;
  }
}

// -- softmax and its family, along the middle axis of (before, extent, behind) -------------------

enum Smooth { SOFTMAX, LOG_SOFTMAX, LOGSUMEXP };

template <class R>
__global__ void __launch_bounds__(THREADS)
    smooth(int family, const R *values, R *result, i64 rows, i64 extent, i64 behind, R limit) {
  for (i64 row = blockIdx.x; row < rows; row += gridDim.x) {
    const i64 first = row / behind * extent * behind + row % behind;
    R top = values[first];
    for (i64 i = threadIdx.x; i < extent; i += blockDim.x)
      top = larger(top, values[first + i * behind]);
    // Kept finite, so that -inf - top is -inf and not NaN.
    top = smaller(larger(reduce_block(MAX, top), -limit), limit);
    R total = 0;
    for (i64 i = threadIdx.x; i < extent; i += blockDim.x)
      total += exp(values[first + i * behind] - top);
    total = reduce_block(SUM, total);
    if (family == LOGSUMEXP) {
      if (threadIdx.x == 0) result[row] = log(total) + top;
      continue;
    }
    for (i64 i = threadIdx.x; i < extent; i += blockDim.x) {
      const R shifted = values[first + i * behind] - top;
      result[first + i * behind] = family == SOFTMAX ? exp(shifted) / total : shifted - log(total);
    }
  }
}

// -- products of matrices -------------------------------------------------------------------------

struct Product {
  i64 left_offset, left_batch, left_row, left_depth;
  i64 right_offset, right_batch, right_depth, right_column;
  int rows, columns, depth, pad;
};

// One block a tile of the result and a matrix of the batch; blockDim = (TILE, TILE).
template <class R, int TILE>
__global__ void __launch_bounds__(TILE * TILE)
    matmul(const __grid_constant__ Product given, const R *left, const R *right, R *result) {
  __shared__ R a[TILE][TILE + 1];
  __shared__ R b[TILE][TILE + 1];
  const int x = threadIdx.x, y = threadIdx.y;
  const int row = blockIdx.y * TILE + y, column = blockIdx.x * TILE + x;
  left += given.left_offset + blockIdx.z * given.left_batch;
  right += given.right_offset + blockIdx.z * given.right_batch;
  R sum = 0;
  for (int k = 0; k < given.depth; k += TILE) {
    const bool left_inside = row < given.rows && k + x < given.depth;
    const bool right_inside = column < given.columns && k + y < given.depth;
    a[y][x] = left_inside ? left[row * given.left_row + (k + x) * given.left_depth] : R(0);
    b[y][x] =
        right_inside ? right[(k + y) * given.right_depth + column * given.right_column] : R(0);
    __syncthreads();
#pragma unroll
    for (int i = 0; i < TILE; i++) sum += a[y][i] * b[i][x];
    __syncthreads();
  }
  if (row < given.rows && column < given.columns) {
    const i64 before = static_cast<i64>(blockIdx.z) * given.rows + row;
    result[before * given.columns + column] = sum;
  }
}

// -- picked elements, and the adjoint, along the middle axis of (before, extent, behind) ----------

template <class R>
__global__ void __launch_bounds__(THREADS)
    take(const R *values, const i64 *index, R *result, i64 size, i64 extent, i64 count,
         i64 behind) {
  const i64 step = static_cast<i64>(gridDim.x) * blockDim.x;
  for (i64 at = static_cast<i64>(blockIdx.x) * blockDim.x + threadIdx.x; at < size; at += step) {
    const i64 inside = at % behind, k = at / behind % count, before = at / behind / count;
    result[at] = values[(before * extent + index[k]) * behind + inside];
  }
}

// One thread an element of the result: it adds in the order of the index, without atomics.
template <class R>
__global__ void __launch_bounds__(THREADS)
    segment_sum(const R *values, const i64 *index, R *result, i64 size, i64 extent, i64 count,
                i64 behind) {
  const i64 step = static_cast<i64>(gridDim.x) * blockDim.x;
  for (i64 at = static_cast<i64>(blockIdx.x) * blockDim.x + threadIdx.x; at < size; at += step) {
    const i64 inside = at % behind, segment = at / behind % count, before = at / behind / count;
    R sum = 0;
    for (i64 k = 0; k < extent; k++)
      if (index[k] == segment) sum += values[(before * extent + k) * behind + inside];
    result[at] = sum;
  }
}

// -- leaves ---------------------------------------------------------------------------------------

// An array, or where the address is 0 a number of 8 bytes at most.
struct Leaf {
  u64 address, offset, bytes;
  unsigned char number[8];
};

// Copies every leaf to its place in the workspace. The table is all that changes between replays.
__global__ void __launch_bounds__(THREADS)
    take_leaves(const Leaf *__restrict__ table, unsigned char *__restrict__ workspace) {
  const Leaf &leaf = table[blockIdx.y];
  const unsigned char *from = leaf.address
                                  ? reinterpret_cast<const unsigned char *>(leaf.address)
                                  : leaf.number;
  unsigned char *to = workspace + leaf.offset;
  const u64 step = static_cast<u64>(gridDim.x) * blockDim.x;
  const u64 first = static_cast<u64>(blockIdx.x) * blockDim.x + threadIdx.x;
  const u64 words = reinterpret_cast<u64>(from) % 4 == 0 ? leaf.bytes / 4 : 0;
  for (u64 i = first; i < words; i += step)
    reinterpret_cast<unsigned *>(to)[i] = reinterpret_cast<const unsigned *>(from)[i];
  for (u64 i = 4 * words + first; i < leaf.bytes; i += step) to[i] = from[i];
}
