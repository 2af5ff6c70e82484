/*
 * The dining philosophers, as `model:philosophers` has them, for SPIN: `cargo xtask bench` compares both.
 *
 *   spin -a -DN=14 philosophers.pml             everyone takes the left fork first: can deadlock (order=naive)
 *   spin -a -DN=14 -DORDERED philosophers.pml   the last one takes the right fork first: cannot
 *
 * Fork i lies to the left of philosopher i. A philosopher's phase is its program counter: thinking, holding the
 * first fork, eating, holding the second fork only. Each step is one transition, so SPIN stores one state for each
 * combination of phases that can be reached: 3^N - 1 of them, or 3^N when ordered (xtask/tests/peers.rs counts).
 * One bit a fork in one integer: measured a fifth faster in SPIN than an array of bytes.
 */
#ifndef N
#define N 4
#endif

#ifdef ORDERED
#define FIRST  (1 << ((_pid == N - 1) -> 0 : _pid))
#define SECOND (1 << ((_pid == N - 1) -> _pid : _pid + 1))
#else
#define FIRST  (1 << _pid)
#define SECOND (1 << ((_pid + 1) % N))
#endif

int taken;

active [N] proctype philosopher()
{
	do
	:: d_step { !(taken & FIRST) -> taken = taken | FIRST };
	   d_step { !(taken & SECOND) -> taken = taken | SECOND };
	   taken = taken & ~FIRST;
	   taken = taken & ~SECOND
	od
}
