"""What the functions of the library return: the records, and how they are shown as text, tables and pictures."""

from gcnlimit._runtime.extras import on_first_use

__all__, __getattr__ = on_first_use(globals())
