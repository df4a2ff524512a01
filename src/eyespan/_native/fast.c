/* The inner loops of reading text in C: the same names, arguments and results as in pure.py.
 *
 * Every length is checked where it is used: loops are bounded by the buffer and not by an earlier count, because
 * another thread may write to a bytearray while the interpreter lock is free. Rare cases (numbers past 10^17, a mapping
 * that is not a dict) are passed to the Python twin.
 */
#define PY_SSIZE_T_CLEAN
#include <pyconfig.h>
#ifndef Py_GIL_DISABLED /* free-threaded Python has no stable ABI before 3.15 */
#define Py_LIMITED_API 0x030b0000
#endif
#ifndef _FILE_OFFSET_BITS
#define _FILE_OFFSET_BITS 64
#endif
#include <Python.h>
#include <structmember.h>

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifdef __linux__
#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#endif

/* EYESPAN_PORTABLE builds the code of other processors, so that it can be tested anywhere. */
#if defined(__SSE2__) && !defined(EYESPAN_PORTABLE)
#define USE_SSE2
#include <emmintrin.h>
#endif

enum {
    REVISION = 22,          /* _native/__init__.py refuses a build of another contract */
    FREE_LOCK_ABOVE = 64 << 10,
    LABEL_AT_MOST = 240, /* bytes of lead, number and mark */
    SLACK = 16,          /* copy() may write so many bytes too many */
};

typedef unsigned char byte;

/* ---- Memory that grows while a result is written. */

struct buffer {
    byte *at;
    size_t size;
};

/* Returns 0 if there is no memory; the buffer is as before then. */
static int grow(struct buffer *mine, size_t size) {
    byte *at = size <= PY_SSIZE_T_MAX ? realloc(mine->at, size) : NULL;
    if (at == NULL)
        return 0;
    mine->at = at;
    mine->size = size;
    return 1;
}

/* ---- Line feeds. */

static size_t count_feeds(const byte *p, size_t n) {
    size_t total = 0;
#ifdef USE_SSE2
    const __m128i feed = _mm_set1_epi8('\n'), zero = _mm_setzero_si128();
    __m128i sums = zero;
#define MATCHES(i) _mm_cmpeq_epi8(_mm_loadu_si128((const __m128i *)(p + (i))), feed)
    while (n >= 64) {
        /* A match adds 1 to its byte of a, b, c or d: after 63 rows their sum is at most 252. */
        size_t rows = n / 64 < 63 ? n / 64 : 63;
        __m128i a = zero, b = zero, c = zero, d = zero;
        n -= rows * 64;
        for (; rows; rows--, p += 64) {
            a = _mm_sub_epi8(a, MATCHES(0));
            b = _mm_sub_epi8(b, MATCHES(16));
            c = _mm_sub_epi8(c, MATCHES(32));
            d = _mm_sub_epi8(d, MATCHES(48));
        }
        a = _mm_add_epi8(_mm_add_epi8(a, b), _mm_add_epi8(c, d));
        sums = _mm_add_epi64(sums, _mm_sad_epu8(a, zero));
    }
    __m128i rest = zero;
    for (; n >= 16; n -= 16, p += 16)
        rest = _mm_sub_epi8(rest, MATCHES(0));
#undef MATCHES
    sums = _mm_add_epi64(sums, _mm_sad_epu8(rest, zero));
    uint64_t halves[2];
    _mm_storeu_si128((__m128i *)halves, sums);
    total += (size_t)(halves[0] + halves[1]);
#else
    while (n >= 32) {
        /* Byte-sized sums, which compilers turn into vector code; 255 rows fill them at most. */
        size_t rows = n / 32 < 255 ? n / 32 : 255;
        byte sums[32] = {0};
        n -= rows * 32;
        for (; rows; rows--, p += 32)
            for (int i = 0; i < 32; i++)
                sums[i] = (byte)(sums[i] + (p[i] == '\n'));
        for (int i = 0; i < 32; i++)
            total += sums[i];
    }
#endif
    for (; n; n--, p++)
        total += *p == '\n';
    return total;
}

/* Returns the offset after the n-th line feed, or -1: counts in ever smaller steps, then finds the feeds one by one. */
static Py_ssize_t find_nth(const byte *data, size_t size, size_t n) {
    static const size_t steps[] = {32768, 2048, 128};
    size_t at = 0;
    for (int i = 0; i < 3; i++)
        while (size - at >= steps[i]) {
            size_t here = count_feeds(data + at, steps[i]);
            if (here >= n)
                break;
            n -= here;
            at += steps[i];
        }
    while (at < size) {
        const byte *feed = memchr(data + at, '\n', size - at);
        if (feed == NULL)
            break;
        at = (size_t)(feed - data) + 1;
        if (--n == 0)
            return (Py_ssize_t)at;
    }
    return -1;
}

