/* Many small text files: from names to the parts of a native answer in one call. Part of fast.c, which includes this file.
 *
 * Each file is opened, checked and read as by small_files.c. Its part is the header that native writes and all of its
 * lines with their gutter. Only texts without anything to note are taken: UTF-8 without hidden characters, whose lines
 * all end in a line feed, indented in one way, of no other kind and no other encoding. Everything else, and every
 * failure, is left out, and the ordinary steps in Python begin with that file. So a part is never different from theirs.
 */

#ifdef __linux__
enum {
    BATCH_FILES = 1024,
    HASH_DIGITS = 12,
    HEADER_AT_MOST = 128, /* bytes of a header beside the path */
    JUNCTION = 16,        /* bytes on each side of a border between parts by which the cost of the whole is found */
    DECLARED = 4096,      /* bytes in which a text declares its encoding */
    FIRST_BYTES = 2048,   /* bytes in which a signature is completed */
    CHECKSUM_AT = 148,    /* the place of the checksum in the header of a tar archive, and its bytes */
    CHECKSUM_SIZE = 8,
    TAR_BLOCK = 512,
    SIGNATURES_AT_MOST = 64,
    AFTER_BLANKS = -1,
    PENDING = 32, /* parts that are hashed together, and about their bytes */
    PENDING_BYTES = 128 << 10,
};
static const uint64_t HASHES = 1000000000000u;
static const char PLACE[] = "\0" "1:1\0"; /* the first character of the first line */

/* The first bytes of a kind of file: `start` at a place, and `rest` anywhere in the first bytes. */
struct signature {
    Py_ssize_t place; /* AFTER_BLANKS: after blanks and line ends */
    const byte *start, *rest;
    size_t start_size, rest_size;
};

/* What is the same for all files of a call. */
struct batch {
    int directory, handles;
    int64_t device;
    size_t most, max_rows, every, max_bytes;
    uint64_t max_weight;
    const char *mark;
    size_t mark_size;
    const struct scale *scale;
    struct signature signatures[SIGNATURES_AT_MOST];
    size_t signature_count;
};

/* One file: its name beneath the directory, as it is shown, and its part of the answer. */
struct part {
    const char *path, *shown;
    size_t path_size, shown_size;
    int is_done;
    size_t from, hash_at;        /* its place in the text, and that of the hash in its header */
    size_t chars;                /* characters of the part */
    size_t rows, first_hash;     /* lines, and the place of the first one's hash */
    uint64_t weight, value;      /* the cost, and the hash of the contents */
    size_t size;
    long long modified_ns;
};

/* The parts of a call as they are made. */
struct answer {
    struct scratch text, hashes, file, pending;
    size_t used, hash_count, pending_used, pending_count;
    struct part *waiting[PENDING]; /* for their hashes; `pending` has what is hashed */
    uint64_t weight; /* of the whole text */
};

static int has_at(const byte *data, size_t size, size_t at, const byte *start, size_t start_size) {
    return size >= at && size - at >= start_size && memcmp(data + at, start, start_size) == 0;
}

/* Returns 1 if the text begins as one of another kind: kinds.py decides then. */
static int may_be_document(const byte *data, size_t size, const struct batch *batch) {
    size_t blanks = 0, first_bytes = size < FIRST_BYTES ? size : FIRST_BYTES;
    while (blanks < first_bytes && (data[blanks] == ' ' || data[blanks] == '\t' || data[blanks] == '\n'))
        blanks++;
    for (size_t i = 0; i < batch->signature_count; i++) {
        const struct signature *one = batch->signatures + i;
        size_t at = one->place == AFTER_BLANKS ? blanks : (size_t)one->place;
        if (has_at(data, size, at, one->start, one->start_size) &&
            (!one->rest_size || memmem(data, first_bytes, one->rest, one->rest_size) != NULL))
            return 1;
    }
    if (size < TAR_BLOCK)
        return 0;
    int has_digit = 0;
    for (size_t i = CHECKSUM_AT; i < CHECKSUM_AT + CHECKSUM_SIZE; i++) {
        int is_digit = data[i] >= '0' && data[i] <= '9';
        if (data[i] != ' ' && !is_digit)
            return 0;
        has_digit |= is_digit;
    }
    return has_digit;
}

