! SPDX-License-Identifier: BSD-2-Clause
! A ring of images that uses Coarray Fortran in all the ways gfortran compiles to library calls: get, put, copy between two
! others, synchronisation, locks, critical sections, events, collectives, atomics, allocatable coarrays.
!
! Each statement that becomes a call of the coarray library is followed by one that counts it, under the library's own name.
! libcount_caf.so counts the same from outside.

module counting
  use iso_c_binding
  implicit none
  interface
    subroutine caf_job_begin(image, rounds, warmup, after, timed) bind(C)
      import :: c_int, c_long
      integer(c_int), value :: image
      integer(c_long), intent(out) :: rounds, warmup, after
      integer(c_int), intent(out) :: timed
    end subroutine
    subroutine caf_window_open() bind(C)
    end subroutine
    subroutine caf_window_close() bind(C)
    end subroutine
    integer(c_int) function caf_job_more(done) bind(C)
      import :: c_int, c_long
      integer(c_long), value :: done
    end function
    subroutine caf_count(name, bytes, sent, received) bind(C)
      import :: c_char, c_long
      character(kind=c_char), intent(in) :: name(*)
      integer(c_long), value :: bytes, sent, received
    end subroutine
    integer(c_int) function caf_job_truth(rounds, checksum) bind(C)
      import :: c_int, c_long
      integer(c_long), value :: rounds, checksum
    end function
    subroutine caf_print(checksum, rounds) bind(C)
      import :: c_long
      integer(c_long), value :: checksum, rounds
    end subroutine
    integer(c_long) function caf_mix(x) bind(C)
      import :: c_long
      integer(c_long), value :: x
    end function
  end interface
