// SPDX-License-Identifier: BSD-2-Clause
// Panics through functions of a Rust program: caught by catch_unwind, with values to drop in every frame, on two threads. A panic
// unwinds by the same tables as a C++ exception.

use std::panic::{catch_unwind, resume_unwind, AssertUnwindSafe};
use std::sync::atomic::{AtomicI64, Ordering::Relaxed};

struct Tale {
    name: &'static str,
    calls: AtomicI64,
    returns: AtomicI64,
}

impl Tale {
    const fn new(name: &'static str) -> Tale {
        Tale { name, calls: AtomicI64::new(0), returns: AtomicI64::new(0) }
    }
    fn called(&self) {
        self.calls.fetch_add(1, Relaxed);
    }
    fn returning(&self, value: i64) -> i64 {
        self.returns.fetch_add(1, Relaxed);
        value
    }
    fn tell(&self) {
        println!("function {} calls {} returns {}", self.name, self.calls.load(Relaxed), self.returns.load(Relaxed));
    }
}

static RISKY: Tale = Tale::new("risky");
static DEEP: Tale = Tale::new("deep");
static AGAIN: Tale = Tale::new("again");
static DROPPED: AtomicI64 = AtomicI64::new(0);
static CAUGHT: AtomicI64 = AtomicI64::new(0);

struct Witness(i64);

impl Drop for Witness {
    fn drop(&mut self) {
        DROPPED.fetch_add(self.0, Relaxed);
    }
}

#[no_mangle]
#[inline(never)]
pub fn risky(n: i64) -> i64 {
    RISKY.called();
    let values = [1, 2, 3];
    // Out of bounds for n % 4 == 3: the panic comes from the language itself.
    let value = values[(n % 4) as usize];
    RISKY.returning(value * n)
}

#[no_mangle]
#[inline(never)]
pub fn deep(depth: i64, n: i64) -> i64 {
    DEEP.called();
    let here = Witness(depth);
    let below = if depth == 0 { risky(n) } else { deep(depth - 1, n) };
    drop(here);
    DEEP.returning(below + 1)
}

// Catches a panic and lets it go on.
#[no_mangle]
#[inline(never)]
pub fn again(n: i64) -> i64 {
    AGAIN.called();
    match catch_unwind(AssertUnwindSafe(|| deep(3, n))) {
        Ok(value) => AGAIN.returning(value),
        Err(panic) => resume_unwind(panic),
    }
}

fn try_it(function: impl Fn() -> i64) -> i64 {
    catch_unwind(AssertUnwindSafe(function)).unwrap_or_else(|_| {
        CAUGHT.fetch_add(1, Relaxed);
        1000
    })
}

fn work() -> i64 {
    let sum = (0..40).map(|n| try_it(|| risky(n)) + try_it(|| deep(20, n)) + try_it(|| again(n))).sum::<i64>();
    // Returns from where the panics were caught: whatever they left is known to be left.
    sum + risky(0)
}

fn main() {
    std::panic::set_hook(Box::new(|_| {}));
    let threads: Vec<_> = (0..2).map(|_| std::thread::spawn(work)).collect();
    let sum: i64 = threads.into_iter().map(|thread| thread.join().unwrap()).sum();
    for tale in [&RISKY, &DEEP, &AGAIN] {
        tale.tell();
    }
    println!("caught {}", CAUGHT.load(Relaxed));
    println!("dropped {}", DROPPED.load(Relaxed));
    println!("sum {}", sum);
}