/* Returns 1 for a character that is always visible and costs the tokens of its class: not all of those, but nearly all
 * that texts have. text_facts.py knows the hidden characters, tokens.py those that cost more. */
static int is_usual(unsigned long code) {
    if (code < 0x700)
        return code >= 0xa0 && code != 0xad && code != 0x34f && code != 0x61c;
    if (code < 0x2c00)
        return (code >= 0x2010 && code < 0x2028) || (code >= 0x202f && code < 0x2060) || code >= 0x2070;
    return (code >= 0x3000 && code < 0x3164) || (code >= 0x4e00 && code < 0xa000) || (code >= 0xac00 && code < 0xd7a4) ||
           (code >= 0xff01 && code < 0xff61) || (code >= 0x1f300 && code < 0x1fb00);
}

/* Checks the characters outside ASCII from `at` on; returns 0 if one is invalid or unusual. */
static int are_usual(const byte *p, size_t size) {
    for (size_t at = 0; at < size;) {
        if (p[at] < 0x80) {
            at += measure_ascii(p + at, size - at);
            continue;
        }
        int is_whole;
        size_t length = measure(p + at, size - at, &is_whole);
        unsigned long code = length == 2 ? p[at] & 0x1fu : length == 3 ? p[at] & 0x0fu : p[at] & 0x07u;
        if (!is_whole || length < 2)
            return 0;
        for (size_t i = 1; i < length; i++)
            code = code << 6 | (p[at + i] & 0x3fu);
        if (!is_usual(code))
            return 0;
        at += length;
    }
    return 1;
}

/* Returns 1 if the `-` at `at` is that of "utf-7" or "hz-gb": ASCII text may declare these encodings of other texts. */
static int may_declare(const byte *p, size_t size, size_t at) {
    byte name[6] = {0};
    if (at < 2 || size - at < 2)
        return 0;
    for (size_t i = 0; i < 5 && at - 2 + i < size; i++)
        name[i] = p[at - 2 + i] | 0x20;
    return memcmp(name, "tf-7", 4) == 0 || memcmp(name, "hz-gb", 5) == 0;
}

/* Returns 1 for text in UTF-8 of usual characters that declares no other encoding. Notes tabs and other characters. */
static int is_usual_text(const byte *p, size_t size, int *has_tab, int *is_ascii) {
    size_t at = 0, declared = size < DECLARED ? size : DECLARED;
    unsigned tabs = 0, beyond = 0;
#ifdef USE_SSE2
    const __m128i tab = _mm_set1_epi8('\t'), feed = _mm_set1_epi8('\n'), low = _mm_set1_epi8(0x20);
    const __m128i rubout = _mm_set1_epi8(0x7f), zero = _mm_setzero_si128();
    for (; size - at >= 16; at += 16) {
        __m128i row = _mm_loadu_si128((const __m128i *)(p + at)), is_tab = _mm_cmpeq_epi8(row, tab);
        /* As signed numbers, bytes outside ASCII are below 0x20 too. */
        __m128i odd = _mm_andnot_si128(_mm_or_si128(is_tab, _mm_cmpeq_epi8(row, feed)), _mm_cmpgt_epi8(low, row));
        odd = _mm_andnot_si128(_mm_cmpgt_epi8(zero, row), odd);
        if (_mm_movemask_epi8(_mm_or_si128(odd, _mm_cmpeq_epi8(row, rubout))))
            return 0;
        beyond |= (unsigned)_mm_movemask_epi8(row);
        tabs |= (unsigned)_mm_movemask_epi8(is_tab);
    }
#endif
    for (; at < size; at++) {
        if (p[at] != '\t' && p[at] != '\n' && (p[at] < 0x20 || p[at] == 0x7f))
            return 0;
        tabs |= p[at] == '\t';
        beyond |= p[at] >= 0x80;
    }
    *has_tab = tabs != 0;
    *is_ascii = beyond == 0;
    if (beyond)
        return are_usual(p, size);
    for (const byte *dash = p; (dash = memchr(dash, '-', declared - (size_t)(dash - p))) != NULL; dash++)
        if (may_declare(p, size, (size_t)(dash - p)))
            return 0;
    return 1;
}

