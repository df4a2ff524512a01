/* Small text files: from a name to the lines of an answer in one call. Part of fast.c, which includes this file.
 *
 * The checks are those of guard/openat.py and of the engine. Wherever they would have to decide something (a link, an
 * unusual name, another kind of file, bytes that are not plain UTF-8, any failure), the result is None, and the ordinary
 * steps in Python start from the beginning. So a result is never different from theirs, and an error is always theirs.
 */

#ifdef __linux__
enum {
    SMALL_PATH = 255, /* the longest path that is taken, as in guard/paths.py */
    SMALL_TEXT = 65535,
    ON_STACK = 16 << 10,
};

/* The arguments of a call, and its result. */
struct small {
    int directory, handles, has_one_link; /* of the file, if it must have no others */
    const char *path;
    int64_t device;
    size_t most;
    byte *data; /* `room`, or `more` for a larger file */
    size_t size;
    long long modified_ns;
    struct scratch more; /* kept between calls: memory that is freed and allocated again may have to be cleared again */
    byte room[ON_STACK];
};

/* Returns 1 for a relative path of printable ASCII that no step of Python reads in another way. */
static int is_ordinary(const char *path, Py_ssize_t size) {
    if (size < 1 || size > SMALL_PATH || path[0] == '/' || path[0] == ' ' || path[size - 1] == ' ')
        return 0;
    for (Py_ssize_t i = 0; i < size; i++)
        if (path[i] < 0x20 || path[i] > 0x7e || path[i] == ':' || path[i] == '\\')
            return 0; /* bytes outside ASCII too, whether or not `char` has a sign */
    return spells_plainly(path);
}

/* Opens for reading the file of an O_PATH descriptor that was checked, and reads all of it. The result is compared with
 * that check afterwards: it must be the same file, and unchanged. */
static int load_handle(struct small *file, int handle, const struct stat *found) {
    struct stat after;
    char link[40];
    name_handle(link, handle);
    int fd = open_again(file->handles, link);
    if (fd < 0)
        return 0;
    file->size = (size_t)found->st_size;
    if (file->size + 1 + SLACK > sizeof file->room)
        file->data = grow_scratch(&file->more, file->size + 1 + SLACK) ? file->more.at : NULL;
    /* One byte more is requested, to check the size. */
    int loaded = file->data != NULL && pread(fd, file->data, file->size + 1, 0) == (ssize_t)file->size &&
                 fstat(fd, &after) == 0 && S_ISREG(after.st_mode) && after.st_dev == found->st_dev &&
                 after.st_ino == found->st_ino && after.st_size == found->st_size &&
                 after.st_mtim.tv_sec == found->st_mtim.tv_sec && after.st_mtim.tv_nsec == found->st_mtim.tv_nsec;
    close(fd);
    return loaded;
}

/* Finds a file beneath the directory and loads it; returns 0 if that is not all there is to do. Touches no other mount
 * and follows no link. Runs without the interpreter lock. */
static int load_small(struct small *file) {
    struct {
        uint64_t flags, mode, resolve;
    } how = {O_PATH | O_CLOEXEC, 0, BENEATH | NO_MAGICLINKS | NO_SYMLINKS | NO_XDEV};
    struct stat found;
    int handle = (int)syscall(SYS_OPENAT2, file->directory, file->path, &how, sizeof how);
    if (handle < 0)
        return 0;
    int loaded = fstat(handle, &found) == 0 && S_ISREG(found.st_mode) && (int64_t)found.st_dev == file->device &&
                 (!file->has_one_link || found.st_nlink == 1) && found.st_size > 0 && (uint64_t)found.st_size <= file->most &&
                 count_nanoseconds(&found.st_mtim, &file->modified_ns) && load_handle(file, handle, &found);
    close(handle);
    return loaded;
}

