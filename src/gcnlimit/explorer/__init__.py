"""The page in the browser: controls, pictures that follow them, and graphs sampled beside the curves.

`state` is what the page shows; `pictures` computes from it without any web code, of `parts` that are kept, and `verdict` says
it in words; `draw` makes Plotly figures; `page` lays them out; `route` answers a movement of the controls, `answers` and
`trials` compute in other processes by `worker`; `app` and `connect` join the parts, and `serve` serves them.
"""
