"""The study of graph networks: where popular ones stand on the problems of the suite."""
