"""Random examples are not timed, and no progress is told: how long one takes depends on what else the machine does."""

from hypothesis import settings

from gcnlimit._runtime import progress

settings.register_profile("untimed", deadline=None)
settings.load_profile("untimed")
progress.FIRST = 1e6
