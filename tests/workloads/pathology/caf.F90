! SPDX-License-Identifier: BSD-2-Clause
! One image comes late: --pattern 0, to sync all; 1, to a collective (co_sum); 2, to sync images of both its neighbours
! on a ring. Or nobody does: 3, one works after the other, and tells the next one by sync images; 4, they do the same at
! the same time. The rank is the image less one.
program pathology_caf
  use iso_c_binding
  implicit none
  interface
    subroutine pathology_begin(image, rounds, pattern) bind(C)
      import :: c_int, c_long
      integer(c_int), value :: image
      integer(c_long), intent(out) :: rounds, pattern
    end subroutine
    subroutine pathology_come(round, line) bind(C)
      import :: c_int, c_long
      integer(c_long), value :: round
      integer(c_int), value :: line
    end subroutine
    subroutine pathology_left(round) bind(C)
      import :: c_long
      integer(c_long), value :: round
    end subroutine
    integer(c_int) function pathology_end() bind(C)
      import :: c_int
    end function
  end interface
  integer(c_long) :: rounds, pattern, i
  integer :: total, me, all

  me = this_image()
  all = num_images()
  sync all
  call pathology_begin(this_image(), rounds, pattern)
  do i = 0, rounds - 1
    total = this_image()
    select case (pattern)
    case (0)
      call pathology_come(i, __LINE__ + 1)
      sync all
    case (1)
      call pathology_come(i, __LINE__ + 1)
      call co_sum(total)
    case (2)
      call pathology_come(i, __LINE__ + 1)
      sync images([1 + modulo(me - 2, all), 1 + modulo(me, all)])
    case (3)
      if (me > 1) sync images(me - 1)
      call pathology_come(i, __LINE__ + 1)
      if (me < all) sync images(me + 1)
      sync all
    case (4)
      call pathology_come(i, __LINE__ + 1)
      if (me > 1) sync images(me - 1)
      if (me < all) sync images(me + 1)
      sync all
    end select
    call pathology_left(i)
  end do
  if (pathology_end() /= 0) error stop 1
  sync all
end program
