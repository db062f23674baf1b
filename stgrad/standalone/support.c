/* What compiled programs ask of their surroundings, without Python: memory that counts its references, in the layout of Numba's runtime. */

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#ifndef HIDDEN
#define HIDDEN __attribute__((visibility("hidden")))
#endif

typedef void (*destructor)(void *data, size_t size, void *info);

typedef struct {
    size_t references;
    destructor destroy;
    void *info, *data;
    size_t size;
    void *allocator;
} block;

HIDDEN void *NRT_Allocate(size_t size) { return malloc(size ? size : 1); }

HIDDEN void NRT_Free(void *memory) { free(memory); }

static block *made(size_t size, size_t align) {
    block *b = malloc(sizeof(block) + size + align);
    if (b == NULL) return NULL;
    uintptr_t start = (uintptr_t)(b + 1);
    *b = (block){1, NULL, NULL, (void *)((start + align - 1) / align * align), size, NULL};
    return b;
}

HIDDEN block *NRT_MemInfo_alloc(size_t size) { return made(size, 16); }

HIDDEN block *NRT_MemInfo_alloc_aligned(size_t size, unsigned align) { return made(size, align ? align : 16); }

HIDDEN void NRT_MemInfo_call_dtor(block *b) {
    if (b->destroy) b->destroy(b->data, b->size, b->info);
    free(b);
}

static void destroy_growable(void *data, size_t size, void *info) {
    if (info) ((destructor)info)(data, size, NULL);
    free(data);
}

HIDDEN block *NRT_MemInfo_new_varsize_dtor(size_t size, destructor items) {
    block *b = malloc(sizeof(block));
    void *data = NRT_Allocate(size);
    if (b == NULL || data == NULL) { free(b); free(data); return NULL; }
    *b = (block){1, destroy_growable, (void *)items, data, size, NULL};
    return b;
}

HIDDEN block *NRT_MemInfo_new_varsize(size_t size) { return NRT_MemInfo_new_varsize_dtor(size, NULL); }

HIDDEN void *NRT_MemInfo_varsize_alloc(block *b, size_t size) {
    void *data = NRT_Allocate(size);
    if (data) b->data = data, b->size = size;
    return data;
}

HIDDEN void *NRT_MemInfo_varsize_realloc(block *b, size_t size) {
    void *data = realloc(b->data, size ? size : 1);
    if (data) b->data = data, b->size = size;
    return data;
}

HIDDEN void NRT_MemInfo_varsize_free(block *b, void *data) {
    free(data);
    if (data == b->data) b->data = NULL;
}

/* Whether large arrays fit is what `malloc` says. */
HIDDEN int64_t stgrad_fits(int64_t address, int64_t size) { return 1; }

/* Strides of an array in another shape, where the same memory serves: runs of old and new axes of equal size are matched, and in a run the old axes must lie
   one behind the other. */
HIDDEN int numba_attempt_nocopy_reshape(
    intptr_t old_rank, const intptr_t *old_shape, const intptr_t *old_strides, intptr_t rank, const intptr_t *shape, intptr_t *strides, intptr_t item, int columns
) {
    intptr_t count = 0, first = 0, start = 0, n[64], step[64];
    if (columns || old_rank > 64) return 0;
    for (intptr_t i = 0; i < old_rank; i++) {
        if (old_shape[i] == 0) { /* without elements, any strides do */
            for (intptr_t j = 0; j < rank; j++) strides[j] = item;
            return 1;
        }
        if (old_shape[i] != 1) n[count] = old_shape[i], step[count++] = old_strides[i];
    }
    while (first < count && start < rank) {
        intptr_t last = first, end = start, size = n[first], wish = shape[start];
        while (size != wish) {
            if (wish < size) {
                if (++end >= rank) return 0;
                wish *= shape[end];
            } else {
                if (++last >= count) return 0;
                size *= n[last];
            }
        }
        for (intptr_t i = first; i < last; i++)
            if (step[i] != n[i + 1] * step[i + 1]) return 0;
        strides[end] = step[last];
        for (intptr_t i = end; i > start; i--) strides[i - 1] = strides[i] * shape[i];
        first = last + 1, start = end + 1;
    }
    for (; start < rank; start++) strides[start] = start ? strides[start - 1] : item;
    return 1;
}

/* Texts of exceptions are made in Python, for which nobody asks here: the function returns NaN. */
static void *unreachable(const char *name) {
    fprintf(stderr, "stgrad: compiled code called %s of Python\n", name);
    abort();
}

HIDDEN void *PyExc_RuntimeError = NULL;
#define NEVER(name) HIDDEN void *name(void) { return unreachable(#name); }
NEVER(PyErr_SetString) NEVER(PyObject_Hash) NEVER(PyTuple_Pack) NEVER(PyUnicode_FromKindAndData)
