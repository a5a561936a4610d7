"""The page in the browser: controls, pictures that follow them, and graphs sampled beside the curves.

`state` is what the page shows; `pictures` computes from it without any web code, and `draw` makes Plotly figures; `page` lays
them out; `answers` and `trials` compute in other processes; `app` and `connect` join the parts, and `serve` serves them.
"""
