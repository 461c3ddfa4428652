/* SPDX-License-Identifier: BSD-2-Clause */
/* A CPF simulator in C++, with the class of the framework's document: it writes down all that it is told, and changes nothing. */
#include <cstdio>
#include <cstring>
#include <cinttypes>

#include "cpf.hpp"

class Facts : public CustomPluginFramework {
public:
	void Initialize() override
	{
		std::printf("setup threads=%u start=%" PRIu64 " end=%" PRIu64 " resolution=%g path=%s parameters=%zu:%s\n", _numThreads, _stfStart,
			    _stfEnd, _clockResolution, _stfPath, _commandLineParams.size(), _commandLineParams.size() ? _commandLineParams[0] : "");
		for (U4 i = 0; i < _setup->_numFunctions; i++)
			std::printf("function %s%s%s%s%s%s%s%s%s%s%s%s tables=%d%d%d\n", name(i), isSingleRankFunc(i) ? " single" : "",
				    isCollectiveOperation(i) ? " collective" : "", isP2P(i) ? " p2p" : "", isAllToAll(i) ? " alltoall" : "",
				    isOneToAll(i) ? " onetoall" : "", isAllToOne(i) ? " alltoone" : "", isAll(i) ? " all" : "",
				    isSendP2P(i) ? " send" : "", isSyncSendP2P(i) ? " sync" : "", isSendRecv(i) ? " sendrecv" : "",
				    isRecv(i) ? " recv" : "", _singleRankFuncs[i] == i, _collOpFuncs[i] == i, _P2PFuncs[i] == i);
		for (U4 i = 0; i < _communicatorsMapped.size(); i++)
			std::printf("communicator %u %s\n", i, _communicatorsMapped[i]);
		print_privileges();
	}
	void Finalize() override { std::printf("finalize\n"); }
	void ProcessFunctionEvent(FuncEventInfo *e) override { print("work", e); }
	void ProcessNonTracingEvent(FuncEventInfo *e) override { print("nontracing", e); }
	void ProcessMPIFunctionEvent(FuncEventInfo *e) override { print("local", e); }
	void ProcessUnmatched(FuncEventInfo *e) override { print("unmatched", e); }
	void ProcessCollOp(CollOpInfo *c) override
	{
		std::printf("collop %s root=%d index=%d first=%" PRIu64, name(c->_collOpId), (int)c->_root, (int)c->_rootIndex, at(c->_firstTime));
		for (size_t i = 0; i < c->_threads.size(); i++)
			std::printf(" %u:%" PRIu64 "-%" PRIu64, c->_threads[i]->_threadID, at(c->_threads[i]->_startTime), at(c->_threads[i]->_endTime));
		std::printf("\n");
	}
	void ProcessP2P(P2PInfo *m) override { print("p2p", m); }
	void ProcessNonBlockingSend(FuncEventInfo *e, P2PInfo *m) override
	{
		std::printf("send %u %s %" PRIu64 "-%" PRIu64 " to %d tag=%d size=%" PRIu64 "\n", e->_threadID, name(e->_func), at(e->_startTime),
			    at(e->_endTime), (int)m->_receiver, m->_tag, m->_messageSize);
	}
	void ProcessP2PWaitAllSome(Vector<P2PInfo *, ObjectPointerAllocator<P2PInfo *> > *messages) override
	{
		for (size_t i = 0; i < messages->size(); i++)
			print("wait", (*messages)[i]);
	}
	void ProcessLock(cpf_lock *l) override
	{
		std::printf("lock %u kind=%u previous=%d %" PRIu64 "-%" PRIu64 "\n", l->_threadID, l->_kind, (int)l->_previous, at(l->_startTime),
			    at(l->_endTime));
		if (l->_previous != CPF_NONE)
			std::printf("lock %u was given back at %" PRIu64 "\n", l->_threadID, at(l->_releaseTime));
	}
	void ProcessOneSided(cpf_one_sided *t) override
	{
		static const char *const kinds[] = { "put", "get", "copy", "atomic", "fence" };

		std::printf("onesided %u %s %s to %d size=%" PRIu64 " %" PRIu64 "-%" PRIu64 "\n", t->_threadID, name(t->_func), kinds[t->_kind], (int)t->_target,
			    t->_messageSize, at(t->_startTime), at(t->_endTime));
	}
	void ProcessSplitPhase(cpf_split_phase *w) override
	{
		std::printf("split %u %s of %s threads=%u root=%d size=%" PRIu64 " began=%" PRIu64 "-%" PRIu64 " %" PRIu64 "-%" PRIu64 "\n", w->_threadID, name(w->_func),
			    name(w->_beginFunc), w->_threadCount, (int)w->_root, w->_messageSize, at(w->_firstTime), at(w->_lastTime), at(w->_startTime),
			    at(w->_endTime));
	}
	void ProcessTask(cpf_task *t) override
	{
		std::printf("task %u %s %#" PRIx64 " worker=%d %" PRIu64 "-%" PRIu64 "\n", t->_threadID, name(t->_func), t->_task, (int)t->_worker, at(t->_startTime),
			    at(t->_endTime));
	}

private:
	const char *name(U4 id) const { return id < _setup->_numFunctions ? _setup->_functions[id].name : "?"; }
	U8 at(U8 time) const { return time - _stfStart; }
	void print(const char *what, const FuncEventInfo *e) const
	{
		std::printf("%s %u %s %" PRIu64 "-%" PRIu64 "\n", what, e->_threadID, name(e->_func), at(e->_startTime), at(e->_endTime));
	}
	void print(const char *what, const P2PInfo *m) const
	{
		std::printf("%s %u->%u tag=%d size=%" PRIu64 " backwards=%u send=%" PRIu64 " recv=%" PRIu64 "-%" PRIu64 " posted=%" PRIu64 "\n", what,
			    m->_sender, m->_receiver, m->_tag, m->_messageSize, m->_backwards, at(m->_sendStartTime), at(m->_recvStartTime),
			    at(m->_recvEndTime), m->_valid & CPF_IRECV_START ? at(m->_iRecvStartTime) : 0);
	}
	static void print_privileges()
	{
		char line[256];
		std::FILE *status = std::fopen("/proc/self/status", "r");

		while (status && std::fgets(line, sizeof line, status))
			if (!std::strncmp(line, "Cap", 3) || !std::strncmp(line, "NoNewPrivs", 10) || !std::strncmp(line, "Uid", 3))
				std::printf("status %s", line);
		if (status)
			std::fclose(status);
	}
};

CPF_PLUGIN(Facts)
