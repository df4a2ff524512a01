/* BLAKE2b without a key (RFC 7693), for digests of eight bytes. Part of fast.c, which includes this file. */

enum { BLAKE_BLOCK = 128, BLAKE_ROUNDS = 12 };

struct blake {
    uint64_t state[8];
    uint64_t counted; /* bytes; a file of this size never has 2**64 */
    size_t filled;
    byte block[BLAKE_BLOCK];
};

static const uint64_t BLAKE_START[8] = {
    0x6a09e667f3bcc908u, 0xbb67ae8584caa73bu, 0x3c6ef372fe94f82bu, 0xa54ff53a5f1d36f1u,
    0x510e527fade682d1u, 0x9b05688c2b3e6c1fu, 0x1f83d9abfb41bd6bu, 0x5be0cd19137e2179u,
};

static inline uint64_t blake_word(const byte *p) {
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    return load_eight(p);
#else
    uint64_t found = 0;
    for (int i = 7; i >= 0; i--)
        found = found << 8 | p[i];
    return found;
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

static void blake_block(struct blake *blake, const byte *p, int is_last) {
    uint64_t m[16], *h = blake->state;
    for (int i = 0; i < 16; i++)
        m[i] = blake_word(p + 8 * i);
    uint64_t v0 = h[0], v1 = h[1], v2 = h[2], v3 = h[3], v4 = h[4], v5 = h[5], v6 = h[6], v7 = h[7];
    uint64_t v8 = BLAKE_START[0], v9 = BLAKE_START[1], v10 = BLAKE_START[2], v11 = BLAKE_START[3];
    uint64_t v12 = BLAKE_START[4] ^ blake->counted, v13 = BLAKE_START[5];
    uint64_t v14 = is_last ? ~BLAKE_START[6] : BLAKE_START[6], v15 = BLAKE_START[7];
    ROUNDS;
    h[0] ^= v0 ^ v8;
    h[1] ^= v1 ^ v9;
    h[2] ^= v2 ^ v10;
    h[3] ^= v3 ^ v11;
    h[4] ^= v4 ^ v12;
    h[5] ^= v5 ^ v13;
    h[6] ^= v6 ^ v14;
    h[7] ^= v7 ^ v15;
}

static void blake_start(struct blake *blake, unsigned digest_size) {
    memcpy(blake->state, BLAKE_START, sizeof blake->state);
    blake->state[0] ^= 0x01010000u ^ digest_size;
    blake->counted = 0;
    blake->filled = 0;
}

static void blake_add(struct blake *blake, const byte *p, size_t size) {
    while (size) {
        if (blake->filled == BLAKE_BLOCK) { /* more follows, so it is not the last one */
            blake->counted += BLAKE_BLOCK;
            blake_block(blake, blake->block, 0);
            blake->filled = 0;
        }
        if (blake->filled == 0)
            for (; size > BLAKE_BLOCK; p += BLAKE_BLOCK, size -= BLAKE_BLOCK) {
                blake->counted += BLAKE_BLOCK;
                blake_block(blake, p, 0);
            }
        size_t some = BLAKE_BLOCK - blake->filled < size ? BLAKE_BLOCK - blake->filled : size;
        memcpy(blake->block + blake->filled, p, some);
        blake->filled += some;
        p += some;
        size -= some;
    }
}

/* Returns the first eight bytes of the digest as a number, the first byte highest. */
static uint64_t blake_end(struct blake *blake) {
    memset(blake->block + blake->filled, 0, BLAKE_BLOCK - blake->filled);
    blake->counted += blake->filled;
    blake_block(blake, blake->block, 1);
    uint64_t found = 0;
    for (int i = 0; i < 8; i++)
        found = found << 8 | (blake->state[0] >> (8 * i) & 0xff);
    return found;
}
#undef TURN
#undef MIX
#undef ROUND
#undef ROUNDS
