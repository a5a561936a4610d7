"""The figures: one file for each, data() computes and draw() draws."""
