// Runs a subset of CUDA C++ on the host: one OS thread, in an order that the caller chooses.
//
// The blocks of a launch run one after another. Each CUDA thread of a block is a fiber with a stack
// of its own, which runs until it meets a block barrier, a warp collective, or its end; then the
// next one runs. Shared memory is allocated for each block with its exact size and filled with 0xFF
// (NaN), so that what was never written shows. Barriers and collectives carry their line, so that
// divergent ones are refused with the lines at which the threads wait.
//
// The subset: __global__ __device__ __forceinline__ __launch_bounds__ __align__ __restrict__;
// __shared__ arrays, static and dynamic, one a statement; threadIdx blockIdx blockDim gridDim;
// __syncthreads, __syncwarp and __shfl_{,xor_,up_,down_}sync with a full mask; atomicAdd, __ldg,
// __popc, __popcll, __ffs, __ffsll, __clz, __clzll; vectors of 2 and 4; templates; the functions of
// <math.h>. Rounding differs from a GPU's where that contracts to FMA or flushes to zero.
//
// The same file serves the address and the thread sanitizer; there fibers are known to the
// sanitizer, which needs swapcontext, eight times slower than setjmp and longjmp.
#include <math.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <string>
#include <type_traits>
#include <ucontext.h>
#include <utility>
#include <vector>

#if defined(__SANITIZE_THREAD__)
#include <sanitizer/tsan_interface.h>
#define HOST_SHIM_INTERNAL __attribute__((no_sanitize("thread"), noinline))
#else
#define HOST_SHIM_INTERNAL __attribute__((noinline))
#endif
#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/common_interface_defs.h>
#endif

// -- the language ---------------------------------------------------------------------------------

#define __global__
#define __device__
#define __host__
#define __forceinline__ inline __attribute__((always_inline))
#define __noinline__ __attribute__((noinline))
#define __launch_bounds__(...)
#define __grid_constant__
#define __align__(bytes) alignas(bytes)

struct uint3 { unsigned x, y, z; };
struct dim3 { unsigned x, y, z; };
struct alignas(8) int2 { int x, y; };
struct alignas(16) int4 { int x, y, z, w; };
struct alignas(8) uint2 { unsigned x, y; };
struct alignas(16) uint4 { unsigned x, y, z, w; };
struct alignas(8) float2 { float x, y; };
struct alignas(16) float4 { float x, y, z, w; };
struct alignas(16) double2 { double x, y; };
static inline int2 make_int2(int x, int y) { return {x, y}; }
static inline int4 make_int4(int x, int y, int z, int w) { return {x, y, z, w}; }
static inline uint2 make_uint2(unsigned x, unsigned y) { return {x, y}; }
static inline float2 make_float2(float x, float y) { return {x, y}; }
static inline float4 make_float4(float x, float y, float z, float w) { return {x, y, z, w}; }
static inline double2 make_double2(double x, double y) { return {x, y}; }

static uint3 threadIdx, blockIdx;
static dim3 blockDim, gridDim;
static const int warpSize = 32;

// -- fibers ---------------------------------------------------------------------------------------

