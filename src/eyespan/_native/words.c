/* The cost of a text word by word. Part of fast.c, which includes this file; tokens.py is its twin.
 *
 * Only ASCII: the twin takes the blocks of a text with other characters, and those with a very long piece. The pieces
 * are those of its regular expression, one character after the other, without going back.
 */

enum {
    UNIT = 32, /* the weights of one token */
    LONG_PIECE = 1024,
    WORD_LENGTHS = 20,
    LEAD_LENGTHS = 6,
    BLANK_LENGTHS = 24,
    CASES = 4,
    LEADS = 24,
    WORDS_AT = 0,
    BY_LEAD_AT = WORDS_AT + 3 * CASES * (WORD_LENGTHS + 1),
    LONG_WORDS_AT = BY_LEAD_AT + (LEADS + 1) * CASES * (LEAD_LENGTHS + 1),
    BLANKS_AT = LONG_WORDS_AT + CASES,
    SIGNS_AT = BLANKS_AT + 2 * (BLANK_LENGTHS + 1) + 1,
    OTHER_WORDS_AT = SIGNS_AT + 2 * (BLANK_LENGTHS + 1) + 1,
    BLOCKS_AT = OTHER_WORDS_AT + 3 * CASES * 4,
    GROUPS_AT = BLOCKS_AT + 2048 + 2048,
    GROUPS = 32768,
    WORD_WEIGHTS = GROUPS_AT + GROUPS,
};

static const char LEAD_SIGNS[LEADS + 1] = "^ .,/-_:;>}\"'`#$*(\t[{@=<";

enum character { LOWER, UPPER, DIGIT, BLANK, FEED, SIGN };

static const byte CHARACTERS[128] = {
    [0 ... 8] = SIGN, [14 ... 27] = SIGN, ['!' ... '/'] = SIGN, [':' ... '@'] = SIGN, ['[' ... '`'] = SIGN,
    ['{' ... 127] = SIGN, ['a' ... 'z'] = LOWER, ['A' ... 'Z'] = UPPER, ['0' ... '9'] = DIGIT,
    [9] = BLANK, [11 ... 12] = BLANK, [28 ... 31] = BLANK, [' '] = BLANK, ['\n'] = FEED, ['\r'] = FEED,
};

static inline enum character character_of(byte c) { return (enum character)CHARACTERS[c & 0x7f]; }

/* Returns the sum of the weights of all three and four neighbours of `p`. */
static long weigh_groups(const byte *p, size_t n, const signed char *groups) {
    long sum = 0;
    for (size_t i = 2; i < n; i++) {
        unsigned a = p[i - 2], b = p[i - 1], c = p[i];
        sum += groups[(a * 0x9E5 + b * 0x1A3B + c * 0x3D) & (GROUPS - 1)];
        if (i > 2)
            sum += groups[(p[i - 3] * 0x2F51u + a * 0x71D + b * 0x1C6F + c * 0xB3) & (GROUPS - 1)];
    }
    return sum;
}

static long cost_of_run(const byte *p, size_t n, const signed char *weights) {
    byte framed[LONG_PIECE + 2];
    int has_line_end = memchr(p, '\n', n) != NULL, is_blank = 1;
    for (size_t i = 0; i < n; i++)
        is_blank &= character_of(p[i]) == BLANK || character_of(p[i]) == FEED;
    size_t start = is_blank ? BLANKS_AT : SIGNS_AT;
    long sum = weights[start + 2 * (n < BLANK_LENGTHS ? n : BLANK_LENGTHS) + (size_t)has_line_end];
    if (n > BLANK_LENGTHS)
        sum += weights[start + 2 * (BLANK_LENGTHS + 1)] * (long)(n - BLANK_LENGTHS);
    if (!is_blank) {
        framed[0] = '^';
        memcpy(framed + 1, p, n);
        framed[n + 1] = '$';
        sum += weigh_groups(framed, n + 2, weights + GROUPS_AT);
    }
    return sum;
}