contains
  subroutine called(name)
    character(*), intent(in) :: name
    call caf_count("_gfortran_caf_" // name // c_null_char, 0_c_long, 0_c_long, 0_c_long)
  end subroutine
  subroutine called_put(bytes)
    integer, intent(in) :: bytes
    call caf_count("_gfortran_caf_send" // c_null_char, int(bytes, c_long), int(bytes, c_long), 0_c_long)
  end subroutine
  subroutine called_get(bytes)
    integer, intent(in) :: bytes
    call caf_count("_gfortran_caf_get" // c_null_char, int(bytes, c_long), 0_c_long, int(bytes, c_long))
  end subroutine
  subroutine called_with(name, bytes)
    character(*), intent(in) :: name
    integer, intent(in) :: bytes
    call caf_count("_gfortran_caf_" // name // c_null_char, int(bytes, c_long), 0_c_long, 0_c_long)
  end subroutine
end module

program caf_job
  use iso_fortran_env
  use iso_c_binding
  use counting
  implicit none

  integer :: numbers(40)[*], word[*], total[*], entered[*], more[*]
  real(real64) :: reals(20)[*]
  type(lock_type) :: latch[*]
  type(event_type) :: signal[*]
  integer(atomic_int_kind) :: counter[*]
  integer(c_long) :: rounds, warmup, after, done, i, checksum, result, pieces(64)[*]
  integer(c_int) :: timed
  integer :: me, images, right, left, third

  me = this_image()
  images = num_images()
  right = merge(1, me + 1, me == images)
  left = merge(images, me - 1, me == 1)
  third = merge(1, right + 1, right == images)
  call caf_job_begin(me, rounds, warmup, after, timed)
  checksum = 0
  total = 0
  entered = 0
  counter = 0

  do i = 1, warmup
    call one_round(i)
  end do
  checksum = 0
  total = 0
  entered = 0
  counter = 0
  sync all
  call caf_window_open()
  done = 0
  do while (another_round(done))
    done = done + 1
    call one_round(done)
  end do
  call caf_window_close()
  result = checksum
  do i = 1, after
    call one_round(i)
  end do

  pieces(me)[1] = result
  sync all
  if (me == 1) then
    checksum = 0
    do i = 1, images
      checksum = ieor(checksum, pieces(i))
    end do
    call caf_print(checksum, done)
  end if
  if (caf_job_truth(done, result) /= 0) error stop 1

contains

  subroutine learn(value)
    integer, intent(in) :: value
    checksum = caf_mix(checksum * 31 + value)
  end subroutine

  subroutine all_wait()
    sync all
    call called("sync_all")
  end subroutine

  subroutine one_round(round)
    integer(c_long), intent(in) :: round
    integer :: k
    k = int(round)
    call put_and_get(k)
    call synchronise(k)
    call lock_and_signal()
    call collect(k)
    call atomically()
    call allocate_and_free(k)
  end subroutine

  subroutine put_and_get(k)
    integer, intent(in) :: k
    integer :: mine(10), i
    numbers = [(k * 100 + me * 10 + i, i = 1, 40)]
    reals = real(k + me, real64)
    call all_wait()
    mine = numbers(1:10)[right]
    call called_get(40)
    call learn(sum(mine))
    mine(1) = numbers(7)[left]
    call called_get(4)
    call learn(mine(1))
    mine(1:5) = numbers(2:10:2)[right]
    call called_get(20)
    call learn(sum(mine(1:5)))
    call all_wait()
    numbers(11:20)[right] = mine
    call called_put(40)
    word[right] = k * me
    call called_put(4)
    reals(7:12)[right] = reals(1:6) + 1
    call called_put(48)
    numbers(21:29:2)[left] = mine(1:5)
    call called_put(20)
    sync memory
    call called("sync_memory")
    call all_wait()
    call learn(sum(numbers) + word + int(sum(reals)))
    call all_wait()
    ! Between two other images: neither end need be here.
    numbers(30:33)[third] = numbers(11:14)[right]
    call called_with("sendget", 16)
    call all_wait()
    call learn(sum(numbers(30:33)))
    call all_wait()
  end subroutine

  subroutine synchronise(k)
    integer, intent(in) :: k
    integer :: pair(2), n
    pair = [left, right]
    n = merge(1, 2, left == right)
    if (images > 1) then
      sync images(pair(1:n))
      call called("sync_images")
    end if
    if (mod(k, 5) == 0) then
      sync images(*)
      call called("sync_images")
    end if
  end subroutine

  subroutine lock_and_signal()
    integer :: value, pending
    lock(latch[1])
    call called("lock")
    value = total[1]
    call called_get(4)
    total[1] = value + me
    call called_put(4)
    unlock(latch[1])
    call called("unlock")
    critical
      value = entered[1]
      entered[1] = value + 1
    end critical
    ! A critical section is a lock of its own.
    call called("lock")
    call called_get(4)
    call called_put(4)
    call called("unlock")
    event post(signal[right])
    call called("event_post")
    event wait(signal)
    call called("event_wait")
    call event_query(signal, pending)
    call called("event_query")
    call learn(pending)
    call all_wait()
    value = total[1]
    call called_get(4)
    call learn(value)
    value = entered[1]
    call called_get(4)
    call learn(value)
    call all_wait()
  end subroutine

  subroutine collect(k)
    integer, intent(in) :: k
    integer :: values(8), one, i
    real(real64) :: some(4)
    values = [(k + me * i, i = 1, 8)]
    call co_sum(values)
    call called_with("co_sum", 32)
    call learn(sum(values))
    some = real(me * k, real64)
    call co_max(some)
    call called_with("co_max", 32)
    call learn(int(sum(some)))
    one = me + k
    call co_min(one)
    call called_with("co_min", 4)
    call learn(one)
    values = values * me
    call co_broadcast(values, source_image=1)
    call called_with("co_broadcast", 32)
    call learn(sum(values))
    one = me
    call co_reduce(one, product_of)
    call called_with("co_reduce", 4)
    call learn(one)
  end subroutine

  pure integer function product_of(a, b)
    integer, intent(in) :: a, b
    product_of = a * b
  end function

  subroutine atomically()
    integer(atomic_int_kind) :: value, old
    call atomic_add(counter[1], me)
    call called_with("atomic_op", 4)
    call all_wait()
    call atomic_ref(value, counter[1])
    call called_with("atomic_ref", 4)
    call learn(int(value))
    call all_wait()
    call atomic_define(counter[right], int(me, atomic_int_kind))
    call called_with("atomic_define", 4)
    ! OpenCoarrays 2.10.1 returns nothing from a fetch-and-add.
    old = 0
    call atomic_fetch_add(counter[right], 5_atomic_int_kind, old)
    call called_with("atomic_op", 4)
    call learn(int(old))
    call atomic_cas(counter[right], old, int(me + 5, atomic_int_kind), 0_atomic_int_kind)
    call called_with("atomic_cas", 4)
    call learn(int(old))
    call all_wait()
  end subroutine

  ! To allocate and to free a coarray is to synchronise all images: gfortran compiles a call for that too.
  subroutine allocate_and_free(k)
    integer, intent(in) :: k
    integer, allocatable :: block(:)[:]
    allocate(block(10 + mod(k, 3))[*])
    call called_with("register", 4 * (10 + mod(k, 3)))
    call called("sync_all")
    block = me
    call all_wait()
    block(1)[right] = k
    call called_put(4)
    call all_wait()
    call learn(block(1))
    deallocate(block)
    call called("deregister")
    call called("sync_all")
  end subroutine

  ! Image 1 looks at the clock for all.
  logical function another_round(done)
    integer(c_long), intent(in) :: done
    if (timed == 0) then
      another_round = caf_job_more(done) /= 0
      return
    end if
    if (me == 1) more = caf_job_more(done)
    call co_broadcast(more, source_image=1)
    call called_with("co_broadcast", 4)
    another_round = more /= 0
  end function
end program
