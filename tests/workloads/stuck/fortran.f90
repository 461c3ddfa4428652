! SPDX-License-Identifier: BSD-2-Clause
! Two ranks that receive from each other: nobody sends. Who is about to wait creates DIR/enters.RANK, where DIR is what follows --gate.
program hang
  use mpi
  implicit none
  integer :: err, rank, value, i, unit
  character(len=4096) :: word, gate, name

  call MPI_Init(err)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, err)
  do i = 1, command_argument_count() - 1
    call get_command_argument(i, word)
    if (word == '--gate') call get_command_argument(i + 1, gate)
  end do
  write(name, '(a,a,i0)') trim(gate), '/enters.', rank
  open(newunit=unit, file=trim(name), status='new')
  close(unit)
  call exchange(1 - rank)
  call MPI_Finalize(err)
contains
  subroutine exchange(other)
    integer, intent(in) :: other
    call MPI_Recv(value, 1, MPI_INTEGER, other, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE, err)
    print *, value
  end subroutine
end program
