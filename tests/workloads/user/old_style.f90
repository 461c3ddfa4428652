! SPDX-License-Identifier: BSD-2-Clause
! old_style.f90 - as in FORTRAN 77: no interface, everything by reference, lengths of texts behind the scenes.
subroutine make_old(old)
	integer :: old
	integer, external :: pupc_create_event

	old = pupc_create_event("old style  ", " ")
end subroutine

subroutine old_pair(old)
	integer :: old
	external pupc_event_start, pupc_event_end

	call pupc_event_start(old)
	call pupc_event_end(old)
end subroutine
