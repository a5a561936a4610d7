"""What is simulated: instances of the model, and their graph, features and operator."""
