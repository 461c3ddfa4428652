/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * gasp_upc_types.h - the types of UPC's events: GASP 1.4, section 5.4. Included by gasp_upc.h.
 */
#ifndef GASP_UPC_TYPES_H
#define GASP_UPC_TYPES_H

#define GASP_UPC_VERSION 1 /* section 5.5: grows with new events of gaspbpf's own */

/* Section 5.3: the numbers that pupc_create_event() gives; those of PUPC 1.1 section 3.1. */
#define GASP_UPC_USEREVT_START 0xC0000000u
#define GASP_UPC_USEREVT_END 0xFFFFFFFFu

/* Opaque: a pointer-to-shared, and upc_lock_t. Tools get pointers to storage that holds the value, 8 or 16 bytes. */
typedef void gasp_upc_PTS_t;
typedef void gasp_upc_lock_t;

/* Section 5.4.6. */
typedef void *gasp_upc_nb_handle_t;
#define GASP_NB_TRIVIAL ((gasp_upc_nb_handle_t)0) /* the operation was completed when it was begun */

/* Section 5.4.8: the suffix says of what type the elements are. */
typedef enum {
	GASP_UPC_REDUCTION_C,
	GASP_UPC_REDUCTION_UC,
	GASP_UPC_REDUCTION_S,
	GASP_UPC_REDUCTION_US,
	GASP_UPC_REDUCTION_I,
	GASP_UPC_REDUCTION_UI,
	GASP_UPC_REDUCTION_L,
	GASP_UPC_REDUCTION_UL,
	GASP_UPC_REDUCTION_F,
	GASP_UPC_REDUCTION_D,
	GASP_UPC_REDUCTION_LD
} gasp_upc_reduction_t;

#endif
