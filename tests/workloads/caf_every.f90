! SPDX-License-Identifier: BSD-2-Clause
! Uses every function of the coarray library that gfortran compiles calls to, and writes down what each was given, one line a
! call: "EVENT name=value ..." in the words of the model's events, as far as the program can know it. Two images.
! EVERY_END chooses how it ends: end (of the program), stop, stop_text, error, error_text, fail.

module every
  use iso_c_binding
  use iso_fortran_env
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
    integer(c_int) function caf_job_truth(rounds, checksum) bind(C)
      import :: c_int, c_long
      integer(c_long), value :: rounds, checksum
    end function
  end interface

  type :: node
    integer, allocatable :: list(:)
    integer :: number
  end type

  integer :: log_unit
contains
  subroutine said(text)
    character(*), intent(in) :: text
    write (log_unit, '(a)') text
  end subroutine

  subroutine moved(event, bytes, image)
    character(*), intent(in) :: event
    integer, intent(in) :: bytes, image
    write (log_unit, '(a, a, i0, a, i0)') event, ' nbytes=', bytes, ' image=', image
  end subroutine

  subroutine with(event, name, number)
    character(*), intent(in) :: event, name
    integer, intent(in) :: number
    write (log_unit, '(a, 1x, a, a, i0)') event, name, '=', number
  end subroutine

  subroutine collected(event, bytes, image)
    character(*), intent(in) :: event
    integer, intent(in) :: bytes, image
    write (log_unit, '(a, a, i0, a, i0)') event, ' nbytes=', bytes, ' result_image=', image
  end subroutine

  subroutine atomically(op, operation, image)
    character(*), intent(in) :: op, operation
    integer, intent(in) :: image
    write (log_unit, '(a, a, a, a, a, i0, a)') 'ATOMIC op=', op, ' operation=', operation, ' image=', image, ' nbytes=4'
  end subroutine
end module