static long cost_of_word(byte lead, const byte *p, size_t n, const signed char *weights) {
    byte framed[LONG_PIECE + 2];
    size_t lower = 0, upper = 0;
    for (size_t i = 0; i < n; i++) {
        lower += character_of(p[i]) == LOWER;
        upper += character_of(p[i]) == UPPER;
    }
    int starts_upper = character_of(p[0]) == UPPER;
    size_t which = !upper ? 0 : !lower ? 1 : starts_upper && upper == 1 ? 2 : 3;
    size_t before = lead == '^' ? 0 : lead == ' ' ? 1 : 2;
    const char *known = lead ? strchr(LEAD_SIGNS, lead) : NULL;
    size_t number = known ? (size_t)(known - LEAD_SIGNS) + 1 : 0;
    long sum = weights[WORDS_AT + (before * CASES + which) * (WORD_LENGTHS + 1) + (n < WORD_LENGTHS ? n : WORD_LENGTHS)];
    sum += weights[BY_LEAD_AT + (number * CASES + which) * (LEAD_LENGTHS + 1) + (n < LEAD_LENGTHS ? n : LEAD_LENGTHS)];
    if (n > WORD_LENGTHS)
        sum += weights[LONG_WORDS_AT + which] * (long)(n - WORD_LENGTHS);
    framed[0] = lead;
    memcpy(framed + 1, p, n);
    if (which == 2)
        framed[1] |= 0x20;
    framed[n + 1] = '$';
    return sum + weigh_groups(framed, n + 2, weights + GROUPS_AT);
}

/* Returns the length of `'s`, `'re` and the like. */
static size_t length_of_ending(const byte *p, const byte *end) {
    if (end - p < 2 || p[0] != '\'')
        return 0;
    byte first = p[1] | 0x20, second = end - p > 2 ? p[2] | 0x20 : 0;
    if (character_of(p[1]) > UPPER)
        return 0;
    if (first == 's' || first == 't' || first == 'm' || first == 'd')
        return 2;
    int is_pair = (first == 'r' && second == 'e') || (first == 'v' && second == 'e') || (first == 'l' && second == 'l');
    return is_pair && character_of(p[2]) <= UPPER ? 3 : 0;
}

/* Returns the end of the letters of a word: capitals and then small letters. */
static const byte *end_of_word(const byte *p, const byte *end) {
    while (p < end && character_of(*p) == UPPER)
        p++;
    while (p < end && character_of(*p) == LOWER)
        p++;
    return p + length_of_ending(p, end);
}

/* Returns the end of a run of blanks as a piece: after its last line end, or before its last blank. */
static const byte *end_of_blanks(const byte *p, const byte *end) {
    const byte *at = p, *after_feed = NULL;
    for (; at < end; at++) {
        enum character kind = character_of(*at);
        if (kind == FEED)
            after_feed = at + 1;
        else if (kind != BLANK)
            break;
    }
    if (after_feed != NULL)
        return after_feed;
    return at < end && at - p > 1 ? at - 1 : at;
}

/* The end of a piece is found in bit sets of the kinds of characters, and its cost by a table of the pieces before it:
 * loops over the few characters of a piece would take most of the time, because no processor can predict their ends. */
enum {
    WINDOW = 4096, /* characters whose kinds are in the bit sets at once */
    REACH = 64,    /* characters of a piece that are looked at; a longer one is measured character by character */
    SETS = WINDOW / 64 + 2,
    KNOWN = 4096, /* pieces whose cost is remembered */
    KNOWN_SIZE = 16,
    FEW = 16384, /* characters of a text that is too short to remember anything */
};

struct kinds {
    uint64_t lower[SETS], upper[SETS], sign[SETS], feed[SETS], blank[SETS]; /* feeds are blanks too */
};

struct known {
    uint64_t first, second; /* the bytes of the piece */
    uint32_t size, cost;
};

