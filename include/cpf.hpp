/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * cpf.hpp - the Custom Plug-in Framework's C++ class, over cpf.h. Header only.
 *
 *     class MySimulator : public CustomPluginFramework { ... };
 *     CPF_PLUGIN(MySimulator)
 *
 * and it is a plug-in for `gaspbpf simulate --plugin`. One that has the document's own create() and destroy(), extern
 * "C", needs no CPF_PLUGIN. Types, members and functions are those of the framework's document; functions that are not
 * in it have bodies that change nothing. C++11.
 */
#ifndef CPF_HPP
#define CPF_HPP

#include "cpf.h"

typedef uint32_t U4;
typedef uint64_t U8;
typedef int32_t I4;
typedef int64_t I8;
typedef float F4;
typedef double F8;

typedef cpf_func_event FuncEventData;
typedef cpf_func_event FuncEventInfo;
typedef cpf_p2p P2PInfo;
typedef cpf_coll_op CollOpInfo;

template <class T> struct ObjectPointerAllocator {
};

/* What somebody else holds, by index. */
template <class T, class Allocator = void> class Vector
{
      public:
	Vector() : _items(nullptr), _count(0)
	{
	}
	Vector(T const *items, size_t count) : _items(items), _count(count)
	{
	}
	size_t size() const
	{
		return _count;
	}
	bool empty() const
	{
		return !_count;
	}
	T const &operator[](size_t i) const
	{
		return _items[i];
	}
	T const &at(size_t i) const
	{
		return _items[i];
	}
	T const *begin() const
	{
		return _items;
	}
	T const *end() const
	{
		return _items + _count;
	}

      private:
	T const *_items;
	size_t _count;
};

/* Names by a number that counts from 0. */
template <class Key, class Value> class HashMap
{
      public:
	HashMap() : _values(nullptr), _count(0)
	{
	}
	HashMap(Value const *values, size_t count) : _values(values), _count(count)
	{
	}
	size_t size() const
	{
		return _count;
	}
	bool contains(Key key) const
	{
		return key < _count;
	}
	Value operator[](Key key) const
	{
		return key < _count ? _values[key] : Value();
	}

      private:
	Value const *_values;
	size_t _count;
};

class CustomPluginFramework
{
      public:
	virtual ~CustomPluginFramework()
	{
	}

	virtual void Initialize() = 0;
	virtual void Finalize() = 0;
	virtual void ProcessFunctionEvent(FuncEventInfo *_event_) = 0;
	virtual void ProcessNonTracingEvent(FuncEventInfo *_event_) = 0;
	virtual void ProcessMPIFunctionEvent(FuncEventInfo *_event_) = 0;
	virtual void ProcessCollOp(CollOpInfo *_collop_) = 0;
	virtual void ProcessP2P(P2PInfo *_message_) = 0;
	virtual void ProcessNonBlockingSend(FuncEventInfo *_event_, P2PInfo *_message_) = 0;
	virtual void ProcessP2PWaitAllSome(Vector<P2PInfo *, ObjectPointerAllocator<P2PInfo *>> *_messages_) = 0;

	/* Beyond the document. */
	virtual void ProcessOneSided(cpf_one_sided *)
	{
	}
	virtual void ProcessLock(cpf_lock *)
	{
	}
	virtual void ProcessSplitPhase(cpf_split_phase *)
	{
	}
	virtual void ProcessTask(cpf_task *)
	{
	}
	virtual void ProcessUnmatched(FuncEventInfo *)
	{
	}
	virtual bool SendIsSynchronous(const P2PInfo *)
	{
		return false;
	}

	/* The framework calls it before Initialize(), with all that it tells. */
	void setup(const cpf_setup *s)
	{
		_setup = s;
		_commandLineParams = Vector<char *>(const_cast<char *const *>(s->_commandLineParams),
						    s->_commandLineParamCount);
		_clockResolution = s->_clockResolution;
		setup(Vector<U4>(s->_singleRankFuncs, s->_numFunctions), Vector<U4>(s->_collOpFuncs, s->_numFunctions),
		      Vector<U4>(s->_P2PFuncs, s->_numFunctions),
		      HashMap<U4, const char *>(s->_communicatorsMapped, s->_numCommunicators), s->_stfPath,
		      s->_stfStart, s->_stfEnd, s->_numThreads);
	}

	/* The document's. */
	void setup(const Vector<U4> singleRankFuncs, const Vector<U4> collOpFuncs, const Vector<U4> P2PFuncs,
		   const HashMap<U4, const char *> communicators, const char *path, const U8 start, const U8 end,
		   const U4 threads)
	{
		_singleRankFuncs = singleRankFuncs;
		_collOpFuncs = collOpFuncs;
		_P2PFuncs = P2PFuncs;
		_communicatorsMapped = communicators;
		_stfPath = const_cast<char *>(path);
		_stfStart = start;
		_stfEnd = end;
		_numThreads = threads;
	}