/* Returns 1 if a line begins with two blanks. */
static int has_blanks(const byte *p, size_t size) {
    return (size > 1 && p[0] == ' ' && p[1] == ' ') || memmem(p, size, "\n  ", 3) != NULL;
}

static byte *write_number(byte *to, uint64_t number) {
    byte digits[24];
    int count = 0;
    do
        digits[count++] = (byte)('0' + number % 10);
    while (number /= 10);
    while (count)
        *to++ = digits[--count];
    return to;
}

static byte *write_text(byte *to, const char *text, size_t size) {
    memcpy(to, text, size);
    return to + size;
}

static void write_hash(byte *to, uint64_t value) {
    for (int i = HASH_DIGITS - 1; i >= 0; i--, value /= 10)
        to[i] = (byte)('0' + value % 10);
}

/* Writes the line before the rows, with zeros for the hash; returns its end. Every hash costs the same tokens. */
static byte *write_header(byte *to, const struct part *part) {
    to = write_text(to, "> ", 2);
    to = write_text(to, part->shown, part->shown_size);
    to = write_text(to, ":1", 2);
    if (part->rows > 1) {
        *to++ = '-';
        to = write_number(to, part->rows);
    }
    *to++ = '/';
    to = write_number(to, part->rows);
    to = write_text(to, " #", 2);
    write_hash(to, 0);
    to[HASH_DIGITS] = '\n';
    return to + HASH_DIGITS + 1;
}

/* Hashes the contents of the parts that wait for it, and writes the hashes into their headers. */
static void hash_parts(struct answer *answer) {
    struct message messages[PENDING];
    const byte *at = answer->pending.at;
    for (size_t i = 0; i < answer->pending_count; i++) {
        const struct part *part = answer->waiting[i];
        messages[i].at = at;
        messages[i].size = part->path_size + sizeof PLACE - 1 + part->size;
        at += count_blocks(messages[i].size) * BLAKE_BLOCK;
    }
    hash_messages(messages, answer->pending_count);
    for (size_t i = 0; i < answer->pending_count; i++) {
        struct part *part = answer->waiting[i];
        part->value = messages[i].value % HASHES;
        write_hash(answer->text.at + part->hash_at, part->value);
    }
    answer->pending_count = answer->pending_used = 0;
}

/* Adds what is hashed of a part: the path, the place and the lines, as in versions.py. Returns 0 without memory. */
static int add_message(struct answer *answer, struct part *part, const byte *data, size_t size) {
    size_t whole = part->path_size + sizeof PLACE - 1 + size, padded = count_blocks(whole) * BLAKE_BLOCK;
    if (answer->pending.size < answer->pending_used + padded &&
        !grow_scratch(&answer->pending, (answer->pending_used + padded) * 3 / 2))
        return 0;
    byte *to = answer->pending.at + answer->pending_used;
    to = write_text(to, part->path, part->path_size);
    to = write_text(to, PLACE, sizeof PLACE - 1);
    to = write_text(to, (const char *)data, size);
    memset(to, 0, padded - whole);
    answer->waiting[answer->pending_count++] = part;
    answer->pending_used += padded;
    return 1;
}