/* Returns the next line feed, or `end`. */
static inline __attribute__((always_inline)) const byte *find_feed(const byte *p, const byte *end) {
#ifdef USE_SSE2
    /* For most lines a call of memchr takes longer than this. */
    for (int i = 0; i < 8 && end - p >= 16; i++, p += 16) {
        __m128i row = _mm_loadu_si128((const __m128i *)p);
        int matches = _mm_movemask_epi8(_mm_cmpeq_epi8(row, _mm_set1_epi8('\n')));
        if (matches)
            return p + __builtin_ctz((unsigned)matches);
    }
#endif
    const byte *feed = p < end ? memchr(p, '\n', (size_t)(end - p)) : NULL;
    return feed ? feed : end;
}

/* ---- UTF-8. */

/* Returns the length of the character at `p`, or of the maximal ill-formed part there, for which *whole is 0. */
static size_t measure(const byte *p, size_t n, int *whole) {
    byte lead = p[0], low = 0x80, high = 0xBF;
    size_t size = lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
    *whole = lead < 0x80;
    if (lead < 0xC2 || lead > 0xF4)
        return 1;
    if (lead == 0xE0 || lead == 0xF0)
        low = lead == 0xE0 ? 0xA0 : 0x90; /* shorter forms exist */
    if (lead == 0xED || lead == 0xF4)
        high = lead == 0xED ? 0x9F : 0x8F; /* surrogates; past U+10FFFF */
    for (size_t i = 1; i < size; i++) {
        if (i >= n || p[i] < low || p[i] > high)
            return i;
        low = 0x80, high = 0xBF;
    }
    *whole = 1;
    return size;
}

/* Returns the number of ASCII bytes before the first other one. */
static size_t measure_ascii(const byte *p, size_t n) {
    size_t i = 0;
    for (uint64_t words[4]; n - i >= sizeof words; i += sizeof words) {
        memcpy(words, p + i, sizeof words);
        if ((words[0] | words[1] | words[2] | words[3]) & 0x8080808080808080u)
            break;
    }
    while (i < n && p[i] < 0x80)
        i++;
    return i;
}

struct extent {
    size_t raw;   /* bytes as stored */
    size_t chars; /* once decoded: an ill-formed part is one U+FFFD */
    size_t bytes; /* in UTF-8 once decoded: a U+FFFD takes 3 */
};

/* Returns the longest run of whole units from `p` within both limits. */
static struct extent extend(const byte *p, size_t n, size_t max_chars, size_t max_bytes) {
    struct extent e = {0, 0, 0};
    while (e.raw < n && e.chars < max_chars && e.bytes < max_bytes) {
        size_t most = n - e.raw;
        most = most < max_chars - e.chars ? most : max_chars - e.chars;
        most = most < max_bytes - e.bytes ? most : max_bytes - e.bytes;
        size_t run = measure_ascii(p + e.raw, most);
        e.raw += run, e.chars += run, e.bytes += run;
        if (run == most)
            continue;
        int whole;
        size_t size = measure(p + e.raw, n - e.raw, &whole), decoded = whole ? size : 3;
        if (decoded > max_bytes - e.bytes)
            break;
        e.raw += size, e.chars += 1, e.bytes += decoded;
    }
    return e;
}

/* ---- Long lines. */

/* ---- Numbering. */

/* The text before a line: built once, then its number is incremented in place. */
struct label {
    const char *lead, *mark;
    size_t lead_size, mark_size, size;
    int width;
    long long number;
    byte *first_digit, *last_digit;
    byte text[LABEL_AT_MOST + SLACK];
};

static void build_label(struct label *label) {
    /* snprintf would take a tenth of a microsecond, as long as numbering five lines. */
    char digits[24];
    int count = 0;
    for (long long rest = label->number; count == 0 || rest; rest /= 10)
        digits[count++] = (char)('0' + rest % 10);
    int size = count > label->width ? count : label->width;
    byte *field = label->text + label->lead_size;
    memcpy(label->text, label->lead, label->lead_size);
    memset(field, ' ', (size_t)(size - count));
    label->first_digit = field + size - count;
    label->last_digit = field + size - 1;
    for (int i = 0; i < count; i++)
        label->last_digit[-i] = (byte)digits[i];
    memcpy(field + size, label->mark, label->mark_size);
    label->size = label->lead_size + (size_t)size + label->mark_size;
}