namespace host_shim {

enum Order { FORWARD, REVERSED, SEEDED };

// Which blocks run (all if count is 0), and in which order threads do.
struct Schedule {
  int order;
  unsigned seed;
  long long first, count;
};

enum class State { RUNNABLE, AT_BARRIER, AT_COLLECTIVE, DONE };

struct Fiber {
  ucontext_t context;  // where it starts
  jmp_buf resume;      // where it goes on
  bool started;
  State state;
  int line;  // of the barrier or collective that it waits at
  unsigned barriers, collectives;  // how many it has met
  char *stack;
  uint3 index;
  unsigned lane, warp;
  void *sanitizer;
};

struct Allocation {
  const void *tag;  // of the declaration; null for dynamic shared memory
  void *memory;
};

// No containers for what fibers change: the thread sanitizer sees into the standard library.
struct Block {
  std::vector<Fiber> &fibers;
  Allocation shared[64];
  int shared_count;
  std::vector<uint64_t> exchange;  // what lanes show each other, 16 bytes a thread
  size_t shared_bytes;
  char barrier_tags[2], collective_tags[32][2];
  char *arena, *stacks;  // only under the thread sanitizer
};

static Block *block;
static Fiber *self;
static ucontext_t scheduler_context;
static jmp_buf scheduler_resume;
static void *scheduler_sanitizer;
static void (*entry)(void *);
static void *entry_argument;
static char message[512];
static bool failed;
static size_t shared_limit;
static char launch_tag, done_tag;

// An odd distance: stacks at a power of two apart would fall into one cache set.
static const size_t STACK_BYTES = (64 << 10) + 320;
static const size_t ARENA_BYTES = 256 << 10;

// Blocks of a launch are freed together under the thread sanitizer: it takes memory that is used
// again for one block's, and the blocks for ordered.
static std::vector<Block *> finished;

// "Happens before", for the thread sanitizer: it sees no order between fibers except these.
static inline void release(void *tag) {
#if defined(__SANITIZE_THREAD__)
  __tsan_release(tag);
#else
  (void)tag;
#endif
}

static inline void acquire(void *tag) {
#if defined(__SANITIZE_THREAD__)
  __tsan_acquire(tag);
#else
  (void)tag;
#endif
}

HOST_SHIM_INTERNAL static void fail(const char *what, long long a, long long b) {
  if (!failed)
    snprintf(message, sizeof message, "%s (%lld, %lld) in block (%u, %u, %u)", what, a, b,
             blockIdx.x, blockIdx.y, blockIdx.z);
  failed = true;
}

#if defined(__SANITIZE_ADDRESS__)
static void *scheduler_fake;
static const void *scheduler_bottom;
static size_t scheduler_size;
#endif

// Leaves the current fiber, which waits or is done.
HOST_SHIM_INTERNAL static void to_scheduler(State state, int line) {
  Fiber *me = self;
  me->state = state;
  me->line = line;
#if defined(__SANITIZE_ADDRESS__)
  void *fake = nullptr;
  __sanitizer_start_switch_fiber(state == State::DONE ? nullptr : &fake, scheduler_bottom,
                                 scheduler_size);
  swapcontext(&me->context, &scheduler_context);
  __sanitizer_finish_switch_fiber(fake, &scheduler_bottom, &scheduler_size);
#elif defined(__SANITIZE_THREAD__)
  __tsan_switch_to_fiber(scheduler_sanitizer, __tsan_switch_to_fiber_no_sync);
  swapcontext(&me->context, &scheduler_context);
#else
  if (!_setjmp(me->resume)) _longjmp(scheduler_resume, 1);
#endif
}

// A fiber's life: it is used again for the same thread of the next block.
HOST_SHIM_INTERNAL static void live() {
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_finish_switch_fiber(nullptr, &scheduler_bottom, &scheduler_size);
#endif
  for (;;) {
    acquire(block);
    acquire(&launch_tag);
    entry(entry_argument);
    release(&done_tag);
    to_scheduler(State::DONE, 0);
  }
}

HOST_SHIM_INTERNAL static void run(Fiber &fiber) {
  self = &fiber;
  threadIdx = fiber.index;
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_start_switch_fiber(&scheduler_fake, fiber.stack, STACK_BYTES);
  swapcontext(&scheduler_context, &fiber.context);
  __sanitizer_finish_switch_fiber(scheduler_fake, nullptr, nullptr);
#elif defined(__SANITIZE_THREAD__)
  __tsan_switch_to_fiber(fiber.sanitizer, __tsan_switch_to_fiber_no_sync);
  swapcontext(&scheduler_context, &fiber.context);
#else
  if (!_setjmp(scheduler_resume)) {
    if (fiber.started) _longjmp(fiber.resume, 1);
    fiber.started = true;
    setcontext(&fiber.context);
  }
#endif
  self = nullptr;
}

HOST_SHIM_INTERNAL static void start(Fiber &fiber, unsigned number, char *stack) {
  fiber.lane = number % 32;
  fiber.warp = number / 32;
  fiber.stack = stack;
  getcontext(&fiber.context);
  fiber.context.uc_stack.ss_sp = stack;
  fiber.context.uc_stack.ss_size = STACK_BYTES;
  fiber.context.uc_link = nullptr;
  makecontext(&fiber.context, live, 0);
#if defined(__SANITIZE_THREAD__)
  fiber.sanitizer = __tsan_create_fiber(0);
#endif
}

// -- barriers and shuffles ------------------------------------------------------------------------

// Tags alternate: a thread that goes on may reach the next barrier before another one wakes up from
// this one, and what it did in between must not count as done before.
HOST_SHIM_INTERNAL static void block_barrier(int line) {
  void *tag = &block->barrier_tags[self->barriers++ % 2];
  release(tag);
  to_scheduler(State::AT_BARRIER, line);
  acquire(tag);
}

HOST_SHIM_INTERNAL static void warp_barrier(unsigned mask, int line) {
  if (mask != 0xffffffffu) fail("a warp collective needs a full mask: mask, line", mask, line);
  void *tag = &block->collective_tags[self->warp][self->collectives++ % 2];
  release(tag);
  to_scheduler(State::AT_COLLECTIVE, line);
  acquire(tag);
}

template <class T>
HOST_SHIM_INTERNAL T shuffle(unsigned mask, T value, unsigned source_lane, int line) {
  static_assert(sizeof(T) <= 16, "a shuffled value has 16 bytes at most");
  const unsigned mine = self->warp * 32 + self->lane, source = self->warp * 32 + source_lane;
  memcpy(&block->exchange[2 * mine], &value, sizeof value);
  warp_barrier(mask, line);
  T result = value;
  if (source_lane < 32 && source < block->fibers.size())
    memcpy(&result, &block->exchange[2 * source], sizeof result);
  warp_barrier(mask, line);
  return result;
}

// -- shared memory --------------------------------------------------------------------------------

HOST_SHIM_INTERNAL static void *allocate_shared(const void *tag, size_t bytes) {
  const size_t before = block->shared_bytes;
  block->shared_bytes += (bytes + 127) / 128 * 128;
  if (block->shared_bytes > shared_limit)
    fail("too much shared memory: bytes, limit", block->shared_bytes, shared_limit);
#if defined(__SANITIZE_THREAD__)
  if (block->shared_bytes > ARENA_BYTES) abort();
  void *memory = block->arena + before;  // filled before any fiber ran
#else
  (void)before;
  void *memory = malloc(bytes);  // of the exact size, for the address sanitizer
  memset(memory, 0xff, bytes);
#endif
  if (block->shared_count == 64) abort();
  block->shared[block->shared_count++] = {tag, memory};
  return memory;
}

HOST_SHIM_INTERNAL static void *shared_memory(const void *tag, size_t bytes) {
  for (int k = 0; k < block->shared_count; k++)
    if (block->shared[k].tag == tag) return block->shared[k].memory;
  return allocate_shared(tag, bytes);
}

template <class Array> static inline Array &shared_array(const void *tag) {
  return *static_cast<Array *>(shared_memory(tag, sizeof(Array)));
}

static inline void *dynamic_shared() { return shared_memory(nullptr, 0); }

// -- blocks ---------------------------------------------------------------------------------------

#if defined(__SANITIZE_THREAD__)
// A recycled fiber number counts as the same thread, so fibers are destroyed late.
static std::vector<void *> dead_fibers;

HOST_SHIM_INTERNAL static void destroy_fibers() {
  for (void *fiber : dead_fibers) __tsan_destroy_fiber(fiber);
  dead_fibers.clear();
}
#endif

HOST_SHIM_INTERNAL static void free_finished() {
  for (Block *old : finished) {
    for (int k = 0; k < old->shared_count && !old->arena; k++) free(old->shared[k].memory);
    free(old->arena);
    free(old->stacks);
    delete old;
  }
  finished.clear();
}

HOST_SHIM_INTERNAL static void set_block(long long number) {
  blockIdx.x = unsigned(number % gridDim.x);
  blockIdx.y = unsigned(number / gridDim.x % gridDim.y);
  blockIdx.z = unsigned(number / (static_cast<long long>(gridDim.x) * gridDim.y));
}

HOST_SHIM_INTERNAL static std::vector<unsigned> thread_order(unsigned threads,
                                                             const Schedule &schedule) {
  std::vector<unsigned> order(threads);
  for (unsigned i = 0; i < threads; i++)
    order[i] = schedule.order == REVERSED ? threads - 1 - i : i;
  if (schedule.order != SEEDED) return order;
  uint64_t state = schedule.seed * 2654435761u + blockIdx.x + 1;
  for (unsigned i = threads; i > 1; i--) {
    state = state * 6364136223846793005ull + 1442695040888963407ull;
    std::swap(order[i - 1], order[(state >> 33) % i]);
  }
  return order;
}

// Lets the lanes of every warp go on that have all met the same collective.
HOST_SHIM_INTERNAL static bool pass_collectives(unsigned threads) {
  bool moved = false;
  for (unsigned low = 0; low < threads; low += 32) {
    Fiber *lanes = &block->fibers[low];
    const unsigned count = threads - low < 32 ? threads - low : 32;
    unsigned waiting = 0, line = 0;
    for (unsigned i = 0; i < count; i++)
      if (lanes[i].state == State::AT_COLLECTIVE) waiting++, line = lanes[i].line;
    if (waiting == 0) continue;
    if (waiting != count)
      fail("a warp collective needs every lane of its warp: lanes there, line", waiting, line);
    for (unsigned i = 0; i < count && !failed; i++) {
      if (lanes[i].line != lanes[0].line)
        fail("lanes of a warp wait at different collectives: lines", lanes[0].line, lanes[i].line);
      lanes[i].state = State::RUNNABLE;
    }
    moved = true;
  }
  return moved;
}

// Lets the block go on if all its threads have met the same barrier.
HOST_SHIM_INTERNAL static bool pass_barrier(unsigned threads, unsigned live, bool moved) {
  unsigned waiting = 0;
  const Fiber *first = nullptr;
  for (const Fiber &fiber : block->fibers) {
    if (fiber.state != State::AT_BARRIER) continue;
    if (!first) first = &fiber;
    waiting++;
    if (fiber.line != first->line)
      fail("threads wait at different __syncthreads: lines", first->line, fiber.line);
  }
  if (waiting < threads) {
    if (live && !moved && waiting == live)
      fail("__syncthreads needs every thread of the block: waiting, line", waiting, first->line);
    return moved;
  }
  for (Fiber &fiber : block->fibers) fiber.state = State::RUNNABLE;
  return true;
}

HOST_SHIM_INTERNAL static void make_block(unsigned threads, size_t dynamic_bytes,
                                          std::vector<Fiber> &fibers, char *stacks) {
  block = new Block{fibers, {}, 0, std::vector<uint64_t>(2 * threads), 0, {}, {}, nullptr, nullptr};
  finished.push_back(block);
#if defined(__SANITIZE_THREAD__)
  block->arena = static_cast<char *>(malloc(ARENA_BYTES));
  memset(block->arena, 0xff, ARENA_BYTES);
  block->stacks = static_cast<char *>(malloc(threads * STACK_BYTES));
  stacks = block->stacks;
#endif
  if (dynamic_bytes) allocate_shared(nullptr, dynamic_bytes);
  for (unsigned i = 0; i < threads; i++) {
    Fiber &fiber = fibers[i];
    fiber.state = State::RUNNABLE;
    fiber.barriers = fiber.collectives = 0;
    fiber.index = {i % blockDim.x, i / blockDim.x % blockDim.y, i / (blockDim.x * blockDim.y)};
#if defined(__SANITIZE_THREAD__)
    start(fiber, i, stacks + i * STACK_BYTES);
#else
    if (!fiber.stack) start(fiber, i, stacks + i * STACK_BYTES);
#endif
  }
}

HOST_SHIM_INTERNAL static void run_block(unsigned threads, const Schedule &schedule) {
  const std::vector<unsigned> order = thread_order(threads, schedule);
  release(block);
  for (unsigned live = threads; live && !failed;) {
    bool moved = false;
    for (unsigned k = 0; k < threads && !failed; k++) {
      Fiber &fiber = block->fibers[order[k]];
      if (fiber.state != State::RUNNABLE) continue;
      run(fiber);
      moved = true;
      if (fiber.state == State::DONE) live--;
    }
    if (failed || !live) break;
    moved = pass_collectives(threads);
    if (!failed) pass_barrier(threads, live, moved);
  }
#if defined(__SANITIZE_THREAD__)
  for (Fiber &fiber : block->fibers) dead_fibers.push_back(fiber.sanitizer);
  if (dead_fibers.size() > 6000) destroy_fibers();
#else
  free_finished();
#endif
  block = nullptr;
}

// -- launches -------------------------------------------------------------------------------------

template <class... Parameters, size_t... I>
static void call(void (*kernel)(Parameters...), void **arguments, std::index_sequence<I...>) {
  kernel(*static_cast<std::remove_reference_t<Parameters> *>(arguments[I])...);
}

template <class... Parameters> struct Call {
  void (*kernel)(Parameters...);
  void **arguments;
  static void enter(void *context) {
    const Call &given = *static_cast<Call *>(context);
    call(given.kernel, given.arguments, std::index_sequence_for<Parameters...>());
  }
};

static void run_blocks(unsigned threads, size_t dynamic_bytes, const Schedule &schedule) {
  static std::vector<char> stacks;
  if (stacks.size() < threads * STACK_BYTES) stacks.resize(threads * STACK_BYTES);
  std::vector<Fiber> fibers(threads);
  const long long total = static_cast<long long>(gridDim.x) * gridDim.y * gridDim.z;
  const long long end = schedule.first + schedule.count;
  const long long last = schedule.count && end < total ? end : total;
  for (long long n = schedule.first; n < last && !failed; n++) {
    set_block(schedule.order == REVERSED ? last - 1 - (n - schedule.first) : n);
    make_block(threads, dynamic_bytes, fibers, stacks.data());
    if (!failed) run_block(threads, schedule);
  }
}

template <class... Parameters>
static int launch(void (*kernel)(Parameters...), const unsigned *grid, const unsigned *extents,
                  size_t dynamic_bytes, size_t limit, void **arguments, const Schedule *schedule) {
  Call<Parameters...> given{kernel, arguments};
  entry = given.enter;
  entry_argument = &given;
  gridDim = {grid[0], grid[1], grid[2]};
  blockDim = {extents[0], extents[1], extents[2]};
  shared_limit = limit;
  failed = false;
  message[0] = 0;
#if defined(__SANITIZE_THREAD__)
  scheduler_sanitizer = __tsan_get_current_fiber();
#endif
  release(&launch_tag);
  run_blocks(extents[0] * extents[1] * extents[2], dynamic_bytes, *schedule);
  acquire(&done_tag);
  free_finished();
  return failed;
}

// -- signatures: what a kernel takes, for the side that packs the arguments -----------------------

template <class T> std::string value_code() {
  typedef std::remove_cv_t<T> Bare;
  if (std::is_void<Bare>::value) return "any";
  const char *kind = std::is_same<Bare, bool>::value      ? "b"
                     : std::is_floating_point<Bare>::value ? "f"
                     : !std::is_integral<Bare>::value      ? "V"
                     : std::is_signed<Bare>::value         ? "i"
                                                           : "u";
  // An empty size would be an error only for void, which has returned.
  return kind + std::to_string(sizeof(std::conditional_t<std::is_void<Bare>::value, char, Bare>));
}

template <class T> std::string parameter_code() {
  typedef std::remove_pointer_t<T> Target;
  if (!std::is_pointer<T>::value) return value_code<T>();
  return (std::is_const<Target>::value ? "read " : "write ") + value_code<Target>();
}

template <class... Parameters> std::string signature(void (*)(Parameters...)) {
  std::string codes;
  ((codes += parameter_code<Parameters>() + "\n"), ...);
  return codes;
}

}  // namespace host_shim

