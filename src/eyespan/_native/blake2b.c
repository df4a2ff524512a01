/* BLAKE2b without a key (RFC 7693), for digests of eight bytes. Part of fast.c, which includes this file.
 *
 * Four messages at once take little longer than one, where the processor has AVX2: each is one lane of the vectors. */

enum { BLAKE_BLOCK = 128, BLAKE_ROUNDS = 12 };

struct blake {
    uint64_t state[8];
    uint64_t counted; /* bytes; no message here has 2**64 */
};

static const uint64_t BLAKE_START[8] = {
    0x6a09e667f3bcc908u, 0xbb67ae8584caa73bu, 0x3c6ef372fe94f82bu, 0xa54ff53a5f1d36f1u,
    0x510e527fade682d1u, 0x9b05688c2b3e6c1fu, 0x1f83d9abfb41bd6bu, 0x5be0cd19137e2179u,
};

static inline uint64_t blake_word(const byte *p) {
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    return load_eight(p);
#else
    return __builtin_bswap64(load_eight(p));
#endif
}

#define TURN(x, n) ((x) >> (n) | (x) << (64 - (n)))
#define MIX(a, b, c, d, x, y)                                                                                          \
    do {                                                                                                               \
        a += b + (x);                                                                                                  \
        d = TURN(d ^ a, 32);                                                                                           \
        c += d;                                                                                                        \
        b = TURN(b ^ c, 24);                                                                                           \
        a += b + (y);                                                                                                  \
        d = TURN(d ^ a, 16);                                                                                           \
        c += d;                                                                                                        \
        b = TURN(b ^ c, 63);                                                                                           \
    } while (0)
#define ROUND(s0, s1, s2, s3, s4, s5, s6, s7, s8, s9, s10, s11, s12, s13, s14, s15)                                    \
    do {                                                                                                               \
        MIX(v0, v4, v8, v12, m[s0], m[s1]);                                                                            \
        MIX(v1, v5, v9, v13, m[s2], m[s3]);                                                                            \
        MIX(v2, v6, v10, v14, m[s4], m[s5]);                                                                           \
        MIX(v3, v7, v11, v15, m[s6], m[s7]);                                                                           \
        MIX(v0, v5, v10, v15, m[s8], m[s9]);                                                                           \
        MIX(v1, v6, v11, v12, m[s10], m[s11]);                                                                         \
        MIX(v2, v7, v8, v13, m[s12], m[s13]);                                                                          \
        MIX(v3, v4, v9, v14, m[s14], m[s15]);                                                                          \
    } while (0)
#define ROUNDS                                                                                                         \
    do {                                                                                                               \
        ROUND(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);                                                   \
        ROUND(14, 10, 4, 8, 9, 15, 13, 6, 1, 12, 0, 2, 11, 7, 5, 3);                                                   \
        ROUND(11, 8, 12, 0, 5, 2, 15, 13, 10, 14, 3, 6, 7, 1, 9, 4);                                                   \
        ROUND(7, 9, 3, 1, 13, 12, 11, 14, 2, 6, 5, 10, 4, 0, 15, 8);                                                   \
        ROUND(9, 0, 5, 7, 2, 4, 10, 15, 14, 1, 11, 12, 6, 8, 3, 13);                                                   \
        ROUND(2, 12, 6, 10, 0, 11, 8, 3, 4, 13, 7, 5, 15, 14, 1, 9);                                                   \
        ROUND(12, 5, 1, 15, 14, 13, 4, 10, 0, 7, 6, 3, 9, 2, 8, 11);                                                   \
        ROUND(13, 11, 7, 14, 12, 1, 3, 9, 5, 0, 15, 4, 8, 6, 2, 10);                                                   \
        ROUND(6, 15, 14, 9, 11, 3, 0, 8, 12, 2, 13, 7, 1, 4, 10, 5);                                                   \
        ROUND(10, 2, 8, 4, 7, 6, 1, 5, 15, 11, 9, 14, 3, 12, 13, 0);                                                   \
        ROUND(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);                                                   \
        ROUND(14, 10, 4, 8, 9, 15, 13, 6, 1, 12, 0, 2, 11, 7, 5, 3);                                                   \
    } while (0)