/* Returns the cost that a line end between two texts adds to theirs. */
static uint64_t weigh_border(const byte *border, const struct scale *scale) {
    byte both[2 * JUNCTION + 1];
    memcpy(both, border - JUNCTION, sizeof both);
    return weigh(both, sizeof both, scale) - weigh(both, JUNCTION, scale) - weigh(both + JUNCTION + 1, JUNCTION, scale);
}

/* Adds the part of a loaded file to the answer. Returns 0 if it has to be left out. */
static int add_part(const struct batch *batch, const struct small *file, struct part *part, struct answer *answer) {
    const byte *data = file->data;
    size_t size = file->size;
    int has_tab, is_ascii;
    if (data[size - 1] != '\n' || !is_usual_text(data, size, &has_tab, &is_ascii) ||
        (has_tab && has_blanks(data, size)) || may_be_document(data, size, batch))
        return 0;
    part->rows = count_feeds(data, size);
    if (part->rows > batch->max_rows)
        return 0;
    part->size = size;
    part->modified_ns = file->modified_ns;
    part->first_hash = answer->hash_count;
    if (!grow_scratch(&answer->hashes, (answer->hash_count + part->rows) * sizeof(uint64_t) * 5 / 4 + 4096) ||
        !grow_scratch(&answer->text, (answer->used + part->shown_size + HEADER_AT_MOST + size) * 5 / 4 + 4096))
        return 0;
    struct label label;
    memset(&label, 0, offsetof(struct label, text));
    label.lead = "";
    label.mark = batch->mark;
    label.mark_size = batch->mark_size;
    label.number = 1;
    build_label(&label);
    size_t used = answer->used, border = used;
    if (used)
        answer->text.at[used++] = '\n';
    part->from = used;
    used = (size_t)(write_header(answer->text.at + used, part) - answer->text.at);
    part->hash_at = used - HASH_DIGITS - 1;
    uint64_t *hashes = (uint64_t *)(void *)answer->hashes.at + answer->hash_count;
    if (!mark_lines(data, data + size, &label, batch->every, &answer->text, &used, hashes))
        return 0;
    if (!add_message(answer, part, data, size))
        return 0;
    part->chars = used - part->from;
    const byte *text = answer->text.at;
    if (!is_ascii)
        for (size_t at = part->from; at < used; at++)
            part->chars -= (text[at] & 0xc0) == 0x80;
    part->weight = weigh(text + part->from, used - part->from, batch->scale);
    answer->weight += part->weight + (border ? weigh_border(text + border, batch->scale) : 0);
    answer->used = used;
    answer->hash_count += part->rows;
    return 1;
}

/* Makes the parts of all files; returns 0 if there is too much of them. Runs without the interpreter lock. */
static int make_parts(const struct batch *batch, struct part *parts, size_t count, struct answer *answer) {
    struct small file;
    int is_whole = 1;
    file.directory = batch->directory;
    file.handles = batch->handles;
    file.device = batch->device;
    file.has_one_link = 1;
    file.most = batch->most;
    file.more = answer->file;
    for (size_t i = 0; is_whole && i < count; i++) {
        if (parts[i].path == NULL)
            continue;
        file.path = parts[i].path;
        file.data = file.room;
        parts[i].is_done = load_small(&file) && add_part(batch, &file, parts + i, answer);
        is_whole = answer->used <= batch->max_bytes && answer->weight <= batch->max_weight;
        if (answer->pending_count == PENDING || answer->pending_used > PENDING_BYTES)
            hash_parts(answer);
    }
    if (is_whole)
        hash_parts(answer);
    answer->file = file.more;
    return is_whole;
}

