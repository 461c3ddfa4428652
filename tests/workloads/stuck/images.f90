! SPDX-License-Identifier: BSD-2-Clause
! Each image waits for the next one on a ring: nobody comes. Who is about to wait creates DIR/enters.IMAGE, where DIR is what follows --gate.
program ring
  implicit none
  integer :: i, unit, next
  character(len=4096) :: word, gate, name

  do i = 1, command_argument_count() - 1
    call get_command_argument(i, word)
    if (word == '--gate') call get_command_argument(i + 1, gate)
  end do
  write(name, '(a,a,i0)') trim(gate), '/enters.', this_image()
  open(newunit=unit, file=trim(name), status='new')
  close(unit)
  next = 1 + mod(this_image(), num_images())
  sync images(next)
end program
