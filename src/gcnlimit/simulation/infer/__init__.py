"""Inference on an instance: approximate message passing and belief propagation."""