static void advance_label(struct label *label) {
    byte *digit = label->last_digit;
    label->number++;
    while (digit >= label->first_digit && *digit == '9')
        *digit-- = '0';
    if (digit >= label->first_digit)
        ++*digit;
    else
        build_label(label);
}

/* memcpy in steps of 16, without a call for the few bytes of a line. Both sides must have SLACK bytes more. */
static inline void copy(byte *to, const byte *from, size_t n) {
    for (size_t i = 0; i < n; i += 16)
        memcpy(to + i, from + i, 16);
}

/* Copies a line of the text that goes to `end`. */
static inline void copy_line(byte *to, const byte *line, size_t size, const byte *end) {
    if (size <= 256 && (size_t)(end - line) >= size + SLACK)
        copy(to, line, size);
    else
        memcpy(to, line, size);
}

struct style {
    int keep_ends;
    size_t max_chars, max_bytes; /* SIZE_MAX: no limit */
    PyObject *totals;            /* a dict, or NULL */
};

enum outcome { DONE, FAILED, NOT_MINE };

/* Writes the note after a shortened line. The total comes from `totals`, if it is an int there. */
static enum outcome tell_total(char *note, size_t size, PyObject *totals, long long number, size_t chars) {
    Py_ssize_t total = (Py_ssize_t)chars;
    if (totals != NULL) {
        PyObject *key = PyLong_FromLongLong(number);
        if (key == NULL)
            return FAILED;
        PyObject *value = PyObject_GetItem(totals, key); /* a reference of our own: another thread may change the dict */
        Py_DECREF(key);
        if (value == NULL) {
            if (!PyErr_ExceptionMatches(PyExc_KeyError))
                return FAILED;
            PyErr_Clear();
        } else {
            int is_mine = PyLong_CheckExact(value);
            if (is_mine)
                total = PyLong_AsSsize_t(value);
            Py_DECREF(value);
            if (!is_mine)
                return NOT_MINE;
            if (total == -1 && PyErr_Occurred()) {
                PyErr_Clear();
                return NOT_MINE;
            }
        }
    }
    snprintf(note, size, "... [line truncated, %lld chars total]", (long long)total);
    return DONE;
}

/* Numbers the lines of [p, end) into `out`, as stored bytes; they are decoded together at the end. Line feeds and
 * labels are never part of an ill-formed sequence, so the result is the same as decoding line by line. A function of its
 * own, not inlined: the loop then has the registers for itself, and takes a third less time. */
static __attribute__((noinline)) enum outcome number_lines(const byte *p, const byte *end, struct label *label, const struct style *style,
                                 struct buffer *out, size_t *used, size_t *cut) {
    char note[80];
    size_t at = 0, cut_lines = 0;
    /* In registers: for all that the compiler knows, writing a line could change `style`. */
    const int keep_ends = style->keep_ends;
    const size_t max_chars = style->max_chars, max_bytes = style->max_bytes, surely_fit = max_bytes / 3;
    for (const byte *next; p < end; p = next) {
        const byte *feed = find_feed(p, end);
        next = feed < end ? feed + 1 : end;
        size_t size = (size_t)((keep_ends ? next : feed) - p), note_size = 0;
        if (!keep_ends && feed < end && size && p[size - 1] == '\r')
            size--;
        /* A line has no more characters than bytes as stored, and decoded no more than three times those bytes. */
        if (size > max_chars) {
            struct extent head = extend(p, size, max_chars, SIZE_MAX);
            if (head.raw < size) {
                struct extent rest = extend(p + head.raw, size - head.raw, SIZE_MAX, SIZE_MAX);
                enum outcome told =
                    tell_total(note, sizeof note, style->totals, label->number, head.chars + rest.chars);
                if (told != DONE)
                    return told;
                note_size = strlen(note);
                size = head.raw;
                cut_lines++;
            }
        }
        if (size + note_size / 3 + 1 > surely_fit) {
            struct extent head = extend(p, size, SIZE_MAX, max_bytes);
            size_t left = head.raw < size ? 0 : max_bytes - head.bytes;
            /* A note means that the line is counted already. */
            cut_lines += !note_size && head.raw < size;
            note_size = note_size < left ? note_size : left;
            size = head.raw;
        }
        size_t need = at + label->size + size + note_size + 1 + SLACK;
        if (need > out->size && !grow(out, need + need / 2 + 4096)) {
            PyErr_NoMemory();
            return FAILED;
        }
        copy(out->at + at, label->text, label->size);
        at += label->size;
        /* Here and not after the line: the processor waits if bytes are read as a word soon after they are written. */
        advance_label(label);
        copy_line(out->at + at, p, size, end);
        at += size;
        memcpy(out->at + at, note, note_size);
        at += note_size;
        if (!keep_ends && next < end)
            out->at[at++] = '\n';
    }
    *used = at;
    *cut = cut_lines;
    return DONE;
}

