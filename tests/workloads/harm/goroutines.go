// SPDX-License-Identifier: BSD-2-Clause
// Goroutines that are many times as many as threads, whose stacks grow, and are moved, inside a function that is observed,
// and that panic and recover through it. An address that a return probe put on such a stack is found by the runtime when it moves the
// stack, and ends the program.
package main

import (
	"fmt"
	"io"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
)

var climbCalls, climbReturns, riskyCalls, riskyReturns, recovered int64

// Each level needs a kilobyte of stack: 100 levels are more than a goroutine begins with.
//
//go:noinline
func climb(n int64) int64 {
	var room [128]int64

	atomic.AddInt64(&climbCalls, 1)
	room[n%128] = n
	if n > 0 {
		room[0] += climb(n - 1)
	}
	if n%10 == 0 {
		runtime.Gosched()
	}
	atomic.AddInt64(&climbReturns, 1)
	return room[n%128] + room[0]
}

//go:noinline
func risky(n int64) int64 {
	atomic.AddInt64(&riskyCalls, 1)
	if n%3 == 1 {
		panic("on purpose")
	}
	value := climb(n % 100)
	atomic.AddInt64(&riskyReturns, 1)
	return value
}

func try(n int64) (value int64) {
	defer func() {
		if recover() != nil {
			atomic.AddInt64(&recovered, 1)
			value = 1000
		}
	}()
	return risky(n)
}

func main() {
	if len(os.Args) > 1 { // wait: until nobody writes to us any more
		fmt.Printf("ready %d\n", os.Getpid())
		io.ReadAll(os.Stdin)
	}
	var group sync.WaitGroup
	var sum int64

	for i := int64(0); i < 200; i++ {
		group.Add(1)
		go func(n int64) {
			defer group.Done()
			atomic.AddInt64(&sum, try(n)%1000)
		}(i)
		if i%50 == 0 {
			runtime.GC() // shrinks stacks
		}
	}
	group.Wait()
	fmt.Printf("function main.climb calls %d returns %d\n", climbCalls, climbReturns)
	fmt.Printf("function main.risky calls %d returns %d\n", riskyCalls, riskyReturns)
	fmt.Printf("recovered %d\nsum %d\n", recovered, sum)
}
