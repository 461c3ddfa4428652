! SPDX-License-Identifier: BSD-2-Clause
! Two ranks that call MPI from Fortran, by each of its three interfaces: mpif.h, use mpi, use mpi_f08 (the macro INTERFACE).
! Each call is told in the order of the calls, as in mpi_every.c, but without a line.

program mpi_fortran
#if INTERFACE == 3
  use mpi_f08
#elif INTERFACE == 2
  use mpi
#endif
  use iso_c_binding
  implicit none
#if INTERFACE == 1
  include 'mpif.h'
#endif
#if INTERFACE == 3
#define HANDLE(KIND) type(KIND)
  type(MPI_Status) :: status
#else
#define HANDLE(KIND) integer
  integer :: status(MPI_STATUS_SIZE)
#endif
  interface
    subroutine fortran_begin(rank) bind(C)
      import :: c_int
      integer(c_int), value :: rank
    end subroutine
    subroutine fortran_tell(text) bind(C)
      import :: c_char
      character(kind=c_char), intent(in) :: text(*)
    end subroutine
    subroutine fortran_end() bind(C)
    end subroutine
  end interface
  HANDLE(MPI_Request) :: requests(2)
  HANDLE(MPI_Comm) :: pair
  HANDLE(MPI_Win) :: window
  HANDLE(MPI_Datatype) :: here
  HANDLE(MPI_File) :: file
  integer :: error, rank, other
  integer, asynchronous :: out(16), in(16)
  integer(MPI_ADDRESS_KIND) :: place(1), size
  integer(MPI_OFFSET_KIND) :: start

  call MPI_Init(error)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, error)
  other = 1 - rank
  out = rank
  call fortran_begin(rank)

  call MPI_Irecv(in, 16, MPI_INTEGER, MPI_ANY_SOURCE, 5, MPI_COMM_WORLD, requests(1), error)
  call tell("MPI_IRECV tag=5 count=16 datatype_size=4")
  call MPI_Send(out, 3, MPI_INTEGER, other, 5, MPI_COMM_WORLD, error)
  call tell("MPI_SEND dest=" // digit(other) // " tag=5 count=3 datatype_size=4 comm_id=0")
  call MPI_Wait(requests(1), status, error)
  call tell("MPI_WAIT source=" // digit(other) // " tag=5 bytes=12")
  call MPI_Irecv(in, 16, MPI_INTEGER, other, 6, MPI_COMM_WORLD, requests(1), error)
  call tell("MPI_IRECV source=" // digit(other) // " tag=6")
  call MPI_Isend(out, 4, MPI_INTEGER, other, 6, MPI_COMM_WORLD, requests(2), error)
  call tell("MPI_ISEND dest=" // digit(other) // " tag=6 count=4")
  call MPI_Waitall(2, requests, MPI_STATUSES_IGNORE, error)
  call tell("MPI_WAITALL count=2 request_2=unknown")
  call MPI_Sendrecv(out, 2, MPI_DOUBLE_PRECISION, other, 7, in, 2, MPI_DOUBLE_PRECISION, MPI_ANY_SOURCE, 7, MPI_COMM_WORLD, &
                    status, error)
  call tell("MPI_SENDRECV dest=" // digit(other) // " source=" // digit(other) // " sendtype_size=8 recvtag=7 bytes=16")
  call MPI_Sendrecv(out, 2, MPI_INTEGER, other, 8, in, 2, MPI_INTEGER, other, 8, MPI_COMM_WORLD, MPI_STATUS_IGNORE, error)
  call tell("MPI_SENDRECV dest=" // digit(other))

  ! The sentinels have addresses of their own in Fortran; the library turns them into C's.
  call MPI_Allreduce(MPI_IN_PLACE, in, 4, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, error)
  call tell("MPI_ALLREDUCE sendbuf=IN_PLACE count=4")
  call MPI_Get_address(out, place(1), error)
  call MPI_Type_create_hindexed(1, (/ 2 /), place, MPI_INTEGER, here, error)
  call MPI_Type_commit(here, error)
  call MPI_Bcast(MPI_BOTTOM, 1, here, 0, MPI_COMM_WORLD, error)
  call tell("MPI_BCAST buffer=(nil) root=0 count=1")
  call MPI_Type_free(here, error)
  call MPI_Reduce(out, in, 4, MPI_INTEGER, MPI_SUM, 1, MPI_COMM_WORLD, error)
  call tell("MPI_REDUCE root=1 count=4")
  call MPI_Barrier(MPI_COMM_WORLD, error)
  call tell("MPI_BARRIER comm_id=0")

  call MPI_Comm_dup(MPI_COMM_WORLD, pair, error)
  call tell("MPI_COMM_DUP comm_id=0")
  size = 64
  call MPI_Win_create(in, size, 4, MPI_INFO_NULL, pair, window, error)
  call tell("MPI_WIN_CREATE size=64 disp_unit=4")
  call MPI_Win_fence(0, window, error)
  call tell("MPI_WIN_FENCE")
  size = 3
  call MPI_Put(out, 2, MPI_INTEGER, other, size, 2, MPI_INTEGER, window, error)
  call tell("MPI_PUT target_rank=" // digit(other) // " target_disp=3 origin_count=2")
  call MPI_Win_fence(0, window, error)
  call tell("MPI_WIN_FENCE")
  call MPI_Win_free(window, error)
  call tell("MPI_WIN_FREE")
  call MPI_Comm_free(pair, error)
  call tell("MPI_COMM_FREE")

  call MPI_File_open(MPI_COMM_WORLD, "fortran.data", MPI_MODE_CREATE + MPI_MODE_RDWR, MPI_INFO_NULL, file, error)
  call tell("MPI_FILE_OPEN comm_id=0")
  start = 64 * rank
  call MPI_File_write_at(file, start, out, 4, MPI_INTEGER, status, error)
  call tell("MPI_FILE_WRITE_AT count=4 bytes=16")
  call MPI_File_close(file, error)
  call tell("MPI_FILE_CLOSE")

  call fortran_end()
  call MPI_Finalize(error)

contains
  subroutine tell(text)
    character(*), intent(in) :: text
    if (error /= MPI_SUCCESS) stop 1
    call fortran_tell(text // c_null_char)
  end subroutine
  character function digit(number)
    integer, intent(in) :: number
    digit = achar(iachar("0") + number)
  end function
end program
