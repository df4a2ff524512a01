/* JSON: strings, and whole values of plain types. Part of fast.c, which includes this file. */

enum { DEEPEST = 40 }; /* values within values that are written here */

/* Writes text in UTF-8 as a JSON string, like json.encoder.encode_basestring. Returns 0 if there is no memory. */
static int write_quoted(const char *from, size_t size, struct scratch *out, size_t *used) {
    static const char hex[] = "0123456789abcdef", shorts[] = "btn\0fr";
    size_t i = 0, at = *used;
    for (int is_first = 1;; is_first = 0) {
        /* Enough for the quotes, 16 bytes and one escape. */
        if (at + 40 > out->size && !grow_scratch(out, at + at / 2 + size - i + 4096))
            return 0;
        if (is_first)
            out->at[at++] = '"';
        if (i == size)
            break;
#ifdef USE_SSE2
        if (size - i >= 16) {
            __m128i row = _mm_loadu_si128((const __m128i *)(from + i));
            __m128i odd = _mm_or_si128(_mm_cmpeq_epi8(row, _mm_set1_epi8('"')), _mm_cmpeq_epi8(row, _mm_set1_epi8('\\')));
            odd = _mm_or_si128(odd, _mm_cmpeq_epi8(_mm_min_epu8(row, _mm_set1_epi8(0x1f)), row));
            unsigned found = (unsigned)_mm_movemask_epi8(odd);
            size_t plain = found ? (size_t)__builtin_ctz(found) : 16;
            _mm_storeu_si128((__m128i *)(out->at + at), row);
            at += plain, i += plain;
            if (!found)
                continue;
        }
#endif
        byte c = (byte)from[i++];
        if (c >= 0x20 && c != '"' && c != '\\') {
            out->at[at++] = c;
            continue;
        }
        out->at[at++] = '\\';
        if (c >= 0x20)
            out->at[at++] = c;
        else if (c >= '\b' && c <= '\r' && shorts[c - '\b'])
            out->at[at++] = (byte)shorts[c - '\b'];
        else {
            memcpy(out->at + at, "u00", 3);
            out->at[at + 3] = (byte)hex[c >> 4];
            out->at[at + 4] = (byte)hex[c & 15];
            at += 5;
        }
    }
    out->at[at++] = '"';
    *used = at;
    return 1;
}

/* Returns a str as a JSON string in UTF-8; None if it has lone surrogates. */
static PyObject *py_quote(PyObject *module, PyObject *text) {
    Py_ssize_t size;
    const char *from = PyUnicode_AsUTF8AndSize(text, &size);
    (void)module;
    if (from == NULL) {
        if (!PyErr_ExceptionMatches(PyExc_UnicodeEncodeError))
            return NULL;
        PyErr_Clear();
        return Py_NewRef(Py_None);
    }
    struct scratch out = take_scratch();
    size_t used = 0;
    PyObject *answer = write_quoted(from, (size_t)size, &out, &used)
                           ? PyBytes_FromStringAndSize((const char *)out.at, (Py_ssize_t)used)
                           : PyErr_NoMemory();
    give_scratch(out);
    return answer;
}

/* A value on its way to JSON. */
struct json {
    struct scratch out;
    size_t at, most;
};

static int dump_bytes(struct json *to, const char *from, size_t size) {
    if (to->at + size > to->out.size && !grow_scratch(&to->out, 2 * (to->at + size) + 1024))
        return 0;
    memcpy(to->out.at + to->at, from, size);
    to->at += size;
    return 1;
}

static int dump_text(struct json *to, PyObject *text) {
    Py_ssize_t size;
    /* Not even looked at if it has more characters than may be written: its UTF-8 would be made, and kept. */
    if (PyUnicode_GetLength(text) > (Py_ssize_t)to->most)
        return 0;
    const char *from = PyUnicode_AsUTF8AndSize(text, &size);
    return from != NULL && to->at + (size_t)size <= to->most && write_quoted(from, (size_t)size, &to->out, &to->at);
}

static int dump_number(struct json *to, PyObject *number) {
    char digits[24], *from = digits + sizeof digits;
    int overflow;
    long long value = PyLong_AsLongLongAndOverflow(number, &overflow);
    if (overflow || (value == -1 && PyErr_Occurred()))
        return 0;
    unsigned long long left = value < 0 ? 0 - (unsigned long long)value : (unsigned long long)value;
    do
        *--from = (char)('0' + left % 10);
    while (left /= 10);
    if (value < 0)
        *--from = '-';
    return dump_bytes(to, from, (size_t)(digits + sizeof digits - from));
}

/* Writes None, bool, int, str, and dict, list and tuple of these; of no type that only is derived from them, so no code
 * in Python runs. Returns 0 for anything else, with or without an exception. */
static int dump_value(struct json *to, PyObject *value, int depth) {
    PyTypeObject *type = Py_TYPE(value);
    if (type == &PyUnicode_Type)
        return dump_text(to, value);
    if (value == Py_True)
        return dump_bytes(to, "true", 4);
    if (value == Py_False)
        return dump_bytes(to, "false", 5);
    if (value == Py_None)
        return dump_bytes(to, "null", 4);
    if (type == &PyLong_Type)
        return dump_number(to, value);
    if (depth >= DEEPEST || to->at > to->most)
        return 0;
    if (type == &PyDict_Type) {
        PyObject *key, *item;
        Py_ssize_t position = 0;
        const char *separator = "{";
        while (PyDict_Next(value, &position, &key, &item)) {
            if (Py_TYPE(key) != &PyUnicode_Type || !dump_bytes(to, separator, 1) || !dump_text(to, key) ||
                !dump_bytes(to, ":", 1) || !dump_value(to, item, depth + 1))
                return 0;
            separator = ",";
        }
        return *separator == ',' ? dump_bytes(to, "}", 1) : dump_bytes(to, "{}", 2);
    }
    int is_list = type == &PyList_Type;
    if (!is_list && type != &PyTuple_Type)
        return 0;
    Py_ssize_t count = is_list ? PyList_Size(value) : PyTuple_Size(value);
    if (!dump_bytes(to, "[", 1))
        return 0;
    for (Py_ssize_t i = 0; i < count; i++)
        if ((i && !dump_bytes(to, ",", 1)) ||
            !dump_value(to, is_list ? PyList_GetItem(value, i) : PyTuple_GetItem(value, i), depth + 1))
            return 0;
    return dump_bytes(to, "]", 1);
}

/* Returns a value as JSON in UTF-8: dump(value, most). None if it holds something else than plain types, a lone surrogate,
 * a number beyond 64 bits or too many levels, or if it takes about `most` bytes or more. */
static PyObject *py_dump(PyObject *module, PyObject *const *args, Py_ssize_t count) {
    (void)module;
    Py_ssize_t most = count == 2 ? PyLong_AsSsize_t(args[1]) : -1;
    if (count != 2)
        PyErr_SetString(PyExc_TypeError, "dump takes two arguments");
    if (PyErr_Occurred())
        return NULL;
    struct json to = {take_scratch(), 0, most > 0 ? (size_t)most : 0};
    PyObject *answer = NULL;
    if (dump_value(&to, args[0], 0))
        answer = PyBytes_FromStringAndSize((const char *)to.out.at, (Py_ssize_t)to.at);
    give_scratch(to.out);
    if (answer == NULL) {
        PyErr_Clear(); /* the ordinary steps report a lack of memory */
        return Py_NewRef(Py_None);
    }
    return answer;
}