/* ---- Opening beneath a directory, for the guard; guard/openat.py has the same in Python. */

#ifdef __linux__
enum {
    SYS_OPENAT2 = 437,
    NO_XDEV = 0x01,
    NO_MAGICLINKS = 0x02,
    NO_SYMLINKS = 0x04,
    BENEATH = 0x08,
    RACE_RETRIES = 64,
    NAME_BYTES = 8192,
    SMALL_FILE = 16 << 10, /* read while it is opened; a larger one is read into its final buffer, without a copy */
};

#define HANDLES "/proc/self/fd/"

/* The result, with the names that Python uses. */
struct opened {
    PyObject_HEAD
    int fd;        /* -1 for anything but a directory or a regular file of a real file system */
    char readable; /* otherwise O_PATH: a directory, or a file that Python checks and opens */
    char pseudo;   /* belongs to a file system of kernel state */
    unsigned type; /* of the file system, from statfs(2); 0: not looked up */
    PyObject *name; /* its name in /proc; None: there was no link, so the requested name is right */
    PyObject *head; /* the contents of a small file; None: not read */
    /* The used fields of an os.stat_result, by the same names, before anything was read. */
    unsigned mode;
    unsigned long long inode, device, links;
    long long size, modified_ns, changed_ns;
};

/* Name and contents: on the stack, because Python objects need the interpreter lock. */
struct found {
    ssize_t name_size; /* -1: no name */
    ssize_t all_size;  /* -1: not read */
    char name[NAME_BYTES];
    char all[SMALL_FILE];
};

/* Returns 0 for times that do not fit into 64 bits of nanoseconds: before 1677 and after 2262. */
static int count_nanoseconds(const struct timespec *time, long long *to) {
    const int64_t far = INT64_MAX / 1000000000 - 1;
    int reached = time->tv_sec > -far && time->tv_sec < far;
    *to = reached ? (long long)time->tv_sec * 1000000000 + time->tv_nsec : 0;
    return reached;
}

static int note_status(struct opened *out, const struct stat *status) {
    out->mode = status->st_mode;
    out->inode = status->st_ino;
    out->device = status->st_dev;
    out->links = status->st_nlink;
    out->size = status->st_size;
    return count_nanoseconds(&status->st_mtim, &out->modified_ns) &
           count_nanoseconds(&status->st_ctim, &out->changed_ns);
}

/* The arguments of a call. */
struct wanted {
    int directory, follow;
    int stay; /* EXDEV for anything on another mount than the directory's */
    const char *path;
    const uint32_t *types; /* of file systems of kernel state */
    size_t types_count;
    size_t most;    /* a file of fewer bytes is read at once */
    int64_t device; /* has real files only, so the type of its file system is not looked up; -1: none */
};

/* Writes the path of a descriptor in /proc; snprintf would take a tenth of a microsecond. */
static void name_handle(char link[40], int handle) {
    char digits[20];
    int count = 0;
    do
        digits[count++] = (char)('0' + handle % 10);
    while (handle /= 10);
    memcpy(link, HANDLES, sizeof HANDLES - 1);
    char *to = link + sizeof HANDLES - 1;
    while (count)
        *to++ = digits[--count];
    *to = '\0';
}

