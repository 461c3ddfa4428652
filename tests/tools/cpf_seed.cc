/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A simulator as one is written from the framework's document alone: its types, members, predicates and functions, its create() and destroy(), nothing of
 * gaspbpf's own. Every call of the runtime ends at once, every message when it was sent.
 */
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "cpf.hpp"

class MySimulator : public CustomPluginFramework
{
public:
	void Initialize();
	void Finalize();
	void ProcessFunctionEvent( FuncEventInfo * _event_ );
	void ProcessNonTracingEvent( FuncEventInfo * _event_ );
	void ProcessMPIFunctionEvent( FuncEventInfo * _event_ );
	void ProcessCollOp( CollOpInfo * _collop_ );
	void ProcessP2P( P2PInfo * _message_ );
	void ProcessNonBlockingSend( FuncEventInfo * _event_, P2PInfo * _message_ );
	void ProcessP2PWaitAllSome( Vector<P2PInfo*, ObjectPointerAllocator<P2PInfo*> > * _messages_ );

private:
	F8 factor;
	U4 barriers, sends, kinds;
	I8 moved;
};

void MySimulator::Initialize()
{
	Vector< U4 > tables[3] = { _singleRankFuncs, _collOpFuncs, _P2PFuncs };

	factor = 1;
	barriers = sends = kinds = 0;
	moved = 0;
	for (U4 i = 0; i < _commandLineParams.size(); i++) {
		char * parameter = _commandLineParams[i];

		if (!strncmp(parameter, "factor=", 7))
			factor = atof(parameter + 7);
	}
	for (U4 i = 0; i < tables[0].size(); i++)
		kinds += (tables[0][i] != (U4)-1) + (tables[1][i] != (U4)-1) + (tables[2][i] != (U4)-1);
}

void MySimulator::Finalize()
{
	char * path = _stfPath;
	const char * world = _communicatorsMapped.size() ? _communicatorsMapped[0] : "";

	printf("threads=%u span=%llu resolution=%g folder=%d world=%s kinds=%u barriers=%u sends=%u moved=%lld\n", _numThreads,
	       (unsigned long long)(_stfEnd - _stfStart), _clockResolution, path[strlen(path) - 1] == '/', world, kinds, barriers, sends, (long long)moved);
}

void MySimulator::ProcessFunctionEvent( FuncEventInfo * _event_ )
{
	FuncEventData * data = _event_;

	data->_endTime = data->_startTime + (U8)((data->_endTime - data->_startTime) * factor);
}

void MySimulator::ProcessNonTracingEvent( FuncEventInfo * ) {}

void MySimulator::ProcessMPIFunctionEvent( FuncEventInfo * _event_ )
{
	if (isSingleRankFunc(_event_->_func) && !isP2P(_event_->_func) && !isCollectiveOperation(_event_->_func))
		_event_->_endTime = _event_->_startTime;
}

void MySimulator::ProcessCollOp( CollOpInfo * _collop_ )
{
	U8 last = _collop_->_firstTime;
	U4 id = _collop_->_collOpId;

	barriers += isAll(id) && !isAllToAll(id) && !isOneToAll(id) && !isAllToOne(id);
	for (U4 i = 0; i < _collop_->_threads.size(); i++)
		if (_collop_->_threads[i]->_startTime > last)
			last = _collop_->_threads[i]->_startTime;
	for (U4 i = 0; i < _collop_->_threads.size(); i++)
		_collop_->_threads[i]->_endTime = last;
}

void MySimulator::ProcessP2P( P2PInfo * _message_ )
{
	U8 later = _message_->_sendStartTime > _message_->_recvStartTime ? _message_->_sendStartTime : _message_->_recvStartTime;

	if (isSyncSendP2P(_message_->_sendFID) || isSendRecv(_message_->_recvFID) || isRecv(_message_->_recvFID))
		_message_->_recvEndTime = later;
	moved += _message_->_messageSize;
}

void MySimulator::ProcessNonBlockingSend( FuncEventInfo * _event_, P2PInfo * _message_ )
{
	sends += isSendP2P(_event_->_func) && _message_->_sender == _event_->_threadID && _message_->_tag >= 0 && !_message_->_backwards;
	_event_->_endTime = _event_->_startTime;
}

void MySimulator::ProcessP2PWaitAllSome( Vector<P2PInfo*, ObjectPointerAllocator<P2PInfo*> > * _messages_ )
{
	for (U4 i = 0; i < _messages_->size(); i++) {
		P2PInfo * message = (*_messages_)[i];

		message->_recvEndTime = message->_recvStartTime;
	}
}

extern "C" CustomPluginFramework * create() { return new MySimulator; }
extern "C" void destroy( CustomPluginFramework * simulator ) { delete simulator; }

create_t * my_create = create;
destroy_t * my_destroy = destroy;
