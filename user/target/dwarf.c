#include "target/image_private.h"
void dwarf_reader_free(struct dwarf_reader *reader) { }