/* Finds, checks and only then opens for reading; returns 0 or an errno. Runs without the interpreter lock. */
static int open_beneath(const struct wanted *wanted, struct opened *out, struct found *bytes) {
    struct {
        uint64_t flags, mode, resolve;
    } how = {O_PATH | O_CLOEXEC | (wanted->follow ? 0 : O_NOFOLLOW), 0, BENEATH | NO_MAGICLINKS | NO_SYMLINKS};
    how.resolve |= wanted->stay ? NO_XDEV : 0;
    struct stat found, opened;
    struct statfs system = {0};
    char link[40];
    int handle = -1, error = 0;
    for (int i = 0; i < RACE_RETRIES && handle < 0; i++) {
        handle = (int)syscall(SYS_OPENAT2, wanted->directory, wanted->path, &how, sizeof how);
        if (handle < 0 && errno == ELOOP && how.resolve & NO_SYMLINKS)
            how.resolve &= ~(uint64_t)NO_SYMLINKS; /* reading a name from /proc takes longer than this attempt */
        else if (handle < 0 && errno != EAGAIN && errno != EINTR)
            return errno;
    }
    if (handle < 0)
        return EAGAIN;
    name_handle(link, handle);
    bytes->name_size = bytes->all_size = -1;
    if (fstat(handle, &found) || ((int64_t)found.st_dev != wanted->device && fstatfs(handle, &system)) ||
        (!(how.resolve & NO_SYMLINKS) && (bytes->name_size = readlink(link, bytes->name, sizeof bytes->name)) < 0)) {
        error = errno;
        close(handle);
        return error;
    }
    note_status(out, &found);
    out->type = (unsigned)system.f_type;
    for (size_t i = 0; i < wanted->types_count; i++)
        out->pseudo |= out->type == wanted->types[i];
    if (S_ISDIR(found.st_mode) || (S_ISREG(found.st_mode) && !out->pseudo && bytes->name_size >= 0)) {
        out->fd = handle;
        return 0;
    }
    if (S_ISREG(found.st_mode) && !out->pseudo) {
        int fd = open(link, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC); /* O_NONBLOCK: a lease must not block */
        if (fd < 0 || fstat(fd, &opened))
            error = errno;
        else if (!S_ISREG(opened.st_mode) || opened.st_dev != found.st_dev || opened.st_ino != found.st_ino)
            error = ENOENT;
        else if (note_status(out, &opened)) {
            out->fd = fd;
            out->readable = 1;
            size_t most = wanted->most < SMALL_FILE ? wanted->most : SMALL_FILE;
            if (opened.st_size > 0 && (uint64_t)opened.st_size < most) {
                /* One byte more is requested, to check the size. If it is wrong, the caller reads again. */
                ssize_t got = pread(fd, bytes->all, (size_t)opened.st_size + 1, 0);
                bytes->all_size = got == (ssize_t)opened.st_size ? got : -1;
            }
        } else {
            close(fd);
            out->fd = handle; /* a time that only Python can represent */
            return 0;
        }
        if (error && fd >= 0)
            close(fd);
    }
    close(handle);
    return error;
}
#endif

/* ---- Functions for Python. */

/* Converts an index by the rules of slices: negative from the end, clipped to [0, size]. */
static int clip(PyObject *index, size_t size, size_t *at) {
    Py_ssize_t i = PyNumber_AsSsize_t(index, NULL);
    if (i == -1 && PyErr_Occurred())
        return 0;
    if (i < 0)
        i = i + (Py_ssize_t)size < 0 ? 0 : i + (Py_ssize_t)size;
    *at = (size_t)i < size ? (size_t)i : size;
    return 1;
}

static PyObject *py_count(PyObject *module, PyObject *args, PyObject *kwargs) {
    static char *names[] = {"data", "start", "end", NULL};
    Py_buffer data;
    PyObject *from = NULL, *to = NULL;
    (void)module;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "y*|OO:count", names, &data, &from, &to))
        return NULL;
    size_t size = (size_t)data.len, start = 0, end = size, found = 0;
    if ((from != NULL && !clip(from, size, &start)) || (to != NULL && to != Py_None && !clip(to, size, &end))) {
        PyBuffer_Release(&data);
        return NULL;
    }
    size = start < end ? end - start : 0;
    if (size > FREE_LOCK_ABOVE) {
        Py_BEGIN_ALLOW_THREADS
        found = count_feeds((const byte *)data.buf + start, size);
        Py_END_ALLOW_THREADS
    } else if (size)
        found = count_feeds((const byte *)data.buf + start, size);
    PyBuffer_Release(&data);
    return PyLong_FromSize_t(found);
}

static PyObject *py_nth(PyObject *module, PyObject *args, PyObject *kwargs) {
    static char *names[] = {"data", "n", "start", NULL};
    Py_buffer data;
    PyObject *which, *from = NULL;
    (void)module;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "y*O|O:nth", names, &data, &which, &from))
        return NULL;
    size_t size = (size_t)data.len, start = 0;
    Py_ssize_t n = PyNumber_AsSsize_t(which, NULL), at = -1;
    if ((n == -1 && PyErr_Occurred()) || (from != NULL && !clip(from, size, &start))) {
        PyBuffer_Release(&data);
        return NULL;
    }
    size -= start;
    if (n < 1 || !size) {
    } else if (size > FREE_LOCK_ABOVE) {
        Py_BEGIN_ALLOW_THREADS
        at = find_nth((const byte *)data.buf + start, size, (size_t)n);
        Py_END_ALLOW_THREADS
    } else
        at = find_nth((const byte *)data.buf + start, size, (size_t)n);
    PyBuffer_Release(&data);
    return PyLong_FromSsize_t(at < 0 ? -1 : at + (Py_ssize_t)start);
}

