"""Reference numbers and the independent programs behind them."""
