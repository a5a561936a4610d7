"""What every room needs of the machine: threads, processes, progress bars, memory, optional packages."""