/* Calls the Python function of the same name with the arguments of a fast call. */
static PyObject *ask_twin(const char *name, PyObject *const *args, Py_ssize_t count, PyObject *keywords) {
    PyObject *answer = NULL, *given = PyTuple_New(count), *named = PyDict_New();
    PyObject *module = PyImport_ImportModule("eyespan._native.pure");
    PyObject *twin = module ? PyObject_GetAttrString(module, name) : NULL;
    int ready = twin != NULL && given != NULL && named != NULL;
    for (Py_ssize_t i = 0; ready && i < count; i++)
        ready = PyTuple_SetItem(given, i, Py_NewRef(args[i])) == 0;
    for (Py_ssize_t i = 0; ready && keywords != NULL && i < PyTuple_Size(keywords); i++)
        ready = PyDict_SetItem(named, PyTuple_GetItem(keywords, i), args[count + i]) == 0;
    if (ready)
        answer = PyObject_Call(twin, given, named);
    Py_XDECREF(given);
    Py_XDECREF(named);
    Py_XDECREF(twin);
    Py_XDECREF(module);
    return answer;
}

/* Sorts the arguments of a fast call by name; those not given stay NULL. PyArg_ParseTupleAndKeywords takes a
 * microsecond, as long as numbering a small file. */
static int sort_arguments(const char *const *names, Py_ssize_t most, Py_ssize_t needed, PyObject *const *args,
                          Py_ssize_t count, PyObject *keywords, PyObject **values) {
    Py_ssize_t named = keywords ? PyTuple_Size(keywords) : 0;
    if (count > most) {
        PyErr_Format(PyExc_TypeError, "at most %zd arguments are taken, not %zd", most, count);
        return 0;
    }
    for (Py_ssize_t i = 0; i < count; i++)
        values[i] = args[i];
    for (Py_ssize_t i = 0; i < named; i++) {
        PyObject *name = PyTuple_GetItem(keywords, i);
        Py_ssize_t at = 0;
        while (at < most && PyUnicode_CompareWithASCIIString(name, names[at]) != 0)
            at++;
        if (at == most || values[at] != NULL) {
            PyErr_Format(PyExc_TypeError, at == most ? "there is no argument %R" : "argument %R is given twice", name);
            return 0;
        }
        values[at] = args[count + i];
    }
    for (Py_ssize_t i = 0; i < needed; i++)
        if (values[i] == NULL) {
            PyErr_Format(PyExc_TypeError, "argument '%s' is missing", names[i]);
            return 0;
        }
    return 1;
}

/* Converts an argument to a number, unless it was not given. */
static int take_number(PyObject *value, Py_ssize_t *to) {
    if (value == NULL)
        return 1;
    *to = PyNumber_AsSsize_t(value, PyExc_OverflowError);
    return *to != -1 || !PyErr_Occurred();
}

static int check_text(PyObject *value) {
    if (value == NULL || PyUnicode_Check(value))
        return 1;
    PyErr_SetString(PyExc_TypeError, "lead and mark must be str");
    return 0;
}

/* Returns the UTF-8 of a str. A str without one (lone surrogates) is passed to the twin. */
static const char *spell(PyObject *text, const char *otherwise, size_t *size) {
    Py_ssize_t length = (Py_ssize_t)strlen(otherwise);
    const char *spelled = text ? PyUnicode_AsUTF8AndSize(text, &length) : otherwise;
    if (spelled == NULL)
        PyErr_Clear();
    *size = (size_t)length;
    return spelled;
}