/* Adds the 16 words to the state `h`. */
#define ADD_TO_STATE                                                                                                   \
    do {                                                                                                               \
        h[0] ^= v0 ^ v8;                                                                                               \
        h[1] ^= v1 ^ v9;                                                                                               \
        h[2] ^= v2 ^ v10;                                                                                              \
        h[3] ^= v3 ^ v11;                                                                                              \
        h[4] ^= v4 ^ v12;                                                                                              \
        h[5] ^= v5 ^ v13;                                                                                              \
        h[6] ^= v6 ^ v14;                                                                                              \
        h[7] ^= v7 ^ v15;                                                                                              \
    } while (0)

static void blake_block(struct blake *blake, const byte *p, int is_last) {
    uint64_t m[16], *h = blake->state;
    for (int i = 0; i < 16; i++)
        m[i] = blake_word(p + 8 * i);
    uint64_t v0 = h[0], v1 = h[1], v2 = h[2], v3 = h[3], v4 = h[4], v5 = h[5], v6 = h[6], v7 = h[7];
    uint64_t v8 = BLAKE_START[0], v9 = BLAKE_START[1], v10 = BLAKE_START[2], v11 = BLAKE_START[3];
    uint64_t v12 = BLAKE_START[4] ^ blake->counted, v13 = BLAKE_START[5];
    uint64_t v14 = is_last ? ~BLAKE_START[6] : BLAKE_START[6], v15 = BLAKE_START[7];
    ROUNDS;
    ADD_TO_STATE;
}

/* A message: its bytes, followed by zeros up to a multiple of BLAKE_BLOCK, and the first eight bytes of its digest as a
 * number, the first byte highest. */
struct message {
    const byte *at;
    size_t size;
    uint64_t value;
};

enum { DIGEST_SIZE = 8 };

static uint64_t first_word(uint64_t state) { return __builtin_bswap64(state); }

static size_t count_blocks(size_t size) { return size ? (size + BLAKE_BLOCK - 1) / BLAKE_BLOCK : 1; }

static void hash_message(struct message *message) {
    struct blake blake;
    memcpy(blake.state, BLAKE_START, sizeof blake.state);
    blake.state[0] ^= 0x01010000u ^ DIGEST_SIZE;
    size_t blocks = count_blocks(message->size);
    for (size_t i = 0; i < blocks; i++) {
        blake.counted = i + 1 < blocks ? (i + 1) * BLAKE_BLOCK : message->size;
        blake_block(&blake, message->at + i * BLAKE_BLOCK, i + 1 == blocks);
    }
    message->value = first_word(blake.state[0]);
}
#undef TURN
#undef MIX

#ifdef USE_AVX2
enum { LANES = 4 };
typedef uint64_t lanes __attribute__((vector_size(8 * LANES)));

/* The state of four messages, their next blocks and the bytes up to the ends of these. */
struct lane_state {
    lanes h[8], counted, is_last;
    const byte *at[LANES];
};

#define TURN_BYTES(x, order) ((lanes)_mm256_shuffle_epi8((__m256i)(x), order))
#define MIX(a, b, c, d, x, y)                                                                                          \
    do {                                                                                                               \
        a += b + (x);                                                                                                  \
        d = (lanes)_mm256_shuffle_epi32((__m256i)(d ^ a), 0xb1);                                                       \
        c += d;                                                                                                        \
        b = TURN_BYTES(b ^ c, by_24);                                                                                  \
        a += b + (y);                                                                                                  \
        d = TURN_BYTES(d ^ a, by_16);                                                                                  \
        c += d;                                                                                                        \
        b ^= c;                                                                                                        \
        b = b >> 63 | (b + b);                                                                                         \
    } while (0)

