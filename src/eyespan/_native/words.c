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

/* Returns the end of the piece that begins at `p`. */
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

/* Returns the cost of an ASCII text in parts of a token; -1 if a piece is too long. */
static long long weigh_words(const byte *p, const byte *end, const signed char *weights) {
    long long total = 0;
    for (const byte *after; p < end; p = after) {
        after = end_of_piece(p, end);
        if (after - p > LONG_PIECE)
            return -1;
        total += UNIT + cost_of_piece(p, (size_t)(after - p), weights);
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
    total = weigh_words((const byte *)data, (const byte *)data + size, weights);
    Py_END_ALLOW_THREADS;
    return PyLong_FromLongLong(total);
}
