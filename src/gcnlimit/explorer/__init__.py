"""The page in the browser: controls, pictures that follow them, and graphs sampled beside the curves.

`state` is what the page shows. Without any web code, `computations` are the numbers behind it, `pictures` what each picture
shows, `sentences` the answers in words and `code` the lines that give the same; `upload` reads a graph of your own. `answers`
computes for many clients, some of it in other processes, and `trials` samples graphs there. `picture`
makes Plotly figures, `page` lays them out, `app` connects the controls and `serve` answers the browser.
"""
