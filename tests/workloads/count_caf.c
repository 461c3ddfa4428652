/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Counts calls of the coarray library and the payload of get, put and copy (LD_PRELOAD=libcount_caf.so).
 *
 * Payload is worked out from the array descriptor that gfortran passes: element size times the product of the extents.
 * For a put the destination's descriptor counts, since the source may be a scalar that is spread.
 */
#include "count.h"

#include <stdbool.h>

const char *const count_library = "caf";

/* gfortran's array descriptor since GCC 8, as its documentation lays it out. */
struct descriptor {
	void *base;
	size_t offset;
	struct {
		size_t element;
		int version;
		signed char rank, type;
		short attribute;
	} dtype;
	ptrdiff_t span;
	struct {
		ptrdiff_t stride, lower, upper;
	} dim[];
};

static uint64_t payload(const struct descriptor *array)
{
	uint64_t bytes = array->dtype.element;

	for (int i = 0; i < array->dtype.rank; i++)
		bytes *= array->dim[i].upper < array->dim[i].lower ? 0 : array->dim[i].upper - array->dim[i].lower + 1;
	return bytes;
}

void _gfortran_caf_get(void *token, size_t offset, int image, struct descriptor *source, void *vector,
		       struct descriptor *dest, int source_kind, int dest_kind, bool temporary, int *stat);
void _gfortran_caf_send(void *token, size_t offset, int image, struct descriptor *dest, void *vector,
			struct descriptor *source, int dest_kind, int source_kind, bool temporary, int *stat);
void _gfortran_caf_sendget(void *token, size_t offset, int image, struct descriptor *dest, void *vector,
			   void *from_token, size_t from_offset, int from_image, struct descriptor *source,
			   void *from_vector, int dest_kind, int source_kind, bool temporary, int *stat);
void _gfortran_caf_register(size_t size, int type, void **token, struct descriptor *array, int *stat, char *message,
			    size_t length);

void _gfortran_caf_get(void *token, size_t offset, int image, struct descriptor *source, void *vector,
		       struct descriptor *dest, int source_kind, int dest_kind, bool temporary, int *stat)
{
	NEXT(_gfortran_caf_get);
	TALLY(_gfortran_caf_get, payload(source), 0, payload(source));
	next(token, offset, image, source, vector, dest, source_kind, dest_kind, temporary, stat);
}

void _gfortran_caf_send(void *token, size_t offset, int image, struct descriptor *dest, void *vector,
			struct descriptor *source, int dest_kind, int source_kind, bool temporary, int *stat)
{
	NEXT(_gfortran_caf_send);
	TALLY(_gfortran_caf_send, payload(dest), payload(dest), 0);
	next(token, offset, image, dest, vector, source, dest_kind, source_kind, temporary, stat);
}

void _gfortran_caf_sendget(void *token, size_t offset, int image, struct descriptor *dest, void *vector,
			   void *from_token, size_t from_offset, int from_image, struct descriptor *source,
			   void *from_vector, int dest_kind, int source_kind, bool temporary, int *stat)
{
	NEXT(_gfortran_caf_sendget);
	TALLY(_gfortran_caf_sendget, payload(dest), 0, 0);
	next(token, offset, image, dest, vector, from_token, from_offset, from_image, source, from_vector, dest_kind,
	     source_kind, temporary, stat);
}

void _gfortran_caf_register(size_t size, int type, void **token, struct descriptor *array, int *stat, char *message,
			    size_t length)
{
	NEXT(_gfortran_caf_register);
	TALLY(_gfortran_caf_register, size, 0, 0);
	next(size, type, token, array, stat, message, length);
}

/* Collectives: the array is the first parameter, the rest is passed on. */
#define COLLECTIVE(FUNCTION, PARAMETERS, ARGUMENTS)             \
	void FUNCTION PARAMETERS;                               \
	void FUNCTION PARAMETERS                                \
	{                                                       \
		NEXT(FUNCTION);                                 \
		TALLY(FUNCTION, payload(array), 0, 0);          \
		next ARGUMENTS;                                 \
	}
COLLECTIVE(_gfortran_caf_co_broadcast, (struct descriptor *array, int image, int *stat, char *message, size_t length),
	   (array, image, stat, message, length))
COLLECTIVE(_gfortran_caf_co_sum, (struct descriptor *array, int image, int *stat, char *message, size_t length),
	   (array, image, stat, message, length))
COLLECTIVE(_gfortran_caf_co_min,
	   (struct descriptor * array, int image, int *stat, char *message, int chars, size_t length),
	   (array, image, stat, message, chars, length))
COLLECTIVE(_gfortran_caf_co_max,
	   (struct descriptor * array, int image, int *stat, char *message, int chars, size_t length),
	   (array, image, stat, message, chars, length))
COLLECTIVE(_gfortran_caf_co_reduce,
	   (struct descriptor * array, void *(*operation)(void *, void *), int flags, int image, int *stat,
	    char *message, int chars, size_t length),
	   (array, operation, flags, image, stat, message, chars, length))

/* All others: calls only. */
#include "count_caf_names.h"