#define __syncthreads() host_shim::block_barrier(__LINE__)
#define __syncwarp() host_shim::warp_barrier(0xffffffffu, __LINE__)
#define __shfl_sync(mask, value, lane) \
  host_shim::shuffle(mask, value, static_cast<unsigned>(lane) & 31u, __LINE__)
#define __shfl_xor_sync(mask, value, bits) \
  host_shim::shuffle(mask, value, host_shim::self->lane ^ static_cast<unsigned>(bits), __LINE__)
#define __shfl_up_sync(mask, value, by) \
  host_shim::shuffle(mask, value, host_shim::self->lane - static_cast<unsigned>(by), __LINE__)
#define __shfl_down_sync(mask, value, by) \
  host_shim::shuffle(mask, value, host_shim::self->lane + static_cast<unsigned>(by), __LINE__)

template <class T> static inline T atomicAdd(T *address, T value) {
  if constexpr (std::is_integral<T>::value) {
    return __atomic_fetch_add(address, value, __ATOMIC_RELAXED);
  } else {
    T old, sum;
    __atomic_load(address, &old, __ATOMIC_RELAXED);
    do {
      sum = old + value;
    } while (!__atomic_compare_exchange(address, &old, &sum, false, __ATOMIC_RELAXED,
                                        __ATOMIC_RELAXED));
    return old;
  }
}

template <class T> static inline T __ldg(const T *address) { return *address; }
static inline int __popc(unsigned x) { return __builtin_popcount(x); }
static inline int __popcll(unsigned long long x) { return __builtin_popcountll(x); }
static inline int __ffs(int x) { return __builtin_ffs(x); }
static inline int __ffsll(long long x) { return __builtin_ffsll(x); }
static inline int __clz(int x) { return x ? __builtin_clz(unsigned(x)) : 32; }
static inline int __clzll(long long x) {
  return x ? __builtin_clzll(static_cast<unsigned long long>(x)) : 64;
}

#define HOST_SHIM_EXPORT(number, ...)                                                           \
  extern "C" int launch_##number(const unsigned *grid, const unsigned *extents, size_t dynamic, \
                                 size_t limit, void **arguments,                                \
                                 const host_shim::Schedule *schedule) {                         \
    return host_shim::launch(&__VA_ARGS__, grid, extents, dynamic, limit, arguments, schedule); \
  }                                                                                             \
  extern "C" const char *signature_##number() {                                                 \
    static const std::string codes = host_shim::signature(&__VA_ARGS__);                        \
    return codes.c_str();                                                                       \
  }

extern "C" const char *launch_error() { return host_shim::message; }