/* number(data, first, ...): the text, and how many lines were shortened. */
static PyObject *py_number(PyObject *module, PyObject *const *args, Py_ssize_t count, PyObject *keywords) {
    enum { DATA, FIRST, LEAD, WIDTH, MARK, KEEP_ENDS, MAX_CHARS, MAX_BYTES, TOTALS, MOST };
    static const char *const names[MOST] = {"data",      "first",     "lead",      "width", "mark",
                                            "keep_ends", "max_chars", "max_bytes", "totals"};
    (void)module;
    PyObject *values[MOST] = {NULL}, *answer = NULL;
    Py_ssize_t first = 0, width = 0, max_chars = 0, max_bytes = 0;
    struct style style = {0, SIZE_MAX, SIZE_MAX, NULL};
    struct label label;
    Py_buffer data;
    size_t cut = 0;
    if (!sort_arguments(names, MOST, 2, args, count, keywords, values) || !check_text(values[LEAD]) ||
        !check_text(values[MARK]))
        return NULL;
    if (!take_number(values[FIRST], &first) || !take_number(values[WIDTH], &width) ||
        !take_number(values[MAX_CHARS], &max_chars) || !take_number(values[MAX_BYTES], &max_bytes)) {
        if (!PyErr_ExceptionMatches(PyExc_OverflowError))
            return NULL;
        PyErr_Clear();
        return ask_twin("number", args, count, keywords);
    }
    PyObject *totals = values[TOTALS];
    style.keep_ends = values[KEEP_ENDS] ? PyObject_IsTrue(values[KEEP_ENDS]) : 0;
    if (style.keep_ends < 0 || PyObject_GetBuffer(values[DATA], &data, PyBUF_SIMPLE))
        return NULL;
    memset(&label, 0, sizeof label);
    label.lead = spell(values[LEAD], "", &label.lead_size);
    label.mark = spell(values[MARK], "\t", &label.mark_size);
    enum outcome outcome = NOT_MINE;
    /* Numbers from 10^17 on could overflow while they are incremented; no smaller number has 20 digits. */
    if (label.lead != NULL && label.mark != NULL && first >= 0 && (long long)first < 100000000000000000 &&
        width >= 0 && width <= 100 && label.lead_size <= LABEL_AT_MOST && label.mark_size <= LABEL_AT_MOST &&
        label.lead_size + label.mark_size + (size_t)width + 20 <= LABEL_AT_MOST && max_chars >= 0 &&
        max_bytes >= 0 && (totals == NULL || PyDict_CheckExact(totals))) {
        struct buffer out = {NULL, 0};
        size_t used = 0;
        const byte *p = data.buf;
        label.width = (int)width;
        label.number = first;
        build_label(&label);
        style.max_chars = max_chars ? (size_t)max_chars : SIZE_MAX;
        style.max_bytes = max_bytes ? (size_t)max_bytes : SIZE_MAX;
        style.totals = totals;
        outcome = data.len ? number_lines(p, p + data.len, &label, &style, &out, &used, &cut) : DONE;
        if (outcome == DONE)
            answer = PyUnicode_DecodeUTF8(used ? (const char *)out.at : "", (Py_ssize_t)used, "replace");
        free(out.at);
    }
    PyBuffer_Release(&data);
    if (outcome == NOT_MINE)
        return ask_twin("number", args, count, keywords);
    return answer != NULL ? Py_BuildValue("Nn", answer, (Py_ssize_t)cut) : NULL;
}

#ifdef __linux__
#define MEMBER(name, type, field) {name, type, offsetof(struct opened, field), READONLY, NULL}
static PyMemberDef opened_members[] = {
    MEMBER("fd", T_INT, fd),
    MEMBER("readable", T_BOOL, readable),
    MEMBER("pseudo", T_BOOL, pseudo),
    MEMBER("type", T_UINT, type),
    MEMBER("name", T_OBJECT, name),
    MEMBER("head", T_OBJECT, head),
    MEMBER("st_mode", T_UINT, mode),
    MEMBER("st_ino", T_ULONGLONG, inode),
    MEMBER("st_dev", T_ULONGLONG, device),
    MEMBER("st_nlink", T_ULONGLONG, links),
    MEMBER("st_size", T_LONGLONG, size),
    MEMBER("st_mtime_ns", T_LONGLONG, modified_ns),
    MEMBER("st_ctime_ns", T_LONGLONG, changed_ns),
    {NULL, 0, 0, 0, NULL},
};
#undef MEMBER

static void free_opened(PyObject *self) {
    PyTypeObject *type = Py_TYPE(self);
    Py_XDECREF(((struct opened *)self)->name);
    Py_XDECREF(((struct opened *)self)->head);
    freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);
    release(self);
    Py_DECREF(type);
}

static PyType_Slot opened_slots[] = {
    {Py_tp_members, opened_members},
    {Py_tp_dealloc, (void *)free_opened},
    {0, NULL},
};

static PyType_Spec opened_spec = {
    .name = "eyespan._native._fast.Opened",
    .basicsize = sizeof(struct opened),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .slots = opened_slots,
};

struct state {
    PyTypeObject *opened;
};

/* Converts a path for the system: bytes stay, text becomes UTF-8. Callers pass text in ASCII only. */
static int spell_path(PyObject *path, const char **to) {
    Py_ssize_t size;
    if (!PyUnicode_Check(path))
        return PyBytes_AsStringAndSize(path, (char **)to, NULL) == 0;
    *to = PyUnicode_AsUTF8AndSize(path, &size);
    if (*to != NULL && strlen(*to) != (size_t)size)
        PyErr_SetString(PyExc_ValueError, "embedded null character");
    return *to != NULL && strlen(*to) == (size_t)size;
}