static void sort_characters(const byte *p, size_t size, struct kinds *kinds) {
    memset(kinds, 0, sizeof *kinds);
    size_t at = 0;
#ifdef USE_SSE2
#define WITHIN(low, high) _mm_cmpgt_epi8(_mm_set1_epi8((char)((high) - (low) + 1 - 128)), _mm_add_epi8(row, _mm_set1_epi8((char)(128 - (low)))))
#define IS(c) _mm_cmpeq_epi8(row, _mm_set1_epi8(c))
#define NOTE(set, found) kinds->set[at / 64] |= (uint64_t)(unsigned)_mm_movemask_epi8(found) << at % 64
    for (; size - at >= 16; at += 16) {
        __m128i row = _mm_loadu_si128((const __m128i *)(p + at));
        __m128i lower = WITHIN('a', 'z'), upper = WITHIN('A', 'Z'), feed = _mm_or_si128(IS('\n'), IS('\r'));
        __m128i blank = _mm_or_si128(_mm_or_si128(IS(' '), WITHIN(9, 13)), WITHIN(28, 31));
        __m128i others = _mm_or_si128(_mm_or_si128(lower, upper), _mm_or_si128(blank, WITHIN('0', '9')));
        NOTE(lower, lower);
        NOTE(upper, upper);
        NOTE(feed, feed);
        NOTE(blank, blank);
        NOTE(sign, _mm_andnot_si128(others, _mm_set1_epi8(-1)));
    }
#undef WITHIN
#undef IS
#undef NOTE
#endif
    for (; at < size; at++) {
        uint64_t bit = (uint64_t)1 << at % 64;
        enum character kind = character_of(p[at]);
        kinds->lower[at / 64] |= kind == LOWER ? bit : 0;
        kinds->upper[at / 64] |= kind == UPPER ? bit : 0;
        kinds->sign[at / 64] |= kind == SIGN ? bit : 0;
        kinds->feed[at / 64] |= kind == FEED ? bit : 0;
        kinds->blank[at / 64] |= kind == BLANK || kind == FEED ? bit : 0;
    }
}

/* Returns the 64 bits from `at` on. */
static inline uint64_t bits_at(const uint64_t *set, size_t at) {
    size_t word = at / 64, shift = at % 64;
    return set[word] >> shift | set[word + 1] << 1 << (63 - shift);
}

/* Returns how many of the lowest bits are set; 64 if all are. */
static inline size_t count_ones(uint64_t bits) { return ~bits ? (size_t)__builtin_ctzll(~bits) : 64; }

/* Returns the end of the piece that begins at `p`, one character after the other. */
static const byte *end_of_piece(const byte *p, const byte *end) {
    const byte *start = p;
    enum character kind = character_of(*p), next = p + 1 < end ? character_of(p[1]) : FEED;
    if (kind <= UPPER)
        return end_of_word(p, end);
    if (kind >= BLANK && kind != FEED && next <= UPPER)
        return end_of_word(p + 1, end);
    if (kind == DIGIT) {
        do
            p++;
        while (p < end && p - start < 3 && character_of(*p) == DIGIT);
        return p;
    }
    if (kind != SIGN && !(*p == ' ' && next == SIGN))
        return end_of_blanks(p, end);
    do
        p++;
    while (p < end && character_of(*p) == SIGN);
    while (p < end && (*p == '\r' || *p == '\n' || *p == '/'))
        p++;
    return p;
}

/* Returns the same by the bit sets of a window that begins at `base`; NULL if the piece is too long for that. */
static inline const byte *end_in_sets(const byte *p, const byte *end, const byte *base, const struct kinds *kinds) {
    size_t at = (size_t)(p - base), length;
    enum character kind = character_of(*p), next = p + 1 < end ? character_of(p[1]) : FEED;
    if (kind <= UPPER || (kind >= BLANK && kind != FEED && next <= UPPER)) {
        size_t lead = kind > UPPER, capitals = count_ones(bits_at(kinds->upper, at + lead));
        if (capitals >= REACH / 2)
            return NULL;
        length = lead + capitals + count_ones(bits_at(kinds->lower, at + lead + capitals));
        if (length >= REACH)
            return NULL;
        p += length;
        return p < end && *p == '\'' ? p + length_of_ending(p, end) : p;
    }
    if (kind == DIGIT) {
        for (length = 1; length < 3 && p + length < end && character_of(p[length]) == DIGIT;)
            length++;
        return p + length;
    }
    if (kind == SIGN || (*p == ' ' && next == SIGN)) {
        size_t lead = kind != SIGN;
        length = lead + count_ones(bits_at(kinds->sign, at + lead));
        if (length >= REACH)
            return NULL;
        for (p += length; p < end && (*p == '\r' || *p == '\n' || *p == '/');)
            p++;
        return p;
    }
    length = count_ones(bits_at(kinds->blank, at));
    if (length >= REACH)
        return NULL;
    uint64_t feeds = bits_at(kinds->feed, at) & (((uint64_t)1 << length) - 1);
    if (feeds)
        return p + 64 - __builtin_clzll(feeds);
    return p + length < end && length > 1 ? p + length - 1 : p + length;
}

