! SPDX-License-Identifier: BSD-2-Clause
! user_job.f90 - user events from Fortran: by the module, and as old_style.f90 has them.
program user_job
	use pupc
	use iso_c_binding
	implicit none
	integer :: step, mark, old, i, at
	logical :: there

	step = pupc_create_event("fortran step", "step=%d of=%d")
	mark = pupc_create_event("fortran mark", "bytes=%ld")
	call make_old(old)
	open(newunit=at, file="ready"); close(at)
	do
		inquire(file="go", exist=there)
		if (there) exit
		call sleep_a_little()
	end do
	do i = 1, 25
		call pupc_event_start(step, i, 25)
		call pupc_event_atomic(mark, int(i, c_int64_t) * 10000000000_c_int64_t)
		call old_pair(old)
		call pupc_event_end(step, -i, 25)
	end do
contains
	subroutine sleep_a_little()
		interface
			integer(c_int) function usleep(us) bind(C)
				import :: c_int
				integer(c_int), value :: us
			end function
		end interface
		integer :: ignored

		ignored = usleep(10000)
	end subroutine
end program
