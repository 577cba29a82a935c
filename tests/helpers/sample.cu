// Small kernels with every feature of the subset, for the tests of what builds and runs kernels.

typedef unsigned long long u64;

template <class R> struct __align__(2 * sizeof(R)) Complex { R x, y; };

// values[i] *= factor, whatever the grid.
template <class R>
__global__ void __launch_bounds__(256) scale(R *__restrict__ values, u64 size, R factor) {
  const u64 step = static_cast<u64>(gridDim.x) * blockDim.x;
  for (u64 i = static_cast<u64>(blockIdx.x) * blockDim.x + threadIdx.x; i < size; i += step)
    values[i] *= factor;
}

template <class R>
__global__ void __launch_bounds__(256)
    conjugate(const Complex<R> *__restrict__ given, Complex<R> *__restrict__ result, int size) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < size) result[i] = {given[i].x, -given[i].y};
}

template <class R> __device__ __forceinline__ R warp_sum(R value) {
#pragma unroll
  for (int distance = 16; distance; distance >>= 1)
    value += __shfl_xor_sync(0xffffffffu, value, distance);
  return value;
}

// The sum over a block, valid in thread 0.
template <class R> __device__ R block_sum(R value) {
  __shared__ R parts[32];
  const unsigned lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
  value = warp_sum(value);
  if (lane == 0) parts[warp] = value;
  __syncthreads();
  value = threadIdx.x < (blockDim.x + 31) / 32 ? parts[lane] : 0;
  if (warp == 0) value = warp_sum(value);
  __syncthreads();
  return value;
}

// totals[row] = the sum of a row, for several blocks a row.
template <class R>
__global__ void __launch_bounds__(256)
    row_sums(const R *__restrict__ rows, R *__restrict__ totals, int size) {
  R sum = 0;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < size; i += gridDim.x * blockDim.x)
    sum += rows[static_cast<u64>(blockIdx.y) * size + i];
  sum = block_sum(sum);
  if (threadIdx.x == 0) atomicAdd(&totals[blockIdx.y], sum);
}

// Reverses tiles of blockDim.x elements by way of shared memory.
template <class R>
__global__ void __launch_bounds__(256) reverse_tiles(R *__restrict__ values) {
  extern __shared__ __align__(16) unsigned char memory[];
  R *tile = reinterpret_cast<R *>(memory);
  const u64 start = static_cast<u64>(blockIdx.x) * blockDim.x;
  tile[threadIdx.x] = values[start + threadIdx.x];
  __syncthreads();
  values[start + threadIdx.x] = tile[blockDim.x - 1 - threadIdx.x];
}