/* Returns 1 for UTF-8 without a byte order mark, without NULs and without errors. */
static int is_plain_utf8(const byte *data, size_t size) {
    if (memchr(data, 0, size) != NULL || (size >= 3 && memcmp(data, "\xef\xbb\xbf", 3) == 0))
        return 0;
    for (size_t at = measure_ascii(data, size); at < size;) {
        int whole;
        at += measure(data + at, size - at, &whole);
        if (!whole)
            return 0;
        if (at < size && data[at] < 0x80)
            at += measure_ascii(data + at, size - at);
    }
    return 1;
}

/* Numbers lines in a style: the tuple (lead, width, mark, keep_ends, max_chars, max_bytes) of the arguments of number().
 * A width of -1 is that of the last number. Returns NULL without an exception if this is not for this function. */
static PyObject *number_small(const byte *data, size_t size, Py_ssize_t first, Py_ssize_t last, PyObject *style_given,
                              size_t *cut) {
    struct style style = {0, SIZE_MAX, SIZE_MAX, NULL};
    struct label label;
    if (!PyTuple_Check(style_given) || PyTuple_Size(style_given) != 6) {
        PyErr_SetString(PyExc_TypeError, "a style is a tuple of six values");
        return NULL;
    }
    PyObject *lead = PyTuple_GetItem(style_given, 0), *mark = PyTuple_GetItem(style_given, 2);
    Py_ssize_t width = PyLong_AsSsize_t(PyTuple_GetItem(style_given, 1));
    style.keep_ends = PyObject_IsTrue(PyTuple_GetItem(style_given, 3));
    Py_ssize_t max_chars = PyLong_AsSsize_t(PyTuple_GetItem(style_given, 4));
    Py_ssize_t max_bytes = PyLong_AsSsize_t(PyTuple_GetItem(style_given, 5));
    if (PyErr_Occurred() || !check_text(lead) || !check_text(mark))
        return NULL;
    if (width == -1)
        for (width = 1; last >= 10; last /= 10)
            width++;
    memset(&label, 0, offsetof(struct label, text));
    label.lead = spell(lead, "", &label.lead_size);
    label.mark = spell(mark, "", &label.mark_size);
    if (label.lead == NULL || label.mark == NULL || width < 0 || width > 100 || max_chars < 0 || max_bytes < 0 ||
        label.lead_size + label.mark_size > LABEL_AT_MOST - 120)
        return NULL;
    style.max_chars = max_chars ? (size_t)max_chars : SIZE_MAX;
    style.max_bytes = max_bytes ? (size_t)max_bytes : SIZE_MAX;
    label.width = (int)width;
    label.number = first;
    build_label(&label);
    struct scratch out = take_scratch();
    size_t used = 0;
    PyObject *text = NULL;
    if (number_lines(data, data + size, &label, &style, &out, &used, cut) == DONE)
        text = PyUnicode_DecodeUTF8((const char *)out.at, (Py_ssize_t)used, NULL);
    give_scratch(out);
    return text;
}

/* Returns a tuple of new references; NULL if one of them is. Py_BuildValue would take a quarter of a microsecond. */
static PyObject *pack(PyObject **values, size_t count) {
    PyObject *made = PyTuple_New((Py_ssize_t)count);
    for (size_t i = 0; i < count; i++) {
        if (values[i] == NULL)
            Py_CLEAR(made);
        if (made == NULL)
            Py_XDECREF(values[i]);
        else
            PyTuple_SetItem(made, (Py_ssize_t)i, values[i]);
    }
    return made;
}