/* Returns the cost of a piece beyond one token. */
static long cost_of_piece(const byte *p, size_t size, const signed char *weights) {
    enum character kind = character_of(*p);
    long sum;
    if (kind == DIGIT)
        return 0;
    if (kind <= UPPER)
        sum = cost_of_word('^', p, size, weights);
    else if (size > 1 && character_of(p[1]) <= UPPER)
        sum = cost_of_word(*p, p + 1, size - 1, weights);
    else
        sum = cost_of_run(p, size, weights);
    return sum > 0 ? sum : 0;
}

/* Returns the place of a piece of at most KNOWN_SIZE bytes in the table, with its key in `key`. */
static inline struct known *place_of_piece(const byte *p, size_t size, struct known *table, struct known *key) {
    key->first = load_eight(p) & (size < 8 ? ((uint64_t)1 << 8 * size) - 1 : UINT64_MAX);
    key->second = size <= 8 ? 0 : load_eight(p + 8) & (size < 16 ? ((uint64_t)1 << 8 * (size - 8)) - 1 : UINT64_MAX);
    key->size = (uint32_t)size;
    uint64_t mixed = (key->first ^ key->second * 0x9e3779b97f4a7c15u ^ size) * 0xd6e8feb86659fd93u;
    return table + (mixed >> 32 & (KNOWN - 1));
}

/* Returns the cost of an ASCII text in parts of a token; -1 if a piece is too long. `table` is empty, or NULL. */
static long long weigh_words(const byte *p, const byte *end, const signed char *weights, struct known *table) {
    struct kinds kinds;
    const byte *base = p, *ready = p; /* the window, and the first place from which its sets do not reach far enough */
    long long total = 0;
    while (p < end) {
        if (p >= ready) {
            size_t size = (size_t)(end - p) < WINDOW ? (size_t)(end - p) : WINDOW;
            sort_characters(p, size, &kinds);
            base = p;
            ready = p + size == end ? end : p + size - 2 * REACH;
        }
        const byte *after = end_in_sets(p, end, base, &kinds);
        if (after == NULL)
            after = end_of_piece(p, end);
        size_t size = (size_t)(after - p);
        if (size > LONG_PIECE)
            return -1;
        total += UNIT;
        if (table != NULL && size <= KNOWN_SIZE && (size_t)(end - p) >= KNOWN_SIZE) {
            struct known key, *known = place_of_piece(p, size, table, &key);
            if (known->first != key.first || known->second != key.second || known->size != key.size) {
                key.cost = (uint32_t)cost_of_piece(p, size, weights);
                *known = key;
            }
            total += known->cost;
        } else
            total += cost_of_piece(p, size, weights);
        p = after;
    }
    return total;
}

static PyObject *py_weigh_words(PyObject *self, PyObject *const *args, Py_ssize_t count) {
    (void)self;
    Py_ssize_t size;
    if (count != 2 || !PyUnicode_Check(args[0]) || !PyBytes_Check(args[1]) || PyBytes_Size(args[1]) != WORD_WEIGHTS) {
        PyErr_SetString(PyExc_ValueError, "weigh_words takes a text and its weights");
        return NULL;
    }
    const char *data = PyUnicode_AsUTF8AndSize(args[0], &size);
    if (data == NULL)
        return NULL;
    if (size != PyUnicode_GetLength(args[0])) {
        PyErr_SetString(PyExc_ValueError, "weigh_words takes ASCII");
        return NULL;
    }
    const signed char *weights = (const signed char *)PyBytes_AsString(args[1]);
    long long total;
    Py_BEGIN_ALLOW_THREADS;
    struct known *table = size > FEW ? calloc(KNOWN, sizeof *table) : NULL; /* without memory it takes longer */
    total = weigh_words((const byte *)data, (const byte *)data + size, weights, table);
    free(table);
    Py_END_ALLOW_THREADS;
    return PyLong_FromLongLong(total);
}
