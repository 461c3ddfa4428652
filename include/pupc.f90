! SPDX-License-Identifier: BSD-2-Clause
! pupc.f90 - user events and measurement control for Fortran (docs/user-events.md). Compile it with the program and link with -lpupc.
!
! An event carries up to three integers, as the format of its creation says: %d for a default integer, %ld for integer(8).
module pupc
	use iso_c_binding
	implicit none
	private
	public :: pupc_create_event, pupc_event_start, pupc_event_end, pupc_event_atomic, pupc_control

	interface
		integer(c_int) function pupc_control(on) bind(C, name="pupc_control")
			import :: c_int
			integer(c_int), value :: on
		end function
		integer(c_int) function create(name, desc) bind(C, name="pupc_create_event")
			import :: c_int, c_char, c_ptr
			character(kind=c_char), intent(in) :: name(*)
			type(c_ptr), value :: desc
		end function
	end interface

	interface pupc_event_start
		subroutine start0(tag) bind(C, name="pupc_event_start")
			import :: c_int
			integer(c_int), value :: tag
		end subroutine
		procedure :: start_ints, start_longs
	end interface
	interface pupc_event_end
		subroutine end0(tag) bind(C, name="pupc_event_end")
			import :: c_int
			integer(c_int), value :: tag
		end subroutine
		procedure :: end_ints, end_longs
	end interface
	interface pupc_event_atomic
		subroutine atomic0(tag) bind(C, name="pupc_event_atomic")
			import :: c_int
			integer(c_int), value :: tag
		end subroutine
		procedure :: atomic_ints, atomic_longs
	end interface

	interface
		subroutine start3(tag, a, b, c) bind(C, name="pupc_event_start")
			import :: c_int, c_int64_t
			integer(c_int), value :: tag
			integer(c_int64_t), value :: a, b, c
		end subroutine
		subroutine end3(tag, a, b, c) bind(C, name="pupc_event_end")
			import :: c_int, c_int64_t
			integer(c_int), value :: tag
			integer(c_int64_t), value :: a, b, c
		end subroutine
		subroutine atomic3(tag, a, b, c) bind(C, name="pupc_event_atomic")
			import :: c_int, c_int64_t
			integer(c_int), value :: tag
			integer(c_int64_t), value :: a, b, c
		end subroutine
	end interface

contains

	integer(c_int) function pupc_create_event(name, format) result(tag)
		character(*), intent(in) :: name
		character(*), intent(in), optional :: format
		character(kind=c_char), target :: text(192)

		if (present(format)) then
			text = c_text(format)
			tag = create(trim(name) // c_null_char, c_loc(text))
		else
			tag = create(trim(name) // c_null_char, c_null_ptr)
		end if
	end function

	function c_text(from) result(text)
		character(*), intent(in) :: from
		character(kind=c_char) :: text(192)
		integer :: i

		text = c_null_char
		do i = 1, min(len_trim(from), 191)
			text(i) = from(i:i)
		end do
	end function

	integer(c_int64_t) function or_zero(value)
		integer(c_int64_t), intent(in), optional :: value

		or_zero = 0
		if (present(value)) or_zero = value
	end function

	integer(c_int64_t) function wide(value)
		integer, intent(in), optional :: value

		wide = 0
		if (present(value)) wide = value
	end function

	subroutine start_longs(tag, a, b, c)
		integer(c_int), intent(in) :: tag
		integer(c_int64_t), intent(in) :: a
		integer(c_int64_t), intent(in), optional :: b, c

		call start3(tag, a, or_zero(b), or_zero(c))
	end subroutine

	subroutine start_ints(tag, a, b, c)
		integer(c_int), intent(in) :: tag
		integer, intent(in) :: a
		integer, intent(in), optional :: b, c

		call start3(tag, wide(a), wide(b), wide(c))
	end subroutine

	subroutine end_longs(tag, a, b, c)
		integer(c_int), intent(in) :: tag
		integer(c_int64_t), intent(in) :: a
		integer(c_int64_t), intent(in), optional :: b, c

		call end3(tag, a, or_zero(b), or_zero(c))
	end subroutine

	subroutine end_ints(tag, a, b, c)
		integer(c_int), intent(in) :: tag
		integer, intent(in) :: a
		integer, intent(in), optional :: b, c

		call end3(tag, wide(a), wide(b), wide(c))
	end subroutine

	subroutine atomic_longs(tag, a, b, c)
		integer(c_int), intent(in) :: tag
		integer(c_int64_t), intent(in) :: a
		integer(c_int64_t), intent(in), optional :: b, c

		call atomic3(tag, a, or_zero(b), or_zero(c))
	end subroutine

	subroutine atomic_ints(tag, a, b, c)
		integer(c_int), intent(in) :: tag
		integer, intent(in) :: a
		integer, intent(in), optional :: b, c

		call atomic3(tag, wide(a), wide(b), wide(c))
	end subroutine
end module
