"""The figures of the paper, one module for each: data() computes, draw() draws."""