program caf_every
  use every
  implicit none

  integer :: numbers(40)[*], grid(6, 5)[*], word[*]
  integer(int64) :: wide(40)
  real(real64) :: reals(20)[*]
  complex(real32) :: waves(8)[*]
  character(12) :: text[*]
  type(node) :: chain[*]
  type(lock_type) :: latch[*]
  type(event_type) :: signal[*]
  integer(atomic_int_kind) :: counter[*]
  integer, allocatable :: block(:)[:]
  type(team_type) :: half
  integer(c_long) :: rounds, warmup, after
  integer(c_int) :: timed
  integer :: me, other, status, mine(40), few(3), n
  integer(atomic_int_kind) :: old, value
  logical :: got
  character(32) :: how
  character(256) :: path

  me = this_image()
  other = 3 - me
  call get_environment_variable('EVERY_LOG', path)
  open (newunit=log_unit, file=trim(path) // achar(46) // achar(47 + me), status='replace')
  call get_environment_variable('EVERY_END', how)
  numbers = [(n, n = 1, 40)]
  grid = 7
  text = 'a text'
  few = [3, 9, 4]
  allocate (chain%list(10))
  chain%list = me
  sync all
  call caf_job_begin(me, rounds, warmup, after, timed)
  call caf_window_open()

  call get
  call put
  call copy
  call components
  call synchronise
  call locks
  call signals
  call atomics
  call collectives
  call teams
  call statuses
  allocate (block(17)[*])
  call said('REGISTER size=68 type=1')
  call said('SYNC_ALL')
  deallocate (block)
  ! It waits for all images inside.
  call said('DEREGISTER type=0')

  call caf_window_close()
  close (log_unit)
  if (caf_job_truth(1_c_long, 0_c_long) /= 0) error stop 1
  select case (how)
  case ('stop')
    stop 3
  case ('stop_text')
    stop 'that is all'
  case ('error')
    error stop 4
  case ('error_text')
    error stop 'that was wrong'
  case ('fail')
    fail image
  end select

contains

  subroutine get
    mine(1:10) = numbers(1:10)[other]
    call moved('GET', 40, other)
    mine(1) = numbers(7)[other]
    call moved('GET', 4, other)
    mine(1:5) = numbers(2:10:2)[other]
    call moved('GET', 20, other)
    mine(1:3) = numbers(few)[other]
    call moved('GET', 12, other)
    wide(1:8) = numbers(1:8)[other]
    call moved('GET', 32, other)
    mine(1:6) = reshape(grid(2:4, 3:4)[other], [6])
    call moved('GET', 24, other)
    if (sum(abs(waves(2:3)[other])) > 100) error stop 5
    call moved('GET', 16, other)
    if (text[other] /= 'a text') error stop 6
    call moved('GET', 12, other)
    ! Of no elements at all
    n = 0
    mine(1:n) = numbers(1:n)[other]
    call moved('GET', 0, other)
    mine(1:4) = numbers(1:4)[other, stat=status]
    call said('GET nbytes=16 stat=0')
  end subroutine

  subroutine put
    numbers(1:10)[other] = mine(1:10)
    call moved('PUT', 40, other)
    word[other] = me
    call moved('PUT', 4, other)
    numbers(11:19:2)[other] = mine(1:5)
    call moved('PUT', 20, other)
    numbers(21:28)[other] = 5
    call moved('PUT', 32, other)
    numbers(few)[other] = mine(1:3)
    call moved('PUT', 12, other)
    reals(3:6)[other] = mine(1:4)
    call moved('PUT', 32, other)
    grid(1:6:5, 2:5)[other] = 3
    call moved('PUT', 32, other)
    text[other] = 'another'
    call moved('PUT', 12, other)
  end subroutine

  subroutine copy
    numbers(30:33)[other] = numbers(1:4)[other]
    write (log_unit, '(a, i0, a, i0)') 'COPY nbytes=16 dst_image=', other, ' src_image=', other
  end subroutine

  subroutine components
    mine(1:4) = chain[other]%list(2:5)
    call moved('GET', 16, other)
    mine(1) = chain[other]%list(3)
    call moved('GET', 4, other)
    chain[other]%list(1:6) = mine(1:6)
    call moved('PUT', 24, other)
    chain[other]%list(2:3) = chain[other]%list(5:6)
    write (log_unit, '(a, i0, a, i0)') 'COPY nbytes=unknown dst_image=', other, ' src_image=', other
    got = allocated(chain[other]%list)
    call with('IS_PRESENT result=1', 'image', other)
    if (.not. got) error stop 7
  end subroutine

  subroutine synchronise
    sync memory
    call said('SYNC_MEMORY')
    sync all
    call said('SYNC_ALL stat=unknown')
    sync all(stat=status)
    call said('SYNC_ALL stat=0')
    sync images([other])
    call with('SYNC_IMAGES count=1', 'image_0', other)
    sync images(*)
    call said('SYNC_IMAGES count=-1')
  end subroutine

  subroutine locks
    if (me == 1) then
      lock (latch[2])
      call with('LOCK acquired=unknown', 'image', 2)
      unlock (latch[2])
      call with('UNLOCK', 'image', 2)
      lock (latch[1], acquired_lock=got, stat=status)
      call with('LOCK acquired=1 stat=0', 'image', 1)
      unlock (latch[1], stat=status)
      call with('UNLOCK stat=0', 'image', 1)
    end if
    critical
      word = word + 1
    end critical
    call said('LOCK')
    call said('UNLOCK')
  end subroutine

  subroutine signals
    event post (signal[other])
    call with('EVENT_POST', 'image', other)
    event wait (signal)
    call said('EVENT_WAIT until_count=1')
    event post (signal[other])
    call with('EVENT_POST', 'image', other)
    event post (signal[other], stat=status)
    call with('EVENT_POST stat=0', 'image', other)
    event wait (signal, until_count=2)
    call said('EVENT_WAIT until_count=2')
    call event_query(signal, n)
    call with('EVENT_QUERY', 'count', n)
  end subroutine

  subroutine atomics
    call atomic_define(counter[other], 6)
    call atomically('define', 'unknown', other)
    call atomic_ref(value, counter[other])
    call atomically('ref', 'unknown', other)
    call atomic_cas(counter[other], old, 6, 9)
    call atomically('cas', 'unknown', other)
    call atomic_add(counter[other], 1)
    call atomically('op', '1', other)
    call atomic_and(counter[other], 15)
    call atomically('op', '2', other)
    call atomic_or(counter[other], 8)
    call atomically('op', '3', other)
    call atomic_xor(counter[other], 1)
    call atomically('op', '4', other)
    call atomic_fetch_add(counter[other], 1, old)
    call atomically('op', '1', other)
  end subroutine

  subroutine collectives
    integer :: some(8), one
    real(real64) :: more(3)
    some = me
    more = me
    one = me
    call co_sum(some)
    call collected('CO_SUM', 32, 0)
    call co_sum(one, result_image=1)
    call collected('CO_SUM', 4, 1)
    call co_min(more)
    call collected('CO_MIN', 24, 0)
    call co_max(some(1:8:3), result_image=2)
    call collected('CO_MAX', 12, 2)
    call co_reduce(one, both)
    call collected('CO_REDUCE', 4, 0)
    call co_broadcast(more, source_image=2)
    call said('CO_BROADCAST nbytes=24 source_image=2')
  end subroutine

  pure integer function both(a, b)
    integer, intent(in) :: a, b
    both = a + b
  end function

  subroutine teams
    form team (1, half)
    call said('FORM_TEAM team_id=1')
    change team (half)
      call said('CHANGE_TEAM')
      sync team (half)
      call said('SYNC_TEAM')
    end team
    call said('END_TEAM')
  end subroutine

  subroutine statuses
    integer, allocatable :: some(:)
    n = image_status(other)
    call with('IMAGE_STATUS result=0', 'image', other)
    some = failed_images()
    call said('FAILED_IMAGES')
    some = stopped_images()
    call said('STOPPED_IMAGES')
  end subroutine
end program
