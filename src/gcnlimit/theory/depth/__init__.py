"""Along the depth: what each layer carries, and what remains of it in deep networks."""