static PyObject *py_open_beneath(PyObject *module, PyObject *const *args, Py_ssize_t count) {
    if (count != 7) {
        PyErr_SetString(PyExc_TypeError, "open_beneath takes seven arguments");
        return NULL;
    }
    const char *path;
    char *types;
    Py_ssize_t types_size, most = PyLong_AsSsize_t(args[5]);
    long directory = PyLong_AsLong(args[0]);
    struct wanted wanted = {.follow = PyObject_IsTrue(args[2]), .stay = PyObject_IsTrue(args[4])};
    wanted.device = PyLong_AsLongLong(args[6]);
    if (PyErr_Occurred() || !spell_path(args[1], &path) || PyBytes_AsStringAndSize(args[3], &types, &types_size))
        return NULL;
    wanted.directory = directory >= 0 && directory <= INT_MAX ? (int)directory : -1;
    wanted.path = path;
    wanted.types = (const void *)types;
    wanted.types_count = (size_t)types_size / sizeof *wanted.types;
    wanted.most = most > 0 ? (size_t)most : 0;
    struct state *state = PyModule_GetState(module);
    struct opened *out = (struct opened *)PyType_GenericAlloc(state->opened, 0);
    if (out == NULL)
        return NULL;
    struct found bytes;
    out->fd = -1;
    int error;
    Py_BEGIN_ALLOW_THREADS
    error = open_beneath(&wanted, out, &bytes);
    Py_END_ALLOW_THREADS
    if (error) {
        Py_DECREF(out);
        errno = error;
        return PyErr_SetFromErrno(PyExc_OSError);
    }
    out->name = bytes.name_size < 0 ? Py_NewRef(Py_None) : PyBytes_FromStringAndSize(bytes.name, bytes.name_size);
    out->head = bytes.all_size < 0 ? Py_NewRef(Py_None) : PyBytes_FromStringAndSize(bytes.all, bytes.all_size);
    if (out->name == NULL || out->head == NULL) {
        if (out->fd >= 0)
            close(out->fd);
        Py_DECREF(out);
        return NULL;
    }
    return (PyObject *)out;
}
#endif

#include "words.c"

static PyMethodDef functions[] = {
#ifdef __linux__
    {"open_beneath", (PyCFunction)(void (*)(void))py_open_beneath, METH_FASTCALL, NULL},
#endif
    {"count", (PyCFunction)(void (*)(void))py_count, METH_VARARGS | METH_KEYWORDS, NULL},
    {"nth", (PyCFunction)(void (*)(void))py_nth, METH_VARARGS | METH_KEYWORDS, NULL},
    {"number", (PyCFunction)(void (*)(void))py_number, METH_FASTCALL | METH_KEYWORDS, NULL},
    {"weigh_words", (PyCFunction)(void (*)(void))py_weigh_words, METH_FASTCALL, NULL},
    {NULL, NULL, 0, NULL},
};

static int fill_module(PyObject *module) {
#ifdef __linux__
    struct state *state = PyModule_GetState(module);
    state->opened = (PyTypeObject *)PyType_FromModuleAndSpec(module, &opened_spec, NULL);
    if (state->opened == NULL)
        return -1;
#endif
    return PyModule_AddIntConstant(module, "REVISION", REVISION);
}

#ifdef __linux__
static int traverse_module(PyObject *module, visitproc visit, void *arg) {
    struct state *state = PyModule_GetState(module);
    Py_VISIT(state->opened);
    return 0;
}

static int clear_module(PyObject *module) {
    struct state *state = PyModule_GetState(module);
    Py_CLEAR(state->opened);
    return 0;
}

static void free_module(void *module) { clear_module(module); }
#endif

static PyModuleDef_Slot slots[] = {
    {Py_mod_exec, (void *)fill_module},
#ifdef Py_GIL_DISABLED /* nothing but `kept` is shared, and what is borrowed is immutable */
    {Py_mod_gil, Py_MOD_GIL_NOT_USED},
#endif
    {0, NULL},
};

static struct PyModuleDef definition = {
    .m_base = PyModuleDef_HEAD_INIT,
    .m_name = "_fast",
    .m_methods = functions,
    .m_slots = slots,
#ifdef __linux__
    .m_size = sizeof(struct state),
    .m_traverse = traverse_module,
    .m_clear = clear_module,
    .m_free = free_module,
#endif
};

PyMODINIT_FUNC PyInit__fast(void) { return PyModuleDef_Init(&definition); }