/* Returns a window of a loaded file with its facts, or NULL; without an exception that means None. */
static PyObject *show_small(const struct small *file, Py_ssize_t first, Py_ssize_t lines, PyObject *style,
                            size_t wanted, PyObject *path) {
    const byte *data = file->data;
    size_t size = file->size, cut = 0;
    if (!is_plain_utf8(data, size))
        return NULL;
    int ends_open = data[size - 1] != '\n';
    Py_ssize_t total = (Py_ssize_t)count_feeds(data, size) + ends_open;
    if (first > total)
        return NULL;
    Py_ssize_t available = total - first + 1, shown = lines < available ? lines : available;
    size_t start = first > 1 ? (size_t)find_nth(data, size, (size_t)first - 1) : 0;
    size_t end = shown < available ? start + (size_t)find_nth(data + start, size - start, (size_t)shown) : size;
    PyObject *text = style == Py_None
                         ? PyUnicode_DecodeUTF8((const char *)data + start, (Py_ssize_t)(end - start), NULL)
                         : number_small(data + start, end - start, first, first + shown - 1, style, &cut);
    if (text == NULL)
        return NULL;
    PyObject *all = !wanted ? Py_NewRef(Py_None)
                            : PyBytes_FromStringAndSize((const char *)data, (Py_ssize_t)(wanted < size ? wanted : size));
    PyObject *values[] = {
        text, PyLong_FromSize_t(size), PyLong_FromLongLong(file->modified_ns), PyLong_FromSsize_t(total),
        PyLong_FromSsize_t(shown), PyLong_FromSize_t(cut), PyBool_FromLong(ends_open), Py_NewRef(path), all,
    };
    return pack(values, sizeof values / sizeof *values);
}

/* Reads lines of a small text beneath a directory: read_small(directory, path, device, handles, most, first, lines, style,
 * wants_data[, has_one_link]). Returns the text of the lines, the size of the file, the time of its modification, the number of all
 * lines and of those shown, how many of them were shortened, whether the last line of the file has no end, the path,
 * and all of its bytes or None; or None alone if the ordinary steps are needed. If `wants_data` is a number, only so many
 * of its first bytes are returned. */
static PyObject *py_read_small(PyObject *module, PyObject *const *args, Py_ssize_t count) {
    (void)module;
    if (count < 9 || count > 10 || !PyUnicode_Check(args[1])) {
        PyErr_SetString(PyExc_TypeError, "read_small takes nine or ten arguments, the second of them a str");
        return NULL;
    }
    struct small file;
    Py_ssize_t path_size, most = PyLong_AsSsize_t(args[4]);
    long directory = PyLong_AsLong(args[0]), handles = PyLong_AsLong(args[3]);
    Py_ssize_t first = PyLong_AsSsize_t(args[5]), lines = PyLong_AsSsize_t(args[6]);
    Py_ssize_t wanted = PyBool_Check(args[8]) ? (args[8] == Py_True ? PY_SSIZE_T_MAX : 0) : PyLong_AsSsize_t(args[8]);
    file.has_one_link = count > 9 ? PyObject_IsTrue(args[9]) : 0;
    file.device = PyLong_AsLongLong(args[2]);
    if (PyErr_Occurred())
        return NULL;
    file.path = PyUnicode_AsUTF8AndSize(args[1], &path_size);
    if (file.path == NULL) {
        PyErr_Clear(); /* lone surrogates */
        return Py_NewRef(Py_None);
    }
    if (first < 1 || lines < 1 || most < 1 || wanted < 0 || directory < 0 || directory > INT_MAX || !is_ordinary(file.path, path_size))
        return Py_NewRef(Py_None);
    file.directory = (int)directory;
    file.handles = handles >= 0 && handles <= INT_MAX ? (int)handles : -1;
    file.most = (size_t)(most < SMALL_TEXT ? most : SMALL_TEXT);
    file.data = file.room;
    file.more = take_scratch();
    int loaded;
    Py_BEGIN_ALLOW_THREADS
    loaded = load_small(&file);
    Py_END_ALLOW_THREADS
    PyObject *shown = loaded ? show_small(&file, first, lines, args[7], (size_t)wanted, args[1]) : NULL;
    give_scratch(file.more);
    if (shown == NULL && !PyErr_Occurred())
        return Py_NewRef(Py_None);
    return shown;
}
#endif