/* Takes names from two lists: those beneath the directory, or None, and those that are shown. */
static int take_names(PyObject *paths, PyObject *shown, struct part *parts, size_t count) {
    for (size_t i = 0; i < count; i++) {
        PyObject *path = PyTuple_GetItem(paths, (Py_ssize_t)i), *name = PyTuple_GetItem(shown, (Py_ssize_t)i);
        Py_ssize_t size;
        if (path == Py_None)
            continue;
        if (!check_text(path) || !check_text(name))
            return 0;
        parts[i].path = PyUnicode_AsUTF8AndSize(path, &size);
        parts[i].path_size = (size_t)size;
        if (parts[i].path != NULL && !is_ordinary(parts[i].path, size))
            parts[i].path = NULL;
        if (parts[i].path == NULL) {
            PyErr_Clear(); /* lone surrogates */
            continue;
        }
        parts[i].shown = PyUnicode_AsUTF8AndSize(name, &size);
        parts[i].shown_size = (size_t)size;
        if (parts[i].shown == NULL) {
            PyErr_Clear();
            parts[i].path = NULL;
        }
    }
    return 1;
}

/* Takes the signatures from a tuple of (place, start, rest). */
static int take_signatures(PyObject *given, struct batch *batch) {
    if (!PyTuple_Check(given) || PyTuple_Size(given) > SIGNATURES_AT_MOST) {
        PyErr_SetString(PyExc_TypeError, "signatures are a tuple of at most 64");
        return 0;
    }
    batch->signature_count = (size_t)PyTuple_Size(given);
    for (size_t i = 0; i < batch->signature_count; i++) {
        struct signature *one = batch->signatures + i;
        PyObject *start, *rest; /* Not "y#": see py_scan in fast.c. */
        if (!PyArg_ParseTuple(PyTuple_GetItem(given, (Py_ssize_t)i), "nSS", &one->place, &start, &rest))
            return 0;
        if (one->place < AFTER_BLANKS || one->place > FIRST_BYTES) {
            PyErr_SetString(PyExc_ValueError, "a signature at a place that is not looked at");
            return 0;
        }
        one->start = (const byte *)PyBytes_AsString(start);
        one->start_size = (size_t)PyBytes_Size(start);
        one->rest = (const byte *)PyBytes_AsString(rest);
        one->rest_size = (size_t)PyBytes_Size(rest);
    }
    return 1;
}

/* Returns one part as (first, end, lines, hash, cost, size, mtime_ns, hashes), the first two in characters. */
static PyObject *show_part(const struct part *part, size_t first, const struct answer *answer) {
    byte digits[HASH_DIGITS];
    write_hash(digits, part->value);
    PyObject *values[] = {
        PyLong_FromSize_t(first),
        PyLong_FromSize_t(first + part->chars),
        PyLong_FromSize_t(part->rows),
        PyUnicode_DecodeUTF8((const char *)digits, sizeof digits, NULL),
        PyLong_FromUnsignedLongLong(part->weight),
        PyLong_FromSize_t(part->size),
        PyLong_FromLongLong(part->modified_ns),
        PyBytes_FromStringAndSize((const char *)answer->hashes.at + part->first_hash * sizeof(uint64_t),
                                  (Py_ssize_t)(part->rows * sizeof(uint64_t))),
    };
    return pack(values, sizeof values / sizeof *values);
}

/* Returns the text of all parts, its cost, and a list with one part or None for each file. */
static PyObject *show_parts(const struct part *parts, size_t count, const struct answer *answer) {
    size_t at = 0;
    PyObject *list = PyList_New((Py_ssize_t)count);
    if (list == NULL)
        return NULL;
    for (size_t i = 0; i < count; i++) {
        PyObject *one;
        if (parts[i].is_done) {
            at += at ? 1 : 0; /* the line end between two parts */
            one = show_part(parts + i, at, answer);
            at += parts[i].chars;
        } else {
            one = Py_NewRef(Py_None);
        }
        if (one == NULL) {
            Py_DECREF(list);
            return NULL;
        }
        PyList_SetItem(list, (Py_ssize_t)i, one);
    }
    const char *text = answer->used ? (const char *)answer->text.at : "";
    PyObject *values[] = {
        PyUnicode_DecodeUTF8(text, (Py_ssize_t)answer->used, NULL),
        PyLong_FromUnsignedLongLong(answer->weight),
        list,
    };
    return pack(values, sizeof values / sizeof *values);
}

