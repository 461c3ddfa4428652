/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * library.h - the functions of OTF2's own library, loaded when they are needed. Private to user/export/otf2.
 *
 * gaspbpf runs as root and mostly writes no OTF2: a library that is linked in would be mapped and relocated by each of
 * its processes all the same. So it is opened by the one that writes an archive, and by no other.
 */
#ifndef GASPBPF_EXPORT_OTF2_LIBRARY_H
#define GASPBPF_EXPORT_OTF2_LIBRARY_H

#include <otf2/OTF2_MarkerWriter.h>
#include <otf2/otf2.h>

/* What is called of it, without OTF2_. */
#define OTF2_ARCHIVE_CALLS(CALL)                   \
	CALL(Archive_Open)                         \
	CALL(Archive_Close)                        \
	CALL(Archive_SetFlushCallbacks)            \
	CALL(Archive_SetMemoryCallbacks)           \
	CALL(Archive_SetSerialCollectiveCallbacks) \
	CALL(Archive_SetCreator)                   \
	CALL(Archive_SetMachineName)               \
	CALL(Archive_SetDescription)               \
	CALL(Archive_OpenEvtFiles)                 \
	CALL(Archive_CloseEvtFiles)                \
	CALL(Archive_OpenDefFiles)                 \
	CALL(Archive_CloseDefFiles)                \
	CALL(Archive_GetEvtWriter)                 \
	CALL(Archive_CloseEvtWriter)               \
	CALL(Archive_GetDefWriter)                 \
	CALL(Archive_CloseDefWriter)               \
	CALL(Archive_GetMarkerWriter)              \
	CALL(Archive_CloseMarkerWriter)            \
	CALL(Archive_GetGlobalDefWriter)           \
	CALL(Error_RegisterCallback)               \
	CALL(AttributeList_New)                    \
	CALL(AttributeList_Delete)                 \
	CALL(AttributeList_AddAttribute)           \
	CALL(MarkerWriter_WriteDefMarker)          \
	CALL(MarkerWriter_WriteMarker)

#define OTF2_DEFINITION_CALLS(CALL)                       \
	CALL(GlobalDefWriter_WriteClockProperties)        \
	CALL(GlobalDefWriter_WriteParadigm)               \
	CALL(GlobalDefWriter_WriteString)                 \
	CALL(GlobalDefWriter_WriteAttribute)              \
	CALL(GlobalDefWriter_WriteSystemTreeNode)         \
	CALL(GlobalDefWriter_WriteSystemTreeNodeProperty) \
	CALL(GlobalDefWriter_WriteSystemTreeNodeDomain)   \
	CALL(GlobalDefWriter_WriteLocationGroup)          \
	CALL(GlobalDefWriter_WriteLocationGroupProperty)  \
	CALL(GlobalDefWriter_WriteLocation)               \
	CALL(GlobalDefWriter_WriteLocationProperty)       \
	CALL(GlobalDefWriter_WriteRegion)                 \
	CALL(GlobalDefWriter_WriteGroup)                  \
	CALL(GlobalDefWriter_WriteComm)                   \
	CALL(GlobalDefWriter_WriteRmaWin)                 \
	CALL(GlobalDefWriter_WriteSourceCodeLocation)

#define OTF2_EVENT_CALLS(CALL)                        \
	CALL(EvtWriter_Enter)                         \
	CALL(EvtWriter_Leave)                         \
	CALL(EvtWriter_MeasurementOnOff)              \
	CALL(EvtWriter_MpiSend)                       \
	CALL(EvtWriter_MpiIsend)                      \
	CALL(EvtWriter_MpiIsendComplete)              \
	CALL(EvtWriter_MpiIrecvRequest)               \
	CALL(EvtWriter_MpiRecv)                       \
	CALL(EvtWriter_MpiIrecv)                      \
	CALL(EvtWriter_MpiCollectiveBegin)            \
	CALL(EvtWriter_MpiCollectiveEnd)              \
	CALL(EvtWriter_NonBlockingCollectiveRequest)  \
	CALL(EvtWriter_NonBlockingCollectiveComplete) \
	CALL(EvtWriter_RmaCollectiveBegin)            \
	CALL(EvtWriter_RmaCollectiveEnd)              \
	CALL(EvtWriter_RmaPut)                        \
	CALL(EvtWriter_RmaGet)                        \
	CALL(EvtWriter_RmaAtomic)                     \
	CALL(EvtWriter_RmaOpCompleteBlocking)         \
	CALL(EvtWriter_RmaAcquireLock)                \
	CALL(EvtWriter_RmaReleaseLock)                \
	CALL(EvtWriter_ThreadAcquireLock)             \
	CALL(EvtWriter_ThreadReleaseLock)

#define OTF2_CALLS(CALL) OTF2_ARCHIVE_CALLS(CALL) OTF2_DEFINITION_CALLS(CALL) OTF2_EVENT_CALLS(CALL)

struct otf2_library {
#define OTF2_MEMBER(name) __typeof__(OTF2_##name) *name;
	OTF2_CALLS(OTF2_MEMBER)
#undef OTF2_MEMBER
};

/* Loads it, once. 0, or -errno, said: it is not there. */
int otf2_library(const struct otf2_library **library);

#endif