/* Takes in one block of each message. */
__attribute__((target("avx2"))) static void mix_lanes(struct lane_state *state) {
    const __m256i by_24 = _mm256_setr_epi8(3, 4, 5, 6, 7, 0, 1, 2, 11, 12, 13, 14, 15, 8, 9, 10, 3, 4, 5, 6, 7, 0, 1, 2,
                                           11, 12, 13, 14, 15, 8, 9, 10);
    const __m256i by_16 = _mm256_setr_epi8(2, 3, 4, 5, 6, 7, 0, 1, 10, 11, 12, 13, 14, 15, 8, 9, 2, 3, 4, 5, 6, 7, 0, 1,
                                           10, 11, 12, 13, 14, 15, 8, 9);
    lanes m[16], *h = state->h;
    for (int i = 0; i < 16; i += 4) {
        __m256i a = _mm256_loadu_si256((const __m256i *)(const void *)(state->at[0] + 8 * i));
        __m256i b = _mm256_loadu_si256((const __m256i *)(const void *)(state->at[1] + 8 * i));
        __m256i c = _mm256_loadu_si256((const __m256i *)(const void *)(state->at[2] + 8 * i));
        __m256i d = _mm256_loadu_si256((const __m256i *)(const void *)(state->at[3] + 8 * i));
        __m256i even_ab = _mm256_unpacklo_epi64(a, b), odd_ab = _mm256_unpackhi_epi64(a, b);
        __m256i even_cd = _mm256_unpacklo_epi64(c, d), odd_cd = _mm256_unpackhi_epi64(c, d);
        m[i] = (lanes)_mm256_permute2x128_si256(even_ab, even_cd, 0x20);
        m[i + 1] = (lanes)_mm256_permute2x128_si256(odd_ab, odd_cd, 0x20);
        m[i + 2] = (lanes)_mm256_permute2x128_si256(even_ab, even_cd, 0x31);
        m[i + 3] = (lanes)_mm256_permute2x128_si256(odd_ab, odd_cd, 0x31);
    }
    const lanes none = {0};
    lanes v0 = h[0], v1 = h[1], v2 = h[2], v3 = h[3], v4 = h[4], v5 = h[5], v6 = h[6], v7 = h[7];
    lanes v8 = none + BLAKE_START[0], v9 = none + BLAKE_START[1], v10 = none + BLAKE_START[2], v11 = none + BLAKE_START[3];
    lanes v12 = state->counted ^ BLAKE_START[4], v13 = none + BLAKE_START[5];
    lanes v14 = state->is_last ^ BLAKE_START[6], v15 = none + BLAKE_START[7];
    ROUNDS;
    ADD_TO_STATE;
}

/* Hashes all messages. A lane whose message ends takes the next one; without one it hashes zeros. */
__attribute__((target("avx2"))) static void hash_in_lanes(struct message *messages, size_t count) {
    static const byte zeros[BLAKE_BLOCK];
    struct lane_state state;
    struct message *of[LANES];
    size_t left[LANES], next = 0, open = 0;
    memset(&state, 0, sizeof state);
    for (int lane = 0; lane < LANES; lane++) {
        of[lane] = NULL;
        left[lane] = 0;
        state.at[lane] = zeros;
    }
    for (;;) {
        for (int lane = 0; lane < LANES; lane++) {
            if (left[lane])
                continue;
            if (of[lane] != NULL) {
                of[lane]->value = first_word(state.h[0][lane]);
                of[lane] = NULL;
                state.at[lane] = zeros;
                open--;
            }
            if (next < count) {
                of[lane] = messages + next++;
                left[lane] = count_blocks(of[lane]->size);
                state.at[lane] = of[lane]->at;
                state.counted[lane] = 0;
                for (int i = 0; i < 8; i++)
                    state.h[i][lane] = BLAKE_START[i];
                state.h[0][lane] ^= 0x01010000u ^ DIGEST_SIZE;
                open++;
            }
        }
        if (!open)
            return;
        for (int lane = 0; lane < LANES; lane++) {
            int is_last = left[lane] == 1;
            state.is_last[lane] = is_last ? UINT64_MAX : 0;
            if (of[lane] != NULL)
                state.counted[lane] = is_last ? of[lane]->size : state.counted[lane] + BLAKE_BLOCK;
        }
        mix_lanes(&state);
        for (int lane = 0; lane < LANES; lane++)
            if (of[lane] != NULL) {
                left[lane]--;
                state.at[lane] += BLAKE_BLOCK;
            }
    }
}
#undef TURN_BYTES
#undef MIX
#endif
#undef ROUND
#undef ROUNDS

static void hash_messages(struct message *messages, size_t count) {
#ifdef USE_AVX2
    if (has_avx2 && count > 1) {
        hash_in_lanes(messages, count);
        return;
    }
#endif
    for (size_t i = 0; i < count; i++)
        hash_message(messages + i);
}