/* Reads small texts beneath a directory as parts of a native answer: read_batch(directory, device, handles, paths, shown,
 * (most, max_rows, max_bytes, max_cost), (mark, every, scale, signatures)). `paths` are names beneath the directory, or
 * None; `shown` are those in the headers. The limits are the bytes and the rows of one file, and the bytes and the cost
 * of all parts. Returns the text of all parts, one after the other, its cost, and for each file its part or None; or
 * None alone if a limit of all parts is exceeded. */
static PyObject *py_read_batch(PyObject *module, PyObject *const *args, Py_ssize_t given) {
    (void)module;
    Py_ssize_t most, max_rows, max_bytes, mark_size = 0, every;
    unsigned long long max_weight;
    PyObject *mark, *scale, *signatures, *shown = NULL;
    struct batch batch = {0};
    if (given != 7 || !PyTuple_Check(args[3]) || !PyTuple_Check(args[4]) || !PyTuple_Check(args[5]) ||
        !PyTuple_Check(args[6]) || PyTuple_Size(args[3]) != PyTuple_Size(args[4]) ||
        PyTuple_Size(args[3]) > BATCH_FILES) {
        PyErr_SetString(PyExc_TypeError, "read_batch takes seven arguments, the last four of them tuples");
        return NULL;
    }
    long directory = PyLong_AsLong(args[0]), handles = PyLong_AsLong(args[2]);
    batch.device = PyLong_AsLongLong(args[1]);
    if (PyErr_Occurred() || !PyArg_ParseTuple(args[5], "nnnK", &most, &max_rows, &max_bytes, &max_weight) ||
        !PyArg_ParseTuple(args[6], "UnSO", &mark, &every, &scale, &signatures) ||
        (batch.mark = PyUnicode_AsUTF8AndSize(mark, &mark_size)) == NULL || !take_signatures(signatures, &batch))
        return NULL;
    if (directory < 0 || directory > INT_MAX || most < 1 || max_rows < 1 || max_bytes < 1 || every < 1 ||
        mark_size + 24 > LABEL_AT_MOST || PyBytes_Size(scale) != sizeof(struct scale)) {
        PyErr_SetString(PyExc_ValueError, "read_batch takes limits from 1 on, a short mark and a scale");
        return NULL;
    }
    size_t count = (size_t)PyTuple_Size(args[3]);
    struct part *parts = calloc(count ? count : 1, sizeof *parts);
    if (parts == NULL)
        return PyErr_NoMemory();
    batch.directory = (int)directory;
    batch.handles = handles >= 0 && handles <= INT_MAX ? (int)handles : -1;
    batch.most = (size_t)(most < SMALL_TEXT ? most : SMALL_TEXT);
    batch.max_rows = (size_t)max_rows;
    batch.max_bytes = (size_t)max_bytes;
    batch.max_weight = max_weight;
    batch.every = (size_t)every;
    batch.mark_size = (size_t)mark_size;
    batch.scale = (const void *)PyBytes_AsString(scale);
    if (take_names(args[3], args[4], parts, count)) {
        struct answer answer = {.text = take_scratch(), .file = take_scratch()};
        int is_whole;
        Py_BEGIN_ALLOW_THREADS
        is_whole = make_parts(&batch, parts, count, &answer);
        Py_END_ALLOW_THREADS
        shown = is_whole ? show_parts(parts, count, &answer) : Py_NewRef(Py_None);
        give_scratch(answer.file);
        give_scratch(answer.text);
        free_scratch(answer.pending);
        free_scratch(answer.hashes);
    }
    free(parts);
    return shown;
}
#endif
