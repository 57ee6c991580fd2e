"""What all fake providers share: the kernel, their rows, the journal, and business targets."""