      protected:
	bool isSingleRankFunc(U4 id) const
	{
		return cpf_isSingleRankFunc(_setup, id);
	}
	bool isCollectiveOperation(U4 id) const
	{
		return cpf_isCollectiveOperation(_setup, id);
	}
	bool isP2P(U4 id) const
	{
		return cpf_isP2P(_setup, id);
	}
	bool isAllToAll(U4 id) const
	{
		return cpf_isAllToAll(_setup, id);
	}
	bool isOneToAll(U4 id) const
	{
		return cpf_isOneToAll(_setup, id);
	}
	bool isAllToOne(U4 id) const
	{
		return cpf_isAllToOne(_setup, id);
	}
	bool isAll(U4 id) const
	{
		return cpf_isAll(_setup, id);
	}
	bool isSendP2P(U4 id) const
	{
		return cpf_isSendP2P(_setup, id);
	}
	bool isSyncSendP2P(U4 id) const
	{
		return cpf_isSyncSendP2P(_setup, id);
	}
	bool isSendRecv(U4 id) const
	{
		return cpf_isSendRecv(_setup, id);
	}
	bool isRecv(U4 id) const
	{
		return cpf_isRecv(_setup, id);
	}

	Vector<char *> _commandLineParams;
	char *_stfPath = nullptr;
	U8 _stfStart = 0;
	U8 _stfEnd = 0;
	U4 _numThreads = 0;
	F8 _clockResolution = 0;
	Vector<U4> _singleRankFuncs;
	Vector<U4> _collOpFuncs;
	Vector<U4> _P2PFuncs;
	HashMap<U4, const char *> _communicatorsMapped;
	const cpf_setup *_setup = nullptr; /* all that the framework tells */
};

typedef CustomPluginFramework *create_t();
typedef void destroy_t(CustomPluginFramework *);

/* The C side of a C++ simulator. */
struct cpf_shim : cpf_plugin {
	destroy_t *destroy;

	explicit cpf_shim(CustomPluginFramework *simulator, destroy_t *by = nullptr) : cpf_plugin(), destroy(by)
	{
		version = CPF_VERSION;
		size = sizeof(cpf_plugin);
		self = simulator;
		cpf_plugin::setup = [](void *s, const cpf_setup *facts) { of(s)->setup(facts); };
		cpf_plugin::Initialize = [](void *s) { of(s)->Initialize(); };
		cpf_plugin::Finalize = [](void *s) { of(s)->Finalize(); };
		cpf_plugin::ProcessFunctionEvent = [](void *s, cpf_func_event *e) { of(s)->ProcessFunctionEvent(e); };
		cpf_plugin::ProcessNonTracingEvent = [](void *s, cpf_func_event *e) {
			of(s)->ProcessNonTracingEvent(e);
		};
		cpf_plugin::ProcessMPIFunctionEvent = [](void *s, cpf_func_event *e) {
			of(s)->ProcessMPIFunctionEvent(e);
		};
		cpf_plugin::ProcessCollOp = [](void *s, cpf_coll_op *c) { of(s)->ProcessCollOp(c); };
		cpf_plugin::ProcessP2P = [](void *s, cpf_p2p *m) { of(s)->ProcessP2P(m); };
		cpf_plugin::ProcessNonBlockingSend = [](void *s, cpf_func_event *e, cpf_p2p *m) {
			of(s)->ProcessNonBlockingSend(e, m);
		};
		cpf_plugin::ProcessP2PWaitAllSome = [](void *s, cpf_p2p *const *m, size_t n) {
			Vector<P2PInfo *, ObjectPointerAllocator<P2PInfo *>> messages(m, n);
			of(s)->ProcessP2PWaitAllSome(&messages);
		};
		cpf_plugin::ProcessOneSided = [](void *s, cpf_one_sided *t) { of(s)->ProcessOneSided(t); };
		cpf_plugin::ProcessLock = [](void *s, cpf_lock *l) { of(s)->ProcessLock(l); };
		cpf_plugin::ProcessSplitPhase = [](void *s, cpf_split_phase *w) { of(s)->ProcessSplitPhase(w); };
		cpf_plugin::ProcessTask = [](void *s, cpf_task *t) { of(s)->ProcessTask(t); };
		cpf_plugin::ProcessUnmatched = [](void *s, cpf_func_event *e) { of(s)->ProcessUnmatched(e); };
		cpf_plugin::SendIsSynchronous = [](void *s, const cpf_p2p *m) -> int {
			return of(s)->SendIsSynchronous(m);
		};
	}

      private:
	static CustomPluginFramework *of(void *self)
	{
		return static_cast<CustomPluginFramework *>(self);
	}
};

/* How gaspbpf comes from a library with the document's create() and destroy() to the C side; in each library that
 * includes this. */
#define CPF_EMITTED extern "C" inline __attribute__((used, visibility("default")))
CPF_EMITTED struct cpf_plugin *cpf_wrap(create_t *create, destroy_t *destroy)
{
	CustomPluginFramework *simulator = create();

	return simulator ? new cpf_shim(simulator, destroy) : nullptr;
}
CPF_EMITTED void cpf_unwrap(struct cpf_plugin *plugin)
{
	cpf_shim *shim = static_cast<cpf_shim *>(plugin);

	shim->destroy(static_cast<CustomPluginFramework *>(plugin->self));
	delete shim;
}
#undef CPF_EMITTED

/* Makes a class the plug-in of this shared library. */
#define CPF_PLUGIN(Class)                                                  \
	extern "C" struct cpf_plugin *cpf_create(void)                     \
	{                                                                  \
		return new cpf_shim(new Class());                          \
	}                                                                  \
	extern "C" void cpf_destroy(struct cpf_plugin *plugin)             \
	{                                                                  \
		delete static_cast<CustomPluginFramework *>(plugin->self); \
		delete static_cast<cpf_shim *>(plugin);                    \
	}

#endif
